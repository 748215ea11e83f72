// Files that programs write: graphs, models, logs of requests, what runs and sweeps leave behind.
#include <onnx/onnx_pb.h>

#include <filesystem>

#include "readers.hpp"
#include "tessera/core/error.hpp"
#include "tessera/explore/table/table.hpp"
#include "tessera/onnx/import.hpp"
#include "tessera/onnx/passes/optimize.hpp"
#include "tessera/serving/request.hpp"
#include "tessera/trace/checkpoint.hpp"
#include "tessera/trace/folder_lock.hpp"
#include "tessera/trace/run_folder.hpp"
#include "tessera/trace/store/segment.hpp"
#include "tessera/trace/store/signed_json.hpp"
#include "tessera/trace/summary.hpp"
#include "tessera/workload/chakra/chakra.hpp"
#include "tessera/workload/graph_survey.hpp"
#include "tessera/workload/graph_workload.hpp"

namespace tessera::fuzz {
namespace {

// The same as a whole signed file would be, where it is JSON at all: a fuzzer does not find sums.
bool sign_again(const std::string& path, std::string_view bytes, const std::string& file_type) {
  std::optional<trace::Json> json = trace::Json::parse(bytes);
  if (!json) {
    return false;
  }
  try {
    json->erase("crc32c");
    json->erase("file_type");
    json->erase("format_version");
    trace::write_signed(path, file_type, *json);
  } catch (const trace::JsonError&) {
    return false;  // not an object
  }
  return true;
}

// A lock of this host and program but for what the bytes say.
void read_lock(std::string_view bytes) {
  std::optional<trace::Json> lock = trace::Json::parse(trace::own_process());
  const std::optional<trace::Json> changed = trace::Json::parse(bytes);
  if (!lock || !changed) {
    return;
  }
  try {
    lock->update(*changed);
  } catch (const trace::JsonError&) {
    return;  // not an object
  }
  file_with("locked/" + std::string(trace::lock_name), lock->text());
  trace::FolderLock().take(scratch_folder() + "/locked");
}

template <class Function>
void refused_or(const Function& read) {
  try {
    read();
  } catch (const ConfigError&) {
  } catch (const IoError&) {
  }
}

}  // namespace

// Two NPUs with the same trace, and then all that is done before one runs.
void read_chakra(std::string_view bytes) {
  const std::string first = file_with("fuzzed.0.et", bytes);
  std::vector<workload::GraphPosition> positions;
  {
    workload::ChakraFile file(first);
    workload::GraphNode node;
    while (file.next(node)) {
      positions.push_back(file.position());
    }
  }
  file_with("fuzzed.1.et", bytes);
  const std::string prefix = first.substr(0, first.size() - std::string_view(".0.et").size());
  config::Diagnostics diagnostics;
  config::Section section(config::parse("chakra.yaml", "{traces: '" + prefix + "'}", diagnostics),
                          "", diagnostics);
  const config::TextLoader load = config::load_text_file;
  const auto source = workload::graph_workloads().at("chakra")(section, {2, load});
  diagnostics.throw_if_any();
  workload::GraphPosition at;
  std::size_t read = 0;
  for (std::size_t count = 1; read < positions.size(); count = 1 + count % 3) {
    read += source->read(1, at, count).size();
    if (read == 0 || at != positions[read - 1]) {
      broken("a trace in pieces is another one than the whole");
    }
  }
  const workload::GraphSurvey survey = workload::look_through(*source);
  workload::reach_of_some(*source);
  if (survey.nodes != 2 * positions.size()) {
    broken("a look through a trace finds other nodes");
  }
}

void read_onnx(std::string_view bytes) {
  // What stands beside the model, for external data.
  static const std::string beside = file_with("model/weights.bin", std::string(4096, '\1'));
  const unsigned choice = take_choice(bytes);
  onnx::ImportOptions options;
  options.branches["*"] = choice % 2 == 0;
  if (choice / 2 % 2 == 0) {
    options.loops["*"] = choice / 4 % 4;
  }
  options.unknown = choice / 16 % 2 == 0 ? onnx::Unknown::refuse : onnx::Unknown::traffic;
  // Those that it has: a model without a dimension that is named is refused at once.
  ::onnx::ModelProto model_of_file;
  if (model_of_file.ParsePartialFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    for (const auto& input : model_of_file.graph().input()) {
      for (const auto& side : input.type().tensor_type().shape().dim()) {
        if (side.has_dim_param() && !side.dim_param().empty()) {
          options.dimensions[side.dim_param()] = 1 + choice / 32;
        }
      }
    }
  }
  const std::string path = beside.substr(0, beside.rfind('/')) + "/fuzzed.onnx";
  onnx::Import model = onnx::import_model(std::string(bytes), path, options);
  onnx::optimize(model.graph, static_cast<onnx::Level>(choice / 64));
  onnx::total_cost(model.graph);
}

void read_requests(std::string_view bytes) {
  const unsigned choice = take_choice(bytes);
  const bool of_language = choice % 4 != 0;
  const std::string_view more = choice / 4 % 2 == 0 ? "" : ", characters_per_token: 3.5";
  const std::string_view format = choice / 8 % 4 == 1 ? ", format: vllm-log" : "";
  config::Diagnostics diagnostics;
  config::Section section(config::parse("requests.yaml",
                                        "{arrivals: trace, file: " + file_with("requests", bytes) +
                                            std::string(more) + std::string(format) + "}",
                                        diagnostics),
                          "", diagnostics);
  const auto source = serving::read_requests(section, {of_language, false, 7});
  diagnostics.throw_if_any();
  if (source == nullptr) {
    return;
  }
  const serving::Request largest = source->largest();
  SimTime before = SimTime::zero();
  for (std::uint64_t number = 0; number < source->count().value_or(0); ++number) {
    const serving::Request request = source->request(number);
    if (request.arrival < before || request.prompt > largest.prompt + largest.generate) {
      broken("requests out of order, or larger than the largest");
    }
    before = request.arrival;
    source->pieces(number);
  }
  source->samples();
  source->notes();
}

void read_stored(std::string_view bytes) {
  const unsigned choice = take_choice(bytes);
  const std::string text(bytes);
  const std::string folder = scratch_folder() + "/run";
  file_with("run/checkpoints/00001/rank.00000.h5", bytes);
  switch (choice % 8) {
    case 0: {
      const std::string path = file_with("run/checkpoints/00001/checkpoint.json", bytes);
      refused_or([&] { trace::read_checkpoint(folder, 1); });
      if (sign_again(path, bytes, "tessera-checkpoint")) {
        const trace::Checkpoint checkpoint = trace::read_checkpoint(folder, 1);
        for (std::size_t file = 0; file < checkpoint.files.size(); ++file) {
          if (checkpoint.files[file].name == "rank.00000.h5" &&
              trace::fault_of(folder, checkpoint, file).empty() &&
              checkpoint.files[file].bytes != bytes.size()) {
            broken("damage of a checkpoint is not noticed");
          }
        }
      }
      return;
    }
    case 1: {
      const std::string path = file_with("run/manifest.json", bytes);
      refused_or([&] { trace::verify_run_folder(folder); });
      if (sign_again(path, bytes, "tessera-manifest")) {
        trace::verify_run_folder(folder);
      }
      return;
    }
    case 2:
      trace::read_summary(file_with("run/summary.json", bytes));
      return;
    case 3: {
      const std::string sweep = scratch_folder() + "/sweep";
      const std::string path = file_with("sweep/sweep.json", bytes);
      refused_or([&] { explore::read_sweep_state(sweep); });
      if (sign_again(path, bytes, "tessera-sweep-state")) {
        explore::read_sweep_state(sweep);
      }
      return;
    }
    case 5: {
      const std::string path = file_with("run/segments.json", bytes);
      refused_or([&] { trace::read_segments(folder); });
      if (sign_again(path, bytes, "tessera-segments")) {
        trace::trace_parts(trace::read_segments(folder));
      }
      return;
    }
    case 6:
      read_lock(bytes);
      return;
    default:
      // Lines of a log: once as they are, and once as if they had been signed.
      explore::rows_from_lines(text);
      for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        std::optional<trace::Json> json =
            trace::Json::parse(std::string_view(text).substr(at, end - at));
        at = end + 1;
        if (json) {
          try {
            json->erase("crc32c");
            explore::rows_from_lines(trace::signed_line(*json));
          } catch (const trace::JsonError&) {
            continue;  // not an object
          }
        }
      }
  }
}

}  // namespace tessera::fuzz
