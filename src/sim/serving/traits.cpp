#include "serving/traits.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "serving/typical_steps.hpp"
#include "tessera/npu/operator_source.hpp"
#include "tessera/npu/tiled_operator.hpp"

namespace tessera::sim {
namespace {

using executor::ServedTenant;
using executor::ServingWork;

// How attention is cut depends on how long sequences are.
npu::VectorWork any_attention() {
  return npu::vector_work("softmax") + npu::vector_work("mul") + npu::vector_work("div");
}

void add_passes(const ServedTenant& tenant, std::uint32_t cores, std::set<std::string>& passes) {
  passes.merge(npu::names_of_passes(any_attention()));
  std::set<std::pair<std::uint32_t, std::uint64_t>> seen;
  for (const TypicalSteps& steps : typical_steps(tenant)) {
    for (const serving::StepPart& part : tenant.model->step(steps.batch)) {
      const std::uint32_t kind = tenant.model->kind_of(part.op);
      if (!part.exchanges && seen.emplace(kind, part.shape).second) {
        passes.merge(
            npu::names_of_passes(tenant.model->make(kind, part.shape, cores)->vector_passes()));
      }
    }
  }
}

}  // namespace

compute::WorkTraits traits_of(const ServingWork& work) {
  compute::WorkTraits traits = compute::WorkTraits::nothing();
  traits.only_sends = false;
  traits.names_vector_work = !work.on_tiles;
  for (std::uint32_t number = 0; number < work.tenants.size(); ++number) {
    const ServedTenant& tenant = work.tenants[number];
    traits.has_rows = traits.has_rows || (work.on_tiles && tenant.of_language);
    if (tenant.of_language && tenant.data_type && traits.product_types) {
      traits.product_types->insert(*tenant.data_type);
    } else {
      traits.product_types.reset();
    }
    const bool is_plain =
        tenant.of_language && tenant.adapter_rank == 0 && tenant.batching.layout.states == 0;
    if (work.on_tiles || !is_plain || tenant.requests->count().value_or(1) == 0) {
      traits.vector_passes.reset();
    } else if (traits.vector_passes && tenant.lead == number) {
      add_passes(tenant, work.cores(), *traits.vector_passes);
    }
  }
  traits.has_fused_attention = traits.has_rows;
  return traits;
}

}  // namespace tessera::sim
