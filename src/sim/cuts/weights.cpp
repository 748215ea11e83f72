#include "tessera/sim/cuts/weights.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

#include "jobs/joint_work.hpp"
#include "tessera/core/error.hpp"
#include "tessera/trace/run_folder.hpp"

namespace tessera::sim {
namespace {

using trace::node_events_name;

constexpr const char* heading = "# tessera: events that each node sent, in order of nodes";

[[noreturn]] void refuse(const std::string& path, std::size_t line, const std::string& fault) {
  throw ConfigError(std::vector<Diagnostic>{{path, static_cast<int>(line), 1, fault}});
}

// The text at `path`, and where it was.
std::string load_either(std::string& path, const config::TextLoader& load) {
  const std::string inside = path + "/" + node_events_name;
  try {
    std::string text = load(inside);
    path = inside;
    return text;
  } catch (const IoError&) {
    // Then it is a file, or nothing.
  }
  try {
    return load(path);
  } catch (const IoError& error) {
    throw ConfigError(std::string(error.what()) +
                      "; weights are 'none', 'predicted', a run folder, or the " +
                      node_events_name + " of one");
  }
}

}  // namespace

std::vector<std::uint64_t> predicted_events(const Experiment& experiment) {
  return work_of(experiment)->predicted_events().listed();
}

machine::Weights node_weights(const Experiment& experiment) {
  return node_weights(experiment, experiment.options.weights == "predicted"
                                      ? work_of(experiment)->predicted_events()
                                      : SparseCounts());
}

machine::Weights node_weights(const Experiment& experiment, const SparseCounts& predicted) {
  if (experiment.options.weights == "none") {
    return {};
  }
  const SparseCounts events = experiment.options.weights == "predicted"
                                  ? predicted
                                  : SparseCounts(experiment.measured_events, 0);
  constexpr std::uint64_t limit = std::numeric_limits<std::uint32_t>::max();
  std::uint64_t largest = events.usual();
  events.visit([&](std::size_t, std::uint64_t count) { largest = std::max(largest, count); });
  const std::uint64_t divisor = largest / limit + 1;
  const auto weight = [&](std::uint64_t count) {
    return static_cast<std::uint32_t>(std::max<std::uint64_t>(1, count / divisor));
  };
  machine::Weights weights(events.size(), weight(events.usual()));
  events.visit([&](std::size_t node, std::uint64_t count) { weights.set(node, weight(count)); });
  return weights;
}

std::string to_text(std::span<const std::uint64_t> events) {
  std::string text = std::string(heading) + "\n";
  for (const std::uint64_t count : events) {
    text += std::to_string(count) + '\n';
  }
  return text;
}

std::vector<std::uint64_t> read_node_events(const std::string& path, std::uint32_t nodes,
                                            const config::TextLoader& load) {
  std::string found = path;
  const std::string text = load_either(found, load);
  if (!text.starts_with(heading)) {
    refuse(found, 1, std::string("is no ") + node_events_name + " of a run");
  }
  std::vector<std::uint64_t> events;
  events.reserve(nodes);
  const char* at = text.data() + std::min(text.find('\n'), text.size() - 1) + 1;
  const char* const end = text.data() + text.size();
  while (at != end) {
    std::uint64_t count = 0;
    const auto [after, error] = std::from_chars(at, end, count);
    if (error != std::errc{} || after == end || *after != '\n') {
      refuse(found, events.size() + 2, "expected a number of events");
    }
    events.push_back(count);
    at = after + 1;
  }
  if (events.size() != nodes) {
    refuse(found, 1,
           "holds " + std::to_string(events.size()) + " nodes, the machine has " +
               std::to_string(nodes));
  }
  return events;
}

bool is_measured(const std::string& weights) {
  return weights != "none" && weights != "predicted";
}

void use_weights(Experiment& experiment, const std::string& weights,
                 const config::TextLoader& load) {
  experiment.measured_events.clear();
  if (is_measured(weights)) {
    experiment.measured_events =
        read_node_events(weights, experiment.machine.topology->nodes(), load);
  }
  experiment.options.weights = weights;
}

}  // namespace tessera::sim
