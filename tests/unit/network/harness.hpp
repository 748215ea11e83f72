// Runs messages over a network described in YAML, and notes what arrives.
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "../kept_run.hpp"
#include "tessera/comm/communicator.hpp"
#include "tessera/machine/machine.hpp"
#include "tessera/machine/partition/partition.hpp"
#include "tessera/network/messages.hpp"
#include "tessera/network/network.hpp"
#include "tessera/pdes/engine.hpp"

namespace tessera::network::testing {

// A machine and its network, from the text of a machine file.
struct Described {
  machine::Machine machine;
  std::unique_ptr<NetworkModel> network;
};

// Throws ConfigError on any complaint.
inline Described described(const std::string& text) {
  config::Diagnostics diagnostics;
  config::Section section(config::parse("m.yaml", text, diagnostics), "", diagnostics);
  std::optional<machine::Machine> machine = machine::read_machine(section);
  diagnostics.throw_if_any();
  Described result{*std::move(machine), nullptr};
  result.network = read_network(section.section("network"), result.machine);
  section.finish();
  diagnostics.throw_if_any();
  return result;
}

struct Send {
  std::int64_t at_ps = 0;
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::uint64_t bytes = 0;
  std::uint16_t tag = 0;
  std::uint64_t limit = 0;  // [B/s]; 0: none
  std::uint8_t flags = 0;   // of network::send
};

struct Arrived {
  std::int64_t at_ps = 0;
  std::uint32_t at = 0;
  std::uint32_t from = 0;
  std::uint16_t tag = 0;
  std::uint64_t word = 0;
  auto key() const { return std::tuple(at_ps, at, from, tag, word); }
  friend bool operator==(const Arrived& a, const Arrived& b) { return a.key() == b.key(); }
  friend bool operator<(const Arrived& a, const Arrived& b) { return a.key() < b.key(); }
};

// Use of one link: node, port, begin, end, bytes, busy.
struct Use {
  std::uint32_t node = 0;
  unsigned port = 0;
  std::int64_t begin_ps = 0;
  std::int64_t end_ps = 0;
  std::uint64_t bytes = 0;
  std::int64_t busy_ps = 0;
  std::uint64_t queue = 0;
  auto key() const { return std::tuple(node, port, begin_ps, end_ps, bytes, busy_ps, queue); }
  friend bool operator==(const Use& a, const Use& b) { return a.key() == b.key(); }
  friend bool operator<(const Use& a, const Use& b) { return a.key() < b.key(); }
};

struct Traffic {
  std::vector<Arrived> arrivals;  // each node's in its own order, nodes one after the other
  std::vector<Use> totals;
  std::vector<Use> bins;
  std::uint64_t hops = 0;
  std::uint64_t messages = 0;
  Rounded rounded;
  Truncated truncated;
  std::uint64_t events = 0;
  std::int64_t end_ps = 0;
};

// Sends what it was told to and notes arrivals.
class Driver final : public pdes::Component {
 public:
  static constexpr unsigned slot = 0;
  static constexpr unsigned network_slot = 1;
  Driver(const std::vector<Send>& sends, std::span<const EntityId> members)
      : sends_(sends), members_(members) {}

  void start(pdes::Context& context) override {
    for (std::uint32_t i = 0; i < sends_.size(); ++i) {
      if (sends_[i].from == context.self().value()) {
        context.send_self(SimTime::from_ps(sends_[i].at_ps), pdes::Port(slot, 0), i);
      }
    }
  }
  void handle(pdes::Context& context, const pdes::Event& event) override {
    if (event.port.kind() == 0) {
      const auto number = event.as<std::uint32_t>();
      const Send& send = sends_[number];
      SendRequest request{EntityId(send.to), pdes::Port(slot, 1), {}, send.bytes, number};
      if (send.limit > 0) {
        request.limit = RateLimit(Bandwidth::bytes_per_second(send.limit));
      }
      context.send_self(SimTime::zero(), pdes::Port(network_slot, send_kind), request, send.tag,
                        send.flags);
      return;
    }
    const auto arrival = event.as<Arrival>();
    arrivals.push_back({context.now().ps(), context.self().value(), arrival.source.value(),
                        event.tag, arrival.word});
  }
  void save(std::uint32_t index, pdes::StateWriter& writer) const override {
    std::vector<Arrived> here;
    for (const Arrived& arrived : arrivals) {
      if (arrived.at == members_[index].value()) {
        here.push_back(arrived);
      }
    }
    writer.put_all(here);
  }
  void restore(std::uint32_t /*index*/, pdes::StateReader& reader) override {
    const std::vector<Arrived> here = reader.get_all<Arrived>();
    arrivals.insert(arrivals.end(), here.begin(), here.end());
  }
  std::vector<Arrived> arrivals;

