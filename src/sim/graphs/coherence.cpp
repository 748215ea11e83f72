#include "graphs/coherence.hpp"

#include <algorithm>
#include <set>
#include <string>

namespace tessera::sim {
namespace {

using config::Section;

// Nodes that are memory and have a channel.
std::set<EntityId> memories_with_channels(const machine::Machine& machine) {
  std::set<EntityId> nodes;
  if (machine.topology->memory_nodes().empty()) {
    return nodes;
  }
  for (const machine::MemoryChannel& channel : machine.channels) {
    if (machine.topology->role(channel.node) == machine::NodeRole::memory) {
      nodes.insert(channel.node);
    }
  }
  return nodes;
}

// Where memories that graphs access have channels, these serve coherent accesses, and nobody else.
void use_channels(const Platform& platform, Section machine, executor::GraphWork& graph) {
  const std::set<EntityId> nodes = memories_with_channels(platform.machine);
  const auto has_channel = [&](EntityId node) { return nodes.contains(node); };
  const auto& devices = graph.remote_of;
  const auto with = std::find_if(devices.begin(), devices.end(), has_channel);
  if (with == devices.end()) {
    return;
  }
  Section dram = machine.section("dram");
  const char* const key = dram.has("memories") ? "memories" : "at";
  const auto name = [&](EntityId node) { return platform.machine.topology->node_name(node); };
  const auto without = std::find_if_not(devices.begin(), devices.end(), has_channel);
  if (!platform.coherence) {
    dram.error(key, "puts a channel at " + name(*with) +
                        ", which answers at once without machine.coherence: nothing would use it");
  } else if (without != devices.end()) {
    dram.error("at",
               "puts a channel at " + name(*with) + ", but none at " + name(*without) +
                   ", which is accessed by lines as well; all such memories need one or none");
  } else if (!platform.memory->serves_at_node()) {
    machine.section("memory").error("spread",
                                    "'all' has one address space over all memories, but lines are "
                                    "those of one device (machine.coherence)");
  } else {
    graph.coherent_in_channels = true;
  }
}

// [npus] Whether the memory that an NPU uses is local: no node for all to access by lines.
std::vector<bool> hits_in_channels(const machine::Machine& machine,
                                   const std::vector<EntityId>& npus) {
  const std::set<EntityId> remote = memories_with_channels(machine);
  std::vector<bool> hits;
  for (const EntityId npu : npus) {
    hits.push_back(!machine.channels.empty() &&
                   !remote.contains(machine.channels[machine.channel_of[npu.value()]].node));
  }
  return hits;
}

}  // namespace

void use_coherence(const Platform& platform, Section machine, executor::GraphWork& graph) {
  if (graph.survey.remote_accesses == 0) {
    return;
  }
  use_channels(platform, machine, graph);
  if (!platform.coherence) {
    return;
  }
  const memory::Coherence& coherence = *platform.coherence;
  Section section = machine.section("coherence");
  if (graph.remote_of.empty()) {
    machine.error("coherence",
                  "is of nodes of kind memory, but remote accesses of these graphs go to machine." +
                      std::string(platform.remote_memory ? "remote_memory" : "dram"));
    return;
  }
  if (coherence.options().outstanding && !graph.coherent_in_channels &&
      !platform.network->limits_rates()) {
    section.error("outstanding",
                  "this network cannot hold a message to a rate; flow and analytical can");
  }
  if (coherence.has_directory() && coherence.owners() >= graph.npus()) {
    section.error(section.has("sharers") ? "sharers" : "",
                  std::to_string(coherence.owners()) +
                      " other caches must be there, but the machine has " +
                      std::to_string(graph.npus() - 1) + " other NPUs");
  }
  graph.coherence = coherence;
  graph.hits_in_channels = hits_in_channels(platform.machine, graph.nodes);
}

void check_remote_access(const executor::GraphWork& graph, Section remote) {
  const executor::RemoteAccess& choice = graph.options.remote;
  if (graph.survey.remote_accesses == 0 || (choice.requests && choice.acknowledged)) {
    return;
  }
  const std::string key = choice.requests ? "stores" : "request";
  if (graph.coherence) {
    remote.error(key, "machine.coherence says what goes to memory and back");
  } else if (graph.remote_of.empty()) {
    remote.error(key, "is of nodes of kind memory, which these graphs do not access");
  }
}

}  // namespace tessera::sim
