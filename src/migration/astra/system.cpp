#include <algorithm>

#include "astra/parts.hpp"
#include "numbers.hpp"
#include "source.hpp"
#include "tessera/core/text.hpp"

namespace tessera::migration::astra {
namespace {

constexpr std::int64_t most_chunks = 16'383;  // of ours
constexpr std::int64_t most_window = 1'000'000;

using Names = std::vector<std::pair<std::string, std::string>>;  // theirs, ours

// Its ring all-to-all is handed on from NPU to NPU.
const Names& algorithm_names() {
  static const Names all{{"ring", "ring-relay"},
                         {"direct", "direct"},
                         {"halvingDoubling", "halving-doubling"},
                         {"doubleBinaryTree", "double-binary-tree"},
                         {"oneRing", "ring-relay"},
                         {"oneDirect", "direct"},
                         {"oneHalvingDoubling", "halving-doubling"}};
  return all;
}

std::vector<std::string> theirs_of(const Names& names) {
  std::vector<std::string> theirs;
  for (const auto& [name, ours] : names) {
    theirs.push_back(name);
  }
  return theirs;
}

// "direct8" is direct with at most eight messages under way.
std::optional<std::int64_t> take_window(std::string& name) {
  const std::size_t digits = name.find_first_of("0123456789");
  if (digits == std::string::npos || digits == 0 || !name.substr(0, digits).ends_with("irect")) {
    return std::nullopt;
  }
  std::string problem;
  const auto window = config::parse_as<std::int64_t>(name.substr(digits), problem);
  if (!window || *window < 1 || *window > most_window) {
    return std::nullopt;
  }
  name.resize(digits);
  return window;
}

void add_algorithm(Implementation& implementation, std::string name, std::string_view key,
                   std::size_t number, Source& source) {
  const std::int64_t window = take_window(name).value_or(0);
  const Names& names = algorithm_names();
  const auto found = std::find_if(names.begin(), names.end(),
                                  [&](const auto& pair) { return pair.first == name; });
  if (found == names.end()) {
    source.error(key, number, unknown_name("collective algorithm", name, theirs_of(names)));
    return;
  }
  const bool is_direct = name.ends_with("irect");
  if (is_direct && implementation.window != window && implementation.window != 0) {
    source.error(key, number, "one window of messages for all dimensions is possible here");
  }
  implementation.window = std::max(implementation.window, window);
  implementation.is_flat = implementation.is_flat || name.starts_with("one");
  implementation.algorithms.push_back(found->second);
}

void note_differences(const Implementation& implementation, Migrated& migrated) {
  const bool has_tree =
      std::find(implementation.algorithms.begin(), implementation.algorithms.end(),
                algorithm_names()[3].second) != implementation.algorithms.end();
  const std::string text =
      "a double binary tree has halves of a chunk over both trees at once, as it was published; "
      "there a chunk goes over one of them, and takes about twice as long";
  if (has_tree &&
      std::find(migrated.assumed.begin(), migrated.assumed.end(), text) == migrated.assumed.end()) {
    migrated.assumed.push_back(text);
  }
}

void read_implementation(Pattern pattern, const std::string& key, std::size_t dimensions,
                         Source& source, System& system, Migrated& migrated) {
  if (!source.has(key)) {
    return;
  }
  Implementation implementation;
  const auto names = source.list<std::string>(key);
  if (names.empty() && !source.is_empty_list(key)) {
    return;  // after a complaint
  }
  for (std::size_t n = 0; n < names.size(); ++n) {
    add_algorithm(implementation, names[n], key, n, source);
  }
  const bool one_for_all = implementation.is_flat && names.size() == 1;
  if (names.size() != dimensions && !one_for_all) {
    source.error(key, "expected a list of one algorithm for each of the " +
                          std::to_string(dimensions) + " dimensions");
  } else if (implementation.is_flat && !one_for_all) {
    source.error(key, "an algorithm that begins with 'one' is for all dimensions; give it alone");
  }
  implementation.origin = source.origin(key) + ": " + key;
  note_differences(implementation, migrated);
  system.implementations[pattern] = implementation;
}

Said<std::string> read_choice(const std::string& key, const Names& names, Source& source) {
  const std::string chosen = source.name(key, theirs_of(names), names.front().first);
  const auto found = std::find_if(names.begin(), names.end(),
                                  [&](const auto& pair) { return pair.first == chosen; });
  return {found == names.end() ? names.front().second : found->second,
          source.has(key) ? source.origin(key) + ": " + key : "its default"};
}

Said<std::int64_t> read_count(const std::string& key, Source& source) {
  const auto count = source.take<std::int64_t>(key, {1, most_chunks});
  return {count.value_or(1), count ? source.origin(key) + ": " + key : "its default"};
}

Said<SimTime> read_delay(Source& source) {
  constexpr double usual = 10;  // of its Sys.cc
  const auto ns = source.take<double>("endpoint-delay");
  const auto delay = time_of(ns.value_or(usual), 1000);
  if (!delay) {
    source.error("endpoint-delay", "expected nanoseconds, 0 or more");
  }
  return {delay.value_or(SimTime::zero()),
          ns ? source.origin("endpoint-delay") + ": endpoint-delay, ns" : "its default, 10 ns"};
}

void read_rates(Source& source, System& system) {
  if (const auto rate = source.take<double>("local-mem-bw")) {
    const auto bandwidth = bandwidth_of(*rate, 1e9);
    if (!bandwidth) {
      source.error("local-mem-bw", "expected GB/s, more than 0");
    }
    system.local_memory = {bandwidth.value_or(Bandwidth()),
                           source.origin("local-mem-bw") + ": local-mem-bw, GB/s of 10^9 B"};
  }
  if (const auto peak = source.take<double>("peak-perf")) {
    const auto rate = rounded(*peak * 1e12, 1);
    if (!rate) {
      source.error("peak-perf", "expected TFLOP/s, more than 0");
    }
    system.peak = {FlopRate::flops_per_second(rate.value_or(1)),
                   source.origin("peak-perf") + ": peak-perf, TFLOP/s"};
  }
}

void leave_others(Source& source) {
  source.leave("scheduling-policy",
               "an NPU has one collective under way, so that there is nothing to choose");
  source.leave("boost-mode", "it is about how fast the simulator is, and changes no time");
  source.leave("trace-enabled", "what is recorded is run.trace here");
  source.leave("replay-only",
               "nodes that compute take their recorded times (execution.times) "
               "where there is no roofline; collectives are always simulated");
  source.leave("local-reduction-delay", "additions take the time of local-mem-bw");
  source.leave("track-local-mem", "what memory holds at a time is not followed in traces");
  source.leave("model-shared-bus", "the bus between NPU and memory (L, o, g, G) is not modelled");
  for (const char* key : {"L", "o", "g", "G"}) {
    source.leave(key, "of the shared bus, which is not modelled");
  }
  for (const char* kind : {"all-reduce", "all-gather", "reduce-scatter", "all-to-all"}) {
    for (const char* ending : {"-implementation-chakra", "-implementation-custom"}) {
      source.leave(std::string(kind) + ending,
                   "collectives written by hand are named in execution.collectives.programs");
    }
  }
}

}  // namespace

System read_system(const std::string& path, std::size_t dimensions, Request& request,
                   Migrated& migrated) {
  System system;
  const config::Value root = read_json(path, request, migrated);
  if (!request.diagnostics.empty()) {
    return system;
  }
  Source source(root, request, migrated);
  const auto read = [&](Pattern pattern, const char* key) {
    read_implementation(pattern, key, dimensions, source, system, migrated);
  };
  read(Pattern::all_reduce, "all-reduce-implementation");
  read(Pattern::all_gather, "all-gather-implementation");
  read(Pattern::reduce_scatter, "reduce-scatter-implementation");
  read(Pattern::all_to_all, "all-to-all-implementation");
  system.chunks = read_count("preferred-dataset-splits", source);
  system.active_chunks = read_count("active-chunks-per-dimension", source);
  system.endpoint_delay = read_delay(source);
  system.decomposition =
      read_choice("collective-optimization",
                  {{"baseline", "baseline"}, {"localBWAware", "bandwidth-aware"}}, source);
  system.order = read_choice(
      "inter-dimension-scheduling",
      {{"baseline", "ascending"}, {"roundRobin", "round-robin"}, {"themis", "themis"}}, source);
  system.queue = read_choice("intra-dimension-scheduling",
                             {{"FIFO", "fifo"}, {"smallestFirst", "smallest-first"}}, source);
  read_rates(source, system);
  system.has_roofline = source.truth("roofline-enabled");
  if (system.has_roofline && !(system.peak && system.local_memory)) {
    source.error("roofline-enabled", "a roofline has a peak-perf and a local-mem-bw");
  }
  leave_others(source);
  source.leave_rest();
  return system;
}

Implementation implementation_of(const System& system, Pattern pattern, std::size_t dimensions,
                                 Migrated& migrated) {
  const auto found = system.implementations.find(pattern);
  if (found != system.implementations.end()) {
    return found->second;
  }
  const std::string usual = "rings in all dimensions: the system file names no algorithm";
  migrated.assumed.push_back(usual);
  return {std::vector<std::string>(dimensions, algorithm_names().front().second), false, 0, usual};
}

}  // namespace tessera::migration::astra
