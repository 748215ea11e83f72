// The keys of onnx/description.hpp, and
//
//   key        default    meaning
//   data_type  model      of all numbers; `model`: that of most parameters
//   samples    1          of an iteration, over all data-parallel replicas
//   batch      none       dynamic dimension of the model that is bound to one sample
//   mode       inference  training is refused: the file has no backward pass
#include "onnx/layers_reader.hpp"

#include <optional>
#include <string>
#include <vector>

#include "programs/job.hpp"
#include "tessera/core/error.hpp"
#include "tessera/onnx/description.hpp"
#include "tessera/onnx/import.hpp"
#include "tessera/onnx/passes/optimize.hpp"
#include "tessera/sim/cuts/cut_workload.hpp"
#include "tessera/sim/onnx/layers.hpp"

namespace tessera::sim {
namespace {

using config::Section;

constexpr const char* kind_name = "onnx";
constexpr std::int64_t most_samples = std::int64_t{1} << 32;
constexpr double most_flops_of_sample = 0x1p62;  // so that sums over layers fit 64 bits

std::optional<DataType> read_format(Section& workload, bool& is_sound) {
  constexpr const char* as_given = "model";
  std::vector<std::string> names = data_type_names();
  names.emplace_back(as_given);
  const std::string name = workload.get_name("data_type", names, as_given);
  is_sound = !name.empty();
  return data_type_from(name);
}

void refuse_training(Section& workload) {
  if (workload.get_name("mode", {"training", "inference"}, "inference") == "training") {
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

onnx::Graph read_graph(const onnx::Description& description, const std::string& batch) {
  onnx::ImportOptions options = description.options;
  if (!batch.empty()) {
    options.dimensions[batch] = 1;
  }
  onnx::Import import = onnx::import_model(description.path, options);
  onnx::optimize(import.graph, description.level);
  return std::move(import.graph);
}

std::optional<workload::Workload> read(Section& section) {
  const std::string name = section.get_or<std::string>("name", section.get<std::string>("kind"));
  bool is_sound = true;
  const std::optional<DataType> format = read_format(section, is_sound);
  const auto samples =
      section.get_or<std::int64_t>("samples", 1, config::between<std::int64_t>(1, most_samples));
  const std::string batch = section.get_or<std::string>("batch", "");
  refuse_training(section);
  refuse_keys_of_cores(section);
  const onnx::Description description = onnx::read_description(section);
  section.finish();
  if (!section.has("model") || !is_sound) {
    return std::nullopt;
  }
  if (description.options.dimensions.count(batch) > 0) {
    section.error("batch", "'" + batch + "' is one of the dimensions that are bound already");
    return std::nullopt;
  }
  try {
    const onnx::Graph graph = read_graph(description, batch);
    const std::optional<DataType> own = data_type_of(graph);
    if (!format && !own) {
      section.error("data_type", "the model has no floating-point numbers; name a format");
      return std::nullopt;
    }
    workload::Workload workload = layers_of(graph, format ? *format : *own);
    if (static_cast<double>(workload.flops_per_sample().count()) > most_flops_of_sample) {
      section.error("model", "the model is too large: one sample takes more than 2^62 FLOP");
      return std::nullopt;
    }
    workload.name = name;
    workload.samples = static_cast<std::uint64_t>(samples);
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

std::unique_ptr<JobReader> make_layers_reader(const JobSetup& setup) {
  return make_programs_reader(setup, [job = setup.section](Section& workload) mutable {
    refuse_cut_tokens(job.section("strategy"));
    return read(workload);
  });
}

std::optional<workload::Workload> read_cut_workload(Section& workload) {
  const bool is_model = workload.has("kind") && workload.raw("kind").text == kind_name;
  return is_model ? read(workload) : workload::read_workload(workload);
}

}  // namespace tessera::sim
