// The kind `onnx`: a model in a file, whose operators NPU cores share or, with a strategy, tiles of
// any compute model take cut.
#include <memory>
#include <vector>

#include "chip/job.hpp"
#include "chip/keys.hpp"
#include "onnx/keys.hpp"
#include "onnx/layers_reader.hpp"
#include "tessera/onnx/description.hpp"

namespace tessera::sim {
namespace {

std::vector<ParameterInfo> onnx_parameters() {
  std::vector<ParameterInfo> parameters = onnx::description_parameters();
  const std::vector<ParameterInfo> own{
      model_keys().data_type, chip_keys().message, chip_keys().drain,  chip_keys().free,
      model_keys().samples,   model_keys().batch,  model_keys().trains};
  parameters.insert(parameters.end(), own.begin(), own.end());
  return parameters;
}

const Registration onnx_kind(
    work_kinds(),
    {"onnx",
     "an ONNX model: its operators are shared by NPU cores or, with a "
     "strategy, distributed over tiles",
     onnx_parameters()},
    WorkKind{.read = [](const JobSetup& setup) -> std::unique_ptr<JobReader> {
               return setup.section.has("strategy") ? make_layers_reader(setup)
                                                    : make_chip_reader(setup, read_model);
             },
             .layers = read_layers_of_model,
             .lists = {{"models", [] {
                          return std::vector<PartInfo>{{"onnx", "an ONNX model, for tessera import",
                                                        onnx::description_parameters()}};
                        }}}});

}  // namespace
}  // namespace tessera::sim
