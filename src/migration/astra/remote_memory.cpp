#include "astra/parts.hpp"
#include "numbers.hpp"
#include "source.hpp"
#include "tessera/core/text.hpp"

namespace tessera::migration::astra {
namespace {

constexpr std::int64_t most_npus = 1'000'000'000;

enum class Expansion { none, npu, node, pool };

Expansion read_type(Source& source) {
  const std::vector<std::pair<std::string, Expansion>> types{
      {"NO_MEMORY_EXPANSION", Expansion::none},
      {"PER_NPU_MEMORY_EXPANSION", Expansion::npu},
      {"PER_NODE_MEMORY_EXPANSION", Expansion::node},
      {"MEMORY_POOL", Expansion::pool}};
  std::vector<std::string> names;
  for (const auto& [name, type] : types) {
    names.push_back(name);
  }
  const std::string chosen = source.name("memory-type", names, names.front());
  for (const auto& [name, type] : types) {
    if (name == chosen) {
      return type;
    }
  }
  return Expansion::none;
}

std::int64_t npus_of(const Network& network) {
  std::int64_t npus = 1;
  for (const NetworkDimension& dimension : network.dimensions) {
    npus *= dimension.npus;
  }
  return npus;
}

// Those that share a memory.
std::int64_t sharers(Expansion type, const Network& network, Source& source) {
  if (type == Expansion::pool) {
    return npus_of(network);
  }
  const auto npus = source.need<std::int64_t>("num-npus-per-node", {1, most_npus});
  const auto nodes = source.need<std::int64_t>("num-nodes", {1, most_npus});
  if (npus >= 1 && nodes >= 1 && npus * nodes != npus_of(network)) {
    source.error("num-nodes", "num-nodes * num-npus-per-node must be the number of NPUs, " +
                                  std::to_string(npus_of(network)));
  }
  return npus;
}

}  // namespace

YamlLines read_remote_memory(const std::string& path, const Network& network, Request& request,
                             Migrated& migrated) {
  YamlLines lines;
  Source source(read_json(path, request, migrated), request, migrated);
  const Expansion type = read_type(source);
  if (type == Expansion::none) {
    source.leave("remote-mem-latency", "there is no such memory");
    source.leave("remote-mem-bw", "there is no such memory");
    source.leave_rest();
    return lines;
  }
  const auto bandwidth = bandwidth_of(source.need<double>("remote-mem-bw"), 1e9);
  const auto latency = time_of(source.take<double>("remote-mem-latency").value_or(0), 1000);
  if (!bandwidth) {
    source.error("remote-mem-bw", "expected GB/s, more than 0");
  }
  if (!latency) {
    source.error("remote-mem-latency", "expected nanoseconds, 0 or more");
  }
  lines.add(2, "remote_memory:", source.origin("memory-type") + ": memory-type");
  lines.add(4, type == Expansion::npu ? "kind: per-npu" : "kind: per-node");
  if (type != Expansion::npu) {
    lines.add(4, "npus: " + std::to_string(sharers(type, network, source)),
              type == Expansion::pool ? "one pool for all" : "num-npus-per-node");
    migrated.assumed.push_back(
        "NPUs access a shared memory together; there one after the other, each with its latency");
  }
  lines.add(4, "bandwidth: " + to_string(bandwidth.value_or(Bandwidth())),
            source.origin("remote-mem-bw") + ": remote-mem-bw, GB/s");
  lines.add(4, "latency: " + to_string(latency.value_or(SimTime::zero())),
            source.origin("remote-mem-latency") + ": remote-mem-latency, ns");
  source.leave_rest();
  return lines;
}

}  // namespace tessera::migration::astra
