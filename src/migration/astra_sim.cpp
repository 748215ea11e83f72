// ASTRA-sim 2.0 (W. Won et al., ISPASS 2023): the network file of its analytical backends, beside
// it the system file, a remote memory, a logical topology, execution traces of Chakra or a
// collective. The experiment follows its public code (`collectives.compatible: astra`), as
// docs/design/0011 and results/collectives.md say, with which times are the same but for the
// departures named there.
#include <algorithm>
#include <utility>

#include "astra/parts.hpp"
#include "tessera/config/key.hpp"
#include "tessera/core/text.hpp"
#include "text.hpp"

namespace tessera::migration {
namespace {

using astra::Implementation;
using astra::implementation_of;
using astra::Network;
using astra::NetworkDimension;
using astra::Pattern;
using astra::read_logical_topology;
using astra::read_network;
using astra::read_remote_memory;
using astra::read_system;
using astra::System;
using config::ChoiceKey;
using config::Key;
using config::OptionalKey;
using config::OtherKey;

const OtherKey system_key{"system", "file", "", "system.json"};
const OtherKey memory_key{"remote_memory", "file", "none", "remote_memory.json"};
const OtherKey logical_key{"logical_topology", "file", "none",
                           "logical topology of collectives, if it differs from that of the "
                           "network"};
const OtherKey workload_key{"workload", "file", "none",
                            "prefix of the names of the traces, before .0.et; or give collective"};
const OtherKey groups_key{"comm_group", "file", "those in the traces",
                          "JSON file of communicators"};
const ChoiceKey<bool> backend_key{"backend",
                                  {{"unaware", false}, {"aware", true}},
                                  "unaware",
                                  "network backend: congestion-unaware or congestion-aware"};
const Key<std::int64_t> queues_key{"queues_per_dim", 1, "ASTRA-sim's option --num-queues-per-dim",
                                   config::between(std::int64_t{1}, std::int64_t{1024})};
const OptionalKey<Bytes> size_key{"size", "none",
                                  "size of the collective: vector of an NPU; for all-gather, its "
                                  "part",
                                  config::at_least(Bytes(1))};
// None: traces.
const ChoiceKey<std::optional<Pattern>> collective_key{
    "collective",
    {{"none", std::nullopt},
     {"all-reduce", Pattern::all_reduce},
     {"all-gather", Pattern::all_gather},
     {"reduce-scatter", Pattern::reduce_scatter},
     {"all-to-all", Pattern::all_to_all}},
    "none",
    "one collective of all NPUs, instead of traces"};

// What is to run.
struct Work {
  std::optional<Pattern> pattern;  // none: traces
  YamlLines lines;
  std::int64_t queues = 1;  // of a dimension
  bool is_aware = false;    // of congestion
};

Work read_work(Request& request) {
  config::Section& given = request.given;
  Work work{collective_key.read(given), {}, queues_key.read(given), backend_key.read(given)};
  const auto traces = given.get_optional<std::string>(workload_key.key());
  const auto groups = given.get_optional<std::string>(groups_key.key());
  const auto size = size_key.read(given);
  if (given.has("collective") && !work.pattern) {
    return work;  // refused already
  }
  for (const OtherKey* const key : {&workload_key, &groups_key}) {
    if (given.has(key->key()) && given.raw(key->key()).text.empty()) {
      given.error(key->key(), "names no file");
      return work;
    }
  }
  if (traces.has_value() == work.pattern.has_value()) {
    given.error("",
                "give what is to run: either workload=PREFIX, what the names of traces begin "
                "with, or collective=NAME and size=SIZE, each behind a --with");
  } else if (work.pattern.has_value() != given.has(size_key.key())) {
    given.error(size ? "size" : "", "collective and size go together");
  }
  if (!request.diagnostics.empty()) {
    return work;
  }
  work.lines.add(0, "workload:");
  if (work.pattern) {
    work.lines.add(2, "kind: collective");
    work.lines.add(2, "collective: " + given.raw("collective").text);
    work.lines.add(2, "size: " + to_string(size.value_or(Bytes(1))), "--with size");
    return work;
  }
  work.lines.add(2, "kind: chakra");
  work.lines.add(2, "traces: " + yaml_text(named_from(request.folder, traces.value_or(""))));
  if (groups) {
    work.lines.add(2, "groups: " + yaml_text(named_from(request.folder, *groups)));
  }
  return work;
}

std::string network_line(bool is_aware) {
  return is_aware ? "network: {model: packet, switching: store-and-forward, max_packets: 1}"
                  : "network: {model: analytical, message_tick: 1 ns}";
}

// Nodes that compute: by the roofline, or as long as the trace says; there one without a time takes
// a nanosecond.
void add_tiles(YamlLines& lines, const System& system, Migrated& migrated) {
  if (system.has_roofline) {
    lines.add(2, "tile: {peak: {fp16: " + to_string(system.peak->value) + "}, operands: dram}",
              system.peak->origin);
    lines.add(
        2,
        "dram: {at: each, bandwidth: " + to_string(system.local_memory->value) + ", latency: 0 ns}",
        system.local_memory->origin);
    return;
  }
  constexpr FlopRate boundless = FlopRate::flops_per_second(1'000'000'000'000'000'000ULL);
  const std::string text = to_string(boundless);
  lines.add(2, "tile: {peak: {fp16: " + text + "}}", "no roofline: see above");
  migrated.assumed.push_back("nodes that compute without a recorded time run at " + text +
                             ": there they take a nanosecond");
  if (system.peak) {
    migrated.assumed.push_back("peak-perf has no effect: roofline-enabled is not set");
  }
}

void add_machine(YamlLines& lines, const Network& network, const System& system, const Work& work,
                 Migrated& migrated) {
  lines.add(0, "machine:");
  lines.add(2, "topology:");
  lines.add(4, "kind: stack");
  lines.add(4, "shape: " + network.shape, "topology and npus_count");
  lines.add(4, "dimensions:");
  for (const NetworkDimension& dimension : network.dimensions) {
    lines.add(6,
              "- {bandwidth: " + to_string(dimension.bandwidth) +
                  ", latency: " + to_string(dimension.latency) + "}",
              dimension.origin);
  }
  if (!work.pattern) {
    add_tiles(lines, system, migrated);
  } else if (system.peak) {
    migrated.assumed.push_back("peak-perf has no effect: a collective alone computes nothing");
  }
  lines.add(2, network_line(work.is_aware),
            std::string("--with backend: ") + (work.is_aware ? "aware" : "unaware"));
}

// Of traces: the algorithms of all-reduces are those of all kinds but all-to-all.
Implementation main_implementation(const System& system, const Work& work, std::size_t dimensions,
                                   Migrated& migrated) {
  Implementation chosen =
      implementation_of(system, work.pattern.value_or(Pattern::all_reduce), dimensions, migrated);
  for (const auto& [pattern, other] : system.implementations) {
    const bool is_asked = !work.pattern && pattern != Pattern::all_to_all;
    if (is_asked && !(other == chosen)) {
      migrated.assumed.push_back("the algorithms of " + chosen.origin + " also for those of " +
                                 other.origin + ", which differ: there is one list for both here");
    }
  }
  return chosen;
}

void add_algorithms(YamlLines& lines, const Implementation& chosen, const System& system,
                    const Work& work, Migrated& migrated) {
  const auto all_to_all = system.implementations.find(Pattern::all_to_all);
  const bool asks_all_to_all = !work.pattern && all_to_all != system.implementations.end();
  if (chosen.is_flat) {
    lines.add(4, "communicators: flat", chosen.origin);
    lines.add(4, "other_algorithm: " + chosen.algorithms.front(), chosen.origin);
  } else {
    lines.add(4, "algorithms: " + list_of(chosen.algorithms), chosen.origin);
  }
  if (chosen.window > 0) {
    lines.add(4, "algorithm_window: " + std::to_string(chosen.window), chosen.origin);
  }
  if (!asks_all_to_all) {
    return;
  }
  const Implementation& other = all_to_all->second;
  if (other.is_flat != chosen.is_flat || other.window != chosen.window) {
    migrated.assumed.push_back("all-to-alls go as " + chosen.origin + " where " + other.origin +
                               " has other windows or goes over all dimensions at once");
  } else if (!other.is_flat) {
    lines.add(4, "all_to_all: " + list_of(other.algorithms), other.origin);
  }
}

void add_execution(YamlLines& lines, const System& system, const Work& work,
                   const std::vector<std::int64_t>& logical, std::size_t dimensions,
                   Migrated& migrated) {
  lines.add(0, "execution:");
  if (!work.pattern) {
    lines.add(2, "sends: delivered", "as its public code: a send is over when it has arrived");
    lines.add(2, "lanes: {collective: 1}", "as its public code: one collective or send at a time");
    if (!system.has_roofline) {
      lines.add(2, "times: recorded", "roofline-enabled is not set");
    }
  }
  lines.add(2, "collectives:");
  if (!logical.empty()) {
    lines.add(4, "shape: " + list_of(logical), "logical-dims");
  }
  add_algorithms(lines, main_implementation(system, work, dimensions, migrated), system, work,
                 migrated);
  lines.add(4, "chunks: " + std::to_string(system.chunks.value), system.chunks.origin);
  lines.add(4, "active_chunks: " + std::to_string(system.active_chunks.value),
            system.active_chunks.origin);
  if (work.queues > 1) {
    lines.add(4, "queues: " + list_of(std::vector<std::int64_t>(dimensions, work.queues)),
              "--with queues_per_dim");
  }
  lines.add(4, "order: " + system.order.value, system.order.origin);
  lines.add(4, "queue: " + system.queue.value, system.queue.origin);
  lines.add(4, "decomposition: " + system.decomposition.value, system.decomposition.origin);
  lines.add(4, "endpoint_delay: " + to_string(system.endpoint_delay.value),
            system.endpoint_delay.origin);
  if (system.local_memory) {
    lines.add(4, "local_memory: " + to_string(system.local_memory->value),
              system.local_memory->origin);
  } else {
    migrated.assumed.push_back("additions take no time: there is no local-mem-bw");
  }
  lines.add(4, "compatible: astra", "its public code's own rules");
}

// The machine, the work and how it is executed, when all files were good.
Migrated read_astra_sim(Request& request) {
  Migrated migrated;
  config::Section& given = request.given;
  const Work work = read_work(request);
  const auto system_file = given.get<std::string>(system_key.key());
  const auto memory_file = given.get_optional<std::string>(memory_key.key());
  const auto logical_file = given.get_optional<std::string>(logical_key.key());
  const Network network = read_network(request.source, request, migrated);
  if (!request.diagnostics.empty()) {
    return migrated;
  }
  const std::vector<std::int64_t> logical =
      logical_file ? read_logical_topology(*logical_file, network, request, migrated)
                   : std::vector<std::int64_t>{};
  const std::size_t dimensions = logical.empty() ? network.dimensions.size() : logical.size();
  const System system = read_system(system_file, dimensions, request, migrated);
  const YamlLines memory =
      memory_file ? read_remote_memory(*memory_file, network, request, migrated) : YamlLines();
  if (!request.diagnostics.empty()) {
    return migrated;
  }
  YamlLines lines;
  lines.add(0, "name: " + yaml_text(request.name));
  add_machine(lines, network, system, work, migrated);
  YamlLines execution;
  add_execution(execution, system, work, logical, dimensions, migrated);
  migrated.files.push_back({FileKind::experiment, "",
                            lines.text() + memory.text() + work.lines.text() + execution.text()});
  return migrated;
}

const Registration astra_sim_registration(
    formats(),
    {"astra-sim",
     "ASTRA-sim 2.0: the network file, with the system file and the workload as keys",
     {system_key, memory_key, logical_key, workload_key, groups_key, collective_key, size_key,
      queues_key, backend_key}},
    read_astra_sim);

}  // namespace
}  // namespace tessera::migration
