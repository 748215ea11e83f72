// The keys of onnx/description.hpp, and some of onnx/keys.hpp.
#include "onnx/layers_reader.hpp"

#include <optional>
#include <string>
#include <vector>

#include "onnx/keys.hpp"
#include "programs/job.hpp"
#include "tessera/core/error.hpp"
#include "tessera/onnx/description.hpp"
#include "tessera/onnx/import.hpp"
#include "tessera/onnx/passes/optimize.hpp"
#include "tessera/sim/model_cache.hpp"
#include "tessera/sim/onnx/layers.hpp"
#include "tessera/workload/keys.hpp"

namespace tessera::sim {
namespace {

using config::Section;

void refuse_training(Section& workload) {
  if (model_keys().trains.read(workload)) {
    workload.error("mode",
                   "a model of ONNX is a forward pass for inference: dropout is gone, batch norms "
                   "have the statistics of the training set, and what a backward pass computes and "
                   "keeps is not in it. `transformer` and `layers` train");
  }
}

void refuse_keys_of_cores(Section& workload) {
  for (const char* key : {"message", "drain", "free"}) {
    if (workload.has(key)) {
      workload.raw(key);
      workload.error(key, "is for NPU cores that share the model's operators, without a strategy");
    }
  }
}

// Nothing says which side of a tensor the tokens are.
void refuse_cut_tokens(Section strategy) {
  // Read here in any case, so that the resolved strategy has the same order when it is read again;
  // what is no such value is complained about where it is read for good.
  const auto is_other = [&](const char* key, auto usual) {
    std::string problem;
    if (strategy.has(key) && !config::parse_as<decltype(usual)>(strategy.raw(key).text, problem)) {
      return false;
    }
    return strategy.get_or(key, usual) != usual;
  };
  constexpr const char* why =
      "cuts samples along their tokens, and a model of ONNX does not say "
      "which sides of its tensors these are";
  if (is_other("context", std::int64_t{1})) {
    strategy.error("context", why);
  }
  if (is_other("sequence_parallel", false)) {
    strategy.error("sequence_parallel", why);
  }
}

onnx::Import read_import(const onnx::Description& description, const std::string& batch) {
  onnx::ImportOptions options = description.options;
  if (!batch.empty()) {
    options.dimensions[batch] = 1;
  }
  onnx::Import import = onnx::import_model(description.path, options);
  onnx::optimize(import.graph, description.level);
  return import;
}

// For one sample, and without a name. Complains; nothing after that.
std::optional<workload::Workload> layers_of_file(Section& section,
                                                 const onnx::Description& description,
                                                 const std::string& batch,
                                                 const std::optional<DataType>& format) {
  onnx::Import import = read_import(description, batch);
  const std::optional<DataType> own = data_type_of(import.graph);
  if (!format && !own) {
    section.error("data_type", "the model has no floating-point numbers; name a format");
    return std::nullopt;
  }
  workload::Workload workload = layers_of(import.graph, format ? *format : *own);
  workload.notices = std::move(import.notices);
  return workload;
}

// `whole` is the section as it stands, where `models` keeps what has been read.
std::optional<workload::Workload> read(Section& section, ModelCache* models,
                                       const config::Value& whole) {
  const std::string name = workload::read_title(section);
  const std::optional<DataType> format = data_type_from(model_keys().data_type.read(section));
  const std::uint64_t samples = model_keys().samples.read(section);
  const std::string batch = model_keys().batch.read(section);
  refuse_training(section);
  refuse_keys_of_cores(section);
  const onnx::Description description = onnx::read_description(section);
  section.finish();
  if (!section.has("model")) {
    return std::nullopt;
  }
  if (description.options.dimensions.contains(batch)) {
    section.error("batch", "'" + batch + "' is one of the dimensions that are bound already");
    return std::nullopt;
  }
  try {
    const auto read_file = [&] { return layers_of_file(section, description, batch, format); };
    std::optional<workload::Workload> workload =
        models == nullptr
            ? read_file()
            : models->get(description.path + '\n' + config::to_yaml(whole), read_file);
    if (workload) {
      workload->name = name;
      workload->samples = samples;
      onnx::tell_notices(section, description, workload->notices);
    }
    return workload;
  } catch (const ConfigError& error) {
    for (const Diagnostic& diagnostic : error.diagnostics()) {
      const std::string file = diagnostic.file.empty() ? "" : diagnostic.file + ": ";
      section.error("model", file + diagnostic.message);
    }
  } catch (const IoError& error) {
    section.error("model", error.what());
  }
  return std::nullopt;
}

}  // namespace

std::optional<workload::Workload> read_layers_of_model(Section& workload) {
  return read(workload, nullptr, {});
}

std::unique_ptr<JobReader> make_layers_reader(const JobSetup& setup) {
  const auto read_job = [job = setup.section,
                         models = models_of(setup.load)](Section& workload) mutable {
    refuse_cut_tokens(job.section("strategy"));
    return read(workload, models, job.raw("workload"));
  };
  return make_programs_reader(setup, read_job);
}

}  // namespace tessera::sim