 private:
  const std::vector<Send>& sends_;
  std::span<const EntityId> members_;
};

struct RunSettings {
  int ranks = 1;
  std::string partitioner = "stripes";
  std::int64_t bin_ps = 0;                  // 0: no bins
  bool learns = false;                      // the network, who sends to whom
  std::vector<std::uint32_t> tenants = {};  // [nodes]; empty: none
};

// A run at its first cut.
struct Cut {
  std::int64_t at_ps = 0;
  tessera::testing::KeptRun run;
  std::vector<Use> bins;  // told before
  SimTime time() const { return SimTime::from_ps(at_ps); }
};

// Between regions, of a network that may send from anywhere to anywhere.
inline RegionDelays delays_of(const Described& described, const machine::Partition& partition,
                              int rank) {
  RegionDelays delays = machine::region_delays(*described.machine.topology, partition, rank);
  if (const auto reach = described.network->reach(described.machine)) {
    delays.connect_all(static_cast<std::size_t>(rank), reach);
  }
  return delays;
}

// With `kept` the run is kept at the cut that it names; with `from` it goes on from one.
inline Traffic carry(const Described& described, const std::vector<Send>& sends,
                     const RunSettings& settings = {}, Cut* kept = nullptr,
                     const Cut* from = nullptr) {
  Traffic traffic;
  std::mutex mutex;
  const machine::Topology& topology = *described.machine.topology;
  const machine::Partition partition =
      machine::partitioners().at(settings.partitioner)(topology, settings.ranks, {});
  const SimTime lookahead =
      std::min(topology.smallest_latency(),
               described.network->reach(described.machine).value_or(SimTime::never()));
  comm::run_ranks_as_threads(settings.ranks, [&](comm::Communicator& communicator) {
    const std::vector<EntityId> members =
        partition.members[static_cast<std::size_t>(communicator.rank())].listed();
    pdes::Engine engine(
        communicator,
        {partition.owner.listed(), members, delays_of(described, partition, communicator.rank())},
        lookahead);
    Driver driver(sends, members);
    const std::unique_ptr<Network> network = described.network->build(
        {described.machine, members, Driver::network_slot, nullptr, settings.tenants});
    if (settings.learns) {
      network->learn_routes([&sends](const auto& visit) {
        for (const Send& send : sends) {
          visit(EntityId(send.from), EntityId(send.to));
        }
      });
    }
    engine.attach(driver);
    engine.attach(*network);
    std::vector<Use> bins;
    std::vector<Use> totals;
    const auto noted_in = [](std::vector<Use>& uses) {
      return [&uses](const LinkUse& use) {
        uses.push_back({use.node.value(), use.port, use.begin.ps(), use.end.ps(), use.bytes.count(),
                        use.busy.ps(), use.largest_queue.count()});
      };
    };
    if (settings.bin_ps > 0) {
      engine.set_boundaries(SimTime::from_ps(settings.bin_ps), 1000);
      network->report_bins(noted_in(bins));
    }
    tessera::testing::run_over_a_pause(engine, communicator.rank() == 0, kept, from, [&] {
      const std::scoped_lock lock(mutex);
      kept->bins.insert(kept->bins.end(), bins.begin(), bins.end());
    });
    std::vector<std::uint64_t> last{
        static_cast<std::uint64_t>(engine.last_event_time().ps()),
        static_cast<std::uint64_t>(
            std::max(engine.last_handled_time(), network->busy_until()).ps())};
    communicator.reduce_max(last);
    const SimTime end = SimTime::from_ps(static_cast<std::int64_t>(last[0]));
    const SimTime handled = SimTime::from_ps(static_cast<std::int64_t>(last[1]));
    engine.finish_boundaries(handled);
    network->pass_boundary(handled);
    network->visit_links(end, noted_in(totals));
    const std::scoped_lock lock(mutex);
    traffic.bins.insert(traffic.bins.end(), bins.begin(), bins.end());
    traffic.totals.insert(traffic.totals.end(), totals.begin(), totals.end());
    traffic.arrivals.insert(traffic.arrivals.end(), driver.arrivals.begin(), driver.arrivals.end());
    traffic.hops += network->packet_hops();
    traffic.messages += network->messages();
    traffic.rounded.asked += network->rounded().asked;
    traffic.rounded.carried += network->rounded().carried;
    traffic.truncated.time_ps += network->truncated().time_ps;
    traffic.truncated.dropped_ps += network->truncated().dropped_ps;
    traffic.events += engine.statistics().events;
    traffic.end_ps = end.ps();
  });
  if (from != nullptr) {
    traffic.bins.insert(traffic.bins.end(), from->bins.begin(), from->bins.end());
  }
  std::stable_sort(traffic.arrivals.begin(), traffic.arrivals.end(),
                   [](const Arrived& a, const Arrived& b) { return a.at < b.at; });
  std::sort(traffic.totals.begin(), traffic.totals.end());
  std::sort(traffic.bins.begin(), traffic.bins.end());
  return traffic;
}

// A topology as a flow mapping and the keys of the network.
inline Described network_of(const std::string& topology, const std::string& network = "") {
  return described("topology: " + topology + "\nnetwork: {" + network + "}\n");
}

inline std::string mesh(int rows, int columns, const std::string& bandwidth = "10 GB/s",
                        const std::string& latency = "2 ns", const std::string& kind = "mesh") {
  return "{kind: " + kind + ", rows: " + std::to_string(rows) +
         ", columns: " + std::to_string(columns) + ", bandwidth: " + bandwidth +
         ", latency: " + latency + "}";
}

// A chain of nodes n[0], n[1], … whose links have these rates; 2 ns each.
inline std::string chain(const std::vector<std::string>& bandwidths) {
  std::string text =
      "{kind: graph, nodes: [{name: n, count: " + std::to_string(bandwidths.size() + 1) +
      "}], links: [";
  for (std::size_t i = 0; i < bandwidths.size(); ++i) {
    text += (i == 0 ? "" : ", ") + ("{from: \"n[" + std::to_string(i)) + "]\", to: \"n[" +
            std::to_string(i + 1) + "]\", bandwidth: " + bandwidths[i] + ", latency: 2 ns}";
  }
  return text + "]}";
}

}  // namespace tessera::network::testing
