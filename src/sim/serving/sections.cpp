// What the mapping of the workload `serving` may hold, for schemas.
#include "serving/sections.hpp"

#include <string>
#include <utility>

#include "serving/keys.hpp"
#include "tessera/npu/stored_weights.hpp"
#include "tessera/onnx/description.hpp"
#include "tessera/serving/request.hpp"
#include "tessera/sim/serving/serving.hpp"
#include "tessera/workload/keys.hpp"
#include "tessera/workload/transformer/transformer.hpp"

namespace tessera::sim {
namespace {

// A key as it is named in its own section.
ParameterInfo inside(ParameterInfo info) {
  info.name = info.name.substr(info.name.rfind('.') + 1);
  return info;
}

SectionInfo language_model() {
  const ParameterInfo whole = served_keys().language_model;
  SectionInfo model = section_of_keys(whole.name, whole.help, workload::transformer_parameters());
  for (ParameterInfo& parameter : model.parameters) {
    if (parameter.name == "batch") {
      parameter.is_required = false;  // requests make the batches
    }
  }
  model.parameters.push_back(inside(served_keys().language_kind));
  model.parameters.push_back(inside(workload::title_key()));
  model.may_be_file = true;
  return model;
}

SectionInfo onnx_model() {
  const ParameterInfo whole = served_keys().onnx;
  SectionInfo model = section_of_keys(whole.name, whole.help, onnx::description_parameters());
  model.parameters.push_back(inside(served_keys().onnx_type));
  model.parameters.push_back(inside(served_keys().onnx_batch));
  return model;
}

SectionInfo tenants_section() {
  const ParameterInfo whole = serving_keys().tenants;
  SectionInfo tenant = section_of_keys(whole.name, whole.help, keys_beside_models());
  tenant.shape = SectionInfo::Shape::list;
  tenant.is_required = true;
  tenant.sections = {language_model(), onnx_model(),
                     section_of_parts(serving::arrivals_parameter(), serving::arrivals().infos())};
  tenant.sections.back().is_required = true;
  return tenant;
}

}  // namespace

SectionInfo describe_serving(const PartInfo& kind) {
  const ServingKeys& keys = serving_keys();
  SectionInfo serving = choice_of(kind);
  serving.parameters = {keys.seed, any_npu_cores(), keys.message, keys.all_reduce, keys.steps};
  serving.sections = {section_of_parts(keys.policy, serving::policies().infos()),
                      tenants_section()};
  return serving;
}

}  // namespace tessera::sim
