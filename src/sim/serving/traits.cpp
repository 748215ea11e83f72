#include "serving/traits.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "serving/typical_steps.hpp"
#include "tessera/npu/operator_source.hpp"
#include "tessera/npu/tiled_operator.hpp"
#include "tessera/serving/batcher.hpp"
#include "tessera/serving/tile_model.hpp"

namespace tessera::sim {
namespace {

using executor::ServiceSettings;
using executor::ServingWork;

// How attention is cut depends on how long sequences are.
npu::VectorWork any_attention() {
  return npu::vector_work("softmax") + npu::vector_work("mul") + npu::vector_work("div");
}

using serving::Batch;

constexpr std::size_t most_batches = 256;  // of different numbers of samples, of a model

struct Seen {
  std::set<DataType> types;      // of products, or more
  std::set<std::string> passes;  // of vector units, or more
};

void see_operators(const ServiceSettings& tenant, std::uint32_t cores, const Batch& batch,
                   Seen& seen) {
  std::set<std::pair<std::uint32_t, std::uint64_t>> made;
  for (const serving::StepPart& part : tenant.model->step(batch)) {
    const std::uint32_t kind = tenant.model->kind_of(part.op);
    if (!part.exchanges && made.emplace(kind, part.shape).second) {
      const auto op = tenant.model->make(kind, part.shape, cores);
      seen.types.insert(op->target().data_type);
      seen.passes.merge(npu::names_of_passes(op->vector_passes()));
    }
  }
}

void see_operations(const ServiceSettings& tenant, const serving::TileModel& model,
                    const Batch& batch, Seen& seen) {
  const serving::StepSizes sizes = model.sizes_of(batch);
  for (std::uint32_t unit = 0; unit < tenant.model->units(); ++unit) {
    for (const serving::WalkPart& part : model.walk(unit, sizes)) {
      if (part.kind == serving::WalkPart::Kind::operation) {
        seen.types.insert(model.operation(part.op, sizes).operation.data_type);
      }
    }
  }
}

// Other models are of the same operators with any number of samples, which are cut in other ways.
std::vector<Batch> batches_of(const ServiceSettings& tenant) {
  std::vector<Batch> batches;
  if (tenant.of_language) {
    for (const TypicalSteps& steps : typical_steps(tenant)) {
      batches.push_back(steps.batch);
    }
    return batches;
  }
  const std::vector<std::uint32_t> samples =
      serving::possible_samples(*tenant.requests, tenant.batching, most_batches);
  return {Batch{{}, 0, samples.front()}, Batch{{}, 0, samples.back()}};
}

Seen seen_of(const ServiceSettings& tenant, const ServingWork& work) {
  Seen seen;
  for (const Batch& batch : batches_of(tenant)) {
    if (const serving::TileModel* const model = tenant.model->on_tiles()) {
      see_operations(tenant, *model, batch, seen);
    } else {
      see_operators(tenant, work.cores(), batch, seen);
    }
  }
  const bool has_softmax = seen.passes.contains("exp") && seen.passes.contains("tree");
  if (!work.on_tiles && (tenant.of_language || has_softmax)) {
    seen.passes.merge(npu::names_of_passes(any_attention()));
  }
  return seen;
}

// With what others have; of replicas those of the first one.
void add_seen(const ServiceSettings& tenant, const ServingWork& work, compute::WorkTraits& traits) {
  const bool is_idle = tenant.requests->count().value_or(1) == 0;
  const bool looks = !is_idle && (!work.on_tiles || !tenant.of_language);
  Seen seen = looks ? seen_of(tenant, work) : Seen();
  if (tenant.of_language && tenant.data_type) {
    seen.types = {*tenant.data_type, tenant.product_type.value_or(*tenant.data_type)};
  } else if (is_idle || tenant.of_language) {
    traits.product_types.reset();
  }
  if (work.on_tiles || is_idle) {
    traits.vector_passes.reset();
  }
  if (traits.product_types) {
    traits.product_types->merge(seen.types);
  }
  if (traits.vector_passes) {
    traits.vector_passes->merge(seen.passes);
  }
}

}  // namespace

compute::WorkTraits traits_of(const ServingWork& work) {
  compute::WorkTraits traits = compute::WorkTraits::nothing();
  traits.only_sends = false;
  traits.computes_nothing = false;
  traits.accesses_nothing = false;
  traits.names_vector_work = !work.on_tiles;
  for (std::uint32_t number = 0; number < work.tenants.size(); ++number) {
    const ServiceSettings& tenant = work.tenants[number];
    traits.has_rows = traits.has_rows || (work.on_tiles && tenant.of_language);
    if (tenant.lead == number) {
      add_seen(tenant, work, traits);
    }
  }
  traits.has_fused_attention = traits.has_rows;
  return traits;
}

}  // namespace tessera::sim
