#include "tessera/memory/remote.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tessera/config/key.hpp"
#include "tessera/core/error.hpp"
#include "tessera/core/wide.hpp"
#include "tessera/memory/keys.hpp"

namespace tessera::memory {
namespace {

using config::RequiredKey;
using config::Section;

constexpr Bytes usual_chunk = Bytes(4096);  // assumed: a page

std::uint64_t chunks_of(Wide bytes, Bytes chunk) {
  return static_cast<std::uint64_t>((bytes + chunk.count() - 1) / chunk.count());
}

// Time of `count` / `among` chunks on a link, rounded up: where many share what comes, each has a
// part of a chunk in a stage.
SimTime share_time(Bytes chunk, std::uint64_t count, std::uint64_t among, Bandwidth bandwidth) {
  const Wide bytes = static_cast<Wide>(chunk.count()) * count;
  constexpr std::uint64_t ps_per_second = 1'000'000'000'000ULL;
  const Wide rate = static_cast<Wide>(bandwidth.bytes_per_second()) * among;
  return SimTime::from_ps(static_cast<std::int64_t>((bytes * ps_per_second + rate - 1) / rate));
}

RequiredKey<std::uint32_t> count_key(std::string_view name, std::string_view help) {
  return {name, help, config::between(1U, 1'000'000'000U)};
}

RequiredKey<Bandwidth> bandwidth_key(std::string_view name, std::string_view help) {
  return {name, help, config::at_least(Bandwidth::bytes_per_second(1))};
}

// 1 B/s after a complaint, so that nothing divides by zero.
Bandwidth read_bandwidth(Section& section, const RequiredKey<Bandwidth>& key) {
  return std::max(key.read(section), Bandwidth::bytes_per_second(1));
}

// 1 after a complaint, for the same reason.
std::uint32_t read_count(Section& section, const RequiredKey<std::uint32_t>& key) {
  return std::max(key.read(section), 1U);
}

// One memory behind one link for `sharers` NPUs.
class Behind final : public RemoteMemory {
 public:
  Behind(std::uint32_t sharers, Bandwidth bandwidth, SimTime latency)
      : sharers_(sharers), bandwidth_(bandwidth), latency_(latency) {}
  SimTime access_time(Bytes tensor, InSwitch) const override {
    std::uint64_t bytes = 0;
    if (__builtin_mul_overflow(tensor.count(), std::uint64_t{sharers_}, &bytes)) {
      throw ModelError("remote memory: " + std::to_string(sharers_) + " NPUs access " +
                       to_string(tensor) + " each, together more than 2^64 B");
    }
    return latency_ + serialization_time(Bytes(bytes), bandwidth_);
  }
  std::optional<std::uint64_t> npus() const override {
    return sharers_ == 1 ? std::nullopt : std::optional<std::uint64_t>(sharers_);
  }
  bool is_repeated() const override { return true; }

 private:
  std::uint32_t sharers_;
  Bandwidth bandwidth_;
  SimTime latency_;
};

struct HierarchicalShape {
  std::uint32_t nodes = 1;
  std::uint32_t npus = 1;  // of a node
  std::uint32_t switches = 1;
  std::uint32_t groups = 1;
  Bandwidth memory_bandwidth;
  Bandwidth node_bandwidth;
  Bandwidth npu_bandwidth;
  std::optional<Bandwidth> group_bandwidth;
  Bytes chunk = usual_chunk;
  SimTime latency;
};

// In a stage every link between a memory and a switch carries one chunk. So a switch gets one from
// each group, which it shares out to the nodes, and a node its share from each switch. With
// collectives in switches, what a switch has gathered goes to every node whole, and what a node has
// gathered to every NPU.
class Hierarchical final : public RemoteMemory {
 public:
  explicit Hierarchical(const HierarchicalShape& shape) : shape_(shape) {}
  bool gathers() const override { return true; }
  std::optional<std::uint64_t> npus() const override {
    return std::uint64_t{shape_.nodes} * shape_.npus;
  }

  SimTime access_time(Bytes tensor, InSwitch in_switch) const override {
    const HierarchicalShape& shape = shape_;
    const std::uint64_t npus = *this->npus();
    const std::uint64_t into_node = std::uint64_t{shape.groups} * shape.switches;
    const Wide of_link = static_cast<Wide>(tensor.count()) * npus / into_node;
    const Bytes chunk =
        std::max(Bytes(1), std::min(shape.chunk, Bytes(static_cast<std::uint64_t>(of_link))));
    const bool gathered = in_switch == InSwitch::collective;
    SimTime out = share_time(chunk, 1, 1, shape.memory_bandwidth);
    if (shape.group_bandwidth) {
      out = std::max(out, share_time(chunk, shape.switches, 1, *shape.group_bandwidth));
    }
    const std::vector<SimTime> links{
        out, share_time(chunk, shape.groups, gathered ? 1 : shape.nodes, shape.node_bandwidth),
        share_time(chunk, into_node, gathered ? 1 : npus, shape.npu_bandwidth)};
    const std::uint64_t chunks = std::max<std::uint64_t>(1, chunks_of(of_link, chunk));
    return shape.latency + pipelined_time(links, chunks);
  }

 private:
  HierarchicalShape shape_;
};

// Links of one bandwidth, of which the busiest carries `load` times what goes to one NPU
// (load / load_of), on ways of up to `hops` links.
class Uniform final : public RemoteMemory {
 public:
  Uniform(std::uint64_t npus, std::uint64_t load, std::uint64_t load_of, std::uint32_t hops,
          Bandwidth bandwidth, Bytes chunk, SimTime latency)
      : npus_(npus),
        load_(load),
        load_of_(load_of),
        hops_(hops),
        bandwidth_(bandwidth),
        chunk_(chunk),
        latency_(latency) {}
  std::optional<std::uint64_t> npus() const override { return npus_; }

  SimTime access_time(Bytes tensor, InSwitch) const override {
    const Wide of_link = (static_cast<Wide>(tensor.count()) * load_ + load_of_ - 1) / load_of_;
    if (of_link == 0 || hops_ == 0) {
      return latency_;
    }
    const Bytes chunk = std::min<Wide>(chunk_.count(), of_link) == chunk_.count()
                            ? chunk_
                            : Bytes(static_cast<std::uint64_t>(of_link));
    // As pipelined_time of links that are all alike.
    const std::uint64_t stages = chunks_of(of_link, chunk) + hops_ - 1;
    return latency_ + serialization_time(chunk, bandwidth_) * static_cast<std::int64_t>(stages);
  }

 private:
  std::uint64_t npus_;
  std::uint64_t load_;
  std::uint64_t load_of_;
  std::uint32_t hops_;
  Bandwidth bandwidth_;
  Bytes chunk_;
  SimTime latency_;
};

struct SwitchLevel {
  std::uint32_t members = 1;
  Bandwidth bandwidth;
};

class Switches final : public RemoteMemory {
 public:
  Switches(std::vector<SwitchLevel> levels, Bytes chunk, SimTime latency)
      : levels_(std::move(levels)), chunk_(chunk), latency_(latency) {}
  bool gathers() const override { return true; }
  std::optional<std::uint64_t> npus() const override {
    std::uint64_t npus = 1;
    for (const SwitchLevel& level : levels_) {
      npus *= level.members;
    }
    return npus;
  }

  // In a stage an NPU gets one chunk. Gathered, all NPUs get the same, so that every link carries
  // the same chunks; else a link carries one for each NPU below it.
  SimTime access_time(Bytes tensor, InSwitch in_switch) const override {
    const bool gathered = in_switch == InSwitch::collective;
    const Wide to_npu = static_cast<Wide>(tensor.count()) * (gathered ? *npus() : 1);
    if (to_npu == 0) {
      return latency_;
    }
    const Bytes chunk =
        to_npu < chunk_.count() ? Bytes(static_cast<std::uint64_t>(to_npu)) : chunk_;
    std::vector<SimTime> links;
    std::uint64_t below = 1;  // NPUs that a link of the level leads to
    for (const SwitchLevel& level : levels_) {
      links.push_back(share_time(chunk, gathered ? 1 : below, 1, level.bandwidth));
      below *= level.members;
    }
    std::reverse(links.begin(), links.end());
    return latency_ + pipelined_time(links, chunks_of(to_npu, chunk));
  }

 private:
  std::vector<SwitchLevel> levels_;  // from the NPUs
  Bytes chunk_;
  SimTime latency_;
};

using Made = std::unique_ptr<RemoteMemory>;

const config::Key<SimTime> latency{"latency", SimTime::zero(), "latency of the first byte",
                                   config::at_least(SimTime::zero())};
const config::Key<Bytes> chunk{"chunk", usual_chunk, "unit in which tensors are forwarded",
                               config::at_least(Bytes(1))};
const auto npus_of_server = count_key("npus", "NPUs of a server");
const auto bandwidth_of_link = bandwidth_key("bandwidth", "bandwidth of a link, in each direction");

const auto own_bandwidth = bandwidth_key("bandwidth", "bandwidth of the link");

const Registration per_npu(remote_memories(),
                           {"per-npu",
                            "a separate memory for each NPU, behind a link",
                            {latency, own_bandwidth}},
                           [](Section& section) -> Made {
                             const Bandwidth bandwidth = read_bandwidth(section, own_bandwidth);
                             return std::make_unique<Behind>(1, bandwidth, latency.read(section));
                           });

const auto bandwidth_of_memory = bandwidth_key("bandwidth", "bandwidth of the memory");

const Registration per_node(remote_memories(),
                            {"per-node",
                             "one memory for the NPUs of each server, which share its bandwidth",
                             {latency, npus_of_server, bandwidth_of_memory}},
                            [](Section& section) -> Made {
                              const std::uint32_t npus = read_count(section, npus_of_server);
                              const Bandwidth bandwidth =
                                  read_bandwidth(section, bandwidth_of_memory);
                              return std::make_unique<Behind>(npus, bandwidth,
                                                              latency.read(section));
                            });

const auto nodes_key = count_key("nodes", "number of servers");
const auto switches_key = count_key("switches", "switches outside the servers");
const auto groups_key = count_key("groups", "number of memories");
const auto memory_bandwidth =
    bandwidth_key("memory_bandwidth", "bandwidth from a memory to a switch");
const config::OptionalKey<Bandwidth> group_bandwidth{
    "group_bandwidth", "none", "bandwidth from a memory to all switches together; none: no limit",
    config::at_least(Bandwidth::bytes_per_second(1))};
const auto node_bandwidth = bandwidth_key("node_bandwidth", "bandwidth from a switch to a server");
const auto npu_bandwidth =
    bandwidth_key("npu_bandwidth", "bandwidth from the switch of a server to an NPU");

const Registration hierarchical(
    remote_memories(),
    {"hierarchical",
     "a memory pool behind switches outside the servers and one switch in each server (ASTRA-sim "
     "2.0)",
     {latency, chunk, nodes_key, npus_of_server, switches_key, groups_key, memory_bandwidth,
      group_bandwidth, node_bandwidth, npu_bandwidth}},
    [](Section& section) -> Made {
      HierarchicalShape shape;
      shape.nodes = read_count(section, nodes_key);
      shape.npus = read_count(section, npus_of_server);
      shape.switches = read_count(section, switches_key);
      shape.groups = read_count(section, groups_key);
      shape.memory_bandwidth = read_bandwidth(section, memory_bandwidth);
      shape.node_bandwidth = read_bandwidth(section, node_bandwidth);
      shape.npu_bandwidth = read_bandwidth(section, npu_bandwidth);
      shape.group_bandwidth = group_bandwidth.read(section);
      shape.chunk = chunk.read(section);
      shape.latency = latency.read(section);
      return std::make_unique<Hierarchical>(shape);
    });

const auto npus_on_ring = count_key("npus", "NPUs on the ring");

// All pairs of an NPU and a memory exchange 1 / n of a tensor. Each way round, what has d links to
// go passes d of the n links: the busiest way carries the sum of 1 … floor(n / 2) of them, those at
// equal distance both ways taking one.
const Registration ring(remote_memories(),
                        {"ring",
                         "NPUs and as many memories, in pairs, on a ring",
                         {latency, chunk, npus_on_ring, bandwidth_of_link}},
                        [](Section& section) -> Made {
                          const std::uint64_t npus = read_count(section, npus_on_ring);
                          const std::uint64_t half = npus / 2;
                          const Bandwidth bandwidth = read_bandwidth(section, bandwidth_of_link);
                          const Bytes piece = chunk.read(section);
                          return std::make_unique<Uniform>(npus, half * (half + 1) / 2, npus,
                                                           static_cast<std::uint32_t>(half),
                                                           bandwidth, piece, latency.read(section));
                        });

const auto rows_key = count_key("rows", "rows of the mesh");
const auto columns_key = count_key("columns", "columns of the mesh");

// With rows first in a column, the link in the middle of a row carries what all memories on its
// left in the row have for all NPUs on its right: floor(c / 2) * ceil(c / 2) * r pairs of r * c.
const Registration mesh(remote_memories(),
                        {"mesh",
                         "NPUs and as many memories, in pairs, on a mesh",
                         {latency, chunk, rows_key, columns_key, bandwidth_of_link}},
                        [](Section& section) -> Made {
                          const std::uint64_t rows = read_count(section, rows_key);
                          const std::uint64_t columns = read_count(section, columns_key);
                          const Bandwidth bandwidth = read_bandwidth(section, bandwidth_of_link);
                          const Bytes piece = chunk.read(section);
                          // Times the number of pairs, r * c: a way along a row is shared by the
                          // rows, and so on.
                          const std::uint64_t longest = std::max(rows, columns);
                          return std::make_unique<Uniform>(
                              rows * columns, (longest / 2) * ((longest + 1) / 2), longest,
                              static_cast<std::uint32_t>(rows + columns - 2), bandwidth, piece,
                              latency.read(section));
                        });

const config::OtherKey levels_key{"levels", "list", "",
                                  "[{members, bandwidth}, …], from the NPUs up"};
const auto members_key = count_key("levels[].members", "members below each switch of this level");
const auto bandwidth_of_level =
    bandwidth_key("levels[].bandwidth", "bandwidth of a link of this level, in each direction");

const Registration switches(
    remote_memories(),
    {"switches",
     "a tree of switches, with all memory at its root",
     {latency, chunk, levels_key, members_key, bandwidth_of_level}},
    [](Section& section) -> Made {
      std::vector<SwitchLevel> levels;
      for (Section level : section.sections(levels_key.key())) {
        const std::uint32_t members = read_count(level, members_key);
        levels.push_back({members, read_bandwidth(level, bandwidth_of_level)});
      }
      if (levels.empty()) {
        section.error(levels_key.key(), "at least one level of switches is needed");
        return nullptr;
      }
      const Bytes piece = chunk.read(section);
      return std::make_unique<Switches>(std::move(levels), piece, latency.read(section));
    });

}  // namespace

Registry<RemoteMemoryMaker>& remote_memories() {
  static Registry<RemoteMemoryMaker> registry("remote memory");
  return registry;
}

const config::NameKey& remote_kind_key() {
  static const config::NameKey key{"remote_memory.kind", [] { return remote_memories().names(); },
                                   "", "memory of servers and pools"};
  return key;
}

std::unique_ptr<RemoteMemory> read_remote_memory(config::Section section) {
  if (section.keys().empty()) {
    return nullptr;
  }
  const std::string kind = remote_kind_key().read(section);
  return remote_memories().contains(kind) ? remote_memories().at(kind)(section) : nullptr;
}

// Stage s (from 1) has chunk s - i on link i, for those that are: at its begin only the first
// links, at its end only the last.
SimTime pipelined_time(std::span<const SimTime> links, std::uint64_t chunks) {
  ensure(chunks > 0 && !links.empty(), "a pipeline with something in it");
  const auto count = static_cast<std::uint64_t>(links.size());
  const auto slowest = [&](std::uint64_t first, std::uint64_t last) {
    return *std::max_element(links.begin() + static_cast<std::ptrdiff_t>(first),
                             links.begin() + static_cast<std::ptrdiff_t>(last) + 1);
  };
  SimTime time;
  const std::uint64_t stages = chunks + count - 1;
  // Stages in which every link has a chunk are alike: all but so many at both ends.
  const std::uint64_t full = chunks >= count ? chunks - count + 1 : 0;
  for (std::uint64_t stage = 0; stage < stages; ++stage) {
    if (full > 0 && stage == count - 1) {
      time += slowest(0, count - 1) * static_cast<std::int64_t>(full);
      stage += full - 1;
      continue;
    }
    const std::uint64_t first = stage >= chunks ? stage - chunks + 1 : 0;
    time += slowest(first, std::min(stage, count - 1));
  }
  return time;
}

}  // namespace tessera::memory
