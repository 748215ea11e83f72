// Synthetic traffic: messages of one size, sent at random by every node that computes, to draw how
// long a network takes at which load.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "tessera/config/document.hpp"
#include "tessera/core/random.hpp"
#include "tessera/core/registry.hpp"
#include "tessera/machine/topology/topology.hpp"
#include "tessera/pdes/component.hpp"
#include "tessera/pdes/engine.hpp"

namespace tessera::network {

// Where a message goes. Nodes that compute are numbered 0 … nodes-1, in the machine's order.
class TrafficPattern {
 public:
  virtual ~TrafficPattern() = default;
  virtual std::uint32_t target(std::uint32_t source, RandomStream& random) const = 0;
  // Whether all messages of a node go to the same one, whatever is drawn.
  virtual bool is_fixed() const { return false; }
};

// The nodes that send. Where they are no grid rows and columns are 0.
struct TrafficNodes {
  std::uint32_t nodes = 0;
  std::uint32_t rows = 0;
  std::uint32_t columns = 0;
};

// Patterns by name (W. Dally, B. Towles, "Principles and Practices of Interconnection Networks",
// 2004, table 3.1):
//   uniform         any node alike, the own one too
//   bit-complement  node i to nodes - 1 - i
//   transpose       (row, column) to (column, row); square grids
//   tornado         nearly half way round each dimension: ceil(k / 2) - 1; grids
//   neighbour       one further in each dimension, the last to the first; grids
//   hotspot         {spots: [0], share: 0.1}: this share to these nodes, the rest uniform
// A maker reads the traffic section.
using PatternMaker =
    std::function<std::unique_ptr<TrafficPattern>(config::Section&, const TrafficNodes&)>;
Registry<PatternMaker>& traffic_patterns();

// Of one node.
struct InjectionState {
  std::uint64_t draws = 0;        // index of its random stream
  std::uint64_t cycles_left = 0;  // of the burst under way
};

// When messages are sent.
class InjectionProcess {
 public:
  virtual ~InjectionProcess() = default;
  // Cycles to let pass before the one of the next message; `first`: there was none before. Where
  // they are more than `most`, any such number will do, and nothing is asked for after it.
  virtual std::uint64_t gap(InjectionState& state, RandomStream& random, bool first,
                            std::uint64_t most) const = 0;
};

// Processes by name:
//   bernoulli  in each cycle with the same probability
//   on-off     {burst: mean cycles of a burst, on: share of the time}: bursts in which each cycle
//              has the same probability, so that the mean is the rate; a two-state Markov process
// A maker reads the traffic section; `rate` is messages a node and cycle, 0 < rate <= 1.
using ProcessMaker =
    std::function<std::unique_ptr<InjectionProcess>(config::Section&, double rate)>;
Registry<ProcessMaker>& injection_processes();

// A message of synthetic traffic: when it is sent, and to which of the nodes.
struct TrafficMessage {
  std::uint64_t cycle = 0;
  std::uint32_t target = 0;
};

// What nodes send, drawn one after the other from a random stream of each.
struct TrafficStream {
  const TrafficPattern& pattern;
  const InjectionProcess& process;
  std::uint64_t seed = 0;

  // The next message of the entity `node`, which has this number among the nodes: in the cycle
  // `from` at the earliest. `from` is 0 for the first one, and for no other.
  // Where it is in `until` or later, only that is known, and nothing of those after it.
  TrafficMessage next(EntityId node, std::uint32_t number, InjectionState& state,
                      std::uint64_t from, std::uint64_t until = ~std::uint64_t{0}) const;
};

// What was counted; sums over ranks are those of all. Times in picoseconds.
struct TrafficCounts {
  std::uint64_t sent = 0;         // messages since the counts were cleared
  std::uint64_t come = 0;         // as many that arrived
  std::uint64_t measured = 0;     // of the messages to measure, those that arrived
  std::uint64_t latency_ps = 0;   // their sum
  std::uint64_t to_measure = 0;   // messages to measure that were sent
  std::uint64_t waiting = 0;      // messages that have not arrived, over the whole run
  std::uint64_t send_cycles = 0;  // sum of the cycles in which those were sent
  std::uint64_t least_ps = ~std::uint64_t{0};
  std::uint64_t most_ps = 0;
};

struct TrafficSetup {
  const machine::Topology& topology;
  std::span<const EntityId> members;  // of this rank, as the network's
  std::uint64_t seed = 0;
  SimTime cycle;  // messages are sent at its multiples
  Bytes message;
  unsigned slot = 0;
  unsigned network_slot = 0;
};

// Sends and receives; a component of the engine. Not checkpointed.
class TrafficSource final : public pdes::Component {
 public:
  TrafficSource(const TrafficSetup& setup, const TrafficPattern& pattern,
                const InjectionProcess& process);

  void start(pdes::Context& context) override;
  void handle(pdes::Context& context, const pdes::Event& event) override;
  std::size_t resident_bytes() const override;

  const TrafficCounts& counts() const { return counts_; }
  // At a pause: counts from here on.
  void clear();
  // At a pause: messages sent from here on, in the cycles of [from, until), are measured.
  void measure(std::uint64_t from, std::uint64_t until);
  // At a pause: nothing is sent from here on.
  void stop() { stopped_ = true; }
  // Messages over the whole run, whatever was cleared.
  std::uint64_t sent_in_all() const { return sent_in_all_; }
  std::uint64_t come_in_all() const { return come_in_all_; }

 private:
  void plan(pdes::Context& context, std::uint64_t from);
  bool is_measured(std::uint64_t cycle) const { return cycle >= from_ && cycle < until_; }

  TrafficSetup setup_;
  TrafficStream stream_;
  machine::NodeOrder nodes_;              // that compute, of the machine
  std::vector<std::uint32_t> number_of_;  // by index of this rank: number among these
  std::vector<InjectionState> states_;
  TrafficCounts counts_;
  std::uint64_t from_ = 0;
  std::uint64_t until_ = ~std::uint64_t{0};
  std::uint64_t sent_in_all_ = 0;
  std::uint64_t come_in_all_ = 0;
  bool stopped_ = false;
};

}  // namespace tessera::network
