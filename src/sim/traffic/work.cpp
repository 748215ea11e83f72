// Work that is synthetic traffic.
#include <algorithm>
#include <cmath>
#include <memory>

#include "cuts/predicted_events.hpp"
#include "notes/library_note.hpp"
#include "notes/through_host_note.hpp"
#include "run/known_pairs.hpp"
#include "tessera/machine/routing/routing.hpp"
#include "tessera/sim/work.hpp"
#include "traffic/job.hpp"
#include "traffic/waiting.hpp"

namespace tessera::sim {
namespace {

// Messages that predictions draw, of all tiles together, and pairs that are told.
constexpr std::uint64_t most_drawn = 1U << 20U;
constexpr std::uint64_t most_pairs = 1U << 20U;
constexpr std::size_t most_looked_at = 256;     // tiles, for what is under way
constexpr std::size_t most_routed = 1U << 15U;  // messages, for what waits
constexpr double bytes_under_way = 128;  // of a message: its event, and a packet's (measured)
constexpr double bytes_waiting = 64;     // of one that waits at its tile (measured)
// Of each packet of either beside the first: most are far ahead, where tables grow by doubling.
constexpr double bytes_a_packet = 96;
constexpr double most_cycles_drawn = 1U << 30U;  // by predictions, of all tiles together
constexpr std::uint64_t most_kinds = 8;  // of messages of a tile, for events that are pending

class TrafficsWork final : public Work {
 public:
  TrafficsWork(const Platform& platform, const TrafficJob& job, const TrafficWork& traffic)
      : platform_(platform),
        job_(job),
        traffic_(traffic),
        bernoulli_(bernoulli(traffic.rate / static_cast<double>(traffic.message_flits))) {}

  std::uint64_t tiles() const override { return traffic_.tiles.size(); }
  std::vector<EntityId> nodes() const override { return traffic_.tiles; }
  std::uint32_t iterations() const override { return job_.iterations; }
  std::uint64_t instructions() const override { return traffic_.tiles.size() * traffic_.cycles; }
  double peak_flops_per_s() const override {
    return sum_of_peaks(platform_, traffic_.tiles, DataType::fp16);
  }
  std::uint64_t samples() const override { return 1; }
  double flops_of_sample() const override { return 0; }

  std::vector<executor::Activity> activities() const override {
    return {executor::Activity::message, executor::Activity::bubble};
  }
  std::vector<std::string> notes() const override {
    std::vector<std::string> notes{
        "synthetic traffic: tiles send whether or not messages are waiting, and queues at tiles "
        "are unbounded; all messages are measured from the first on, without a warm-up"};
    note_unused_collectives_of(*platform_.network, "synthetic traffic", notes);
    note_unused_way_of(platform_.machine, "synthetic traffic", notes);
    return notes;
  }
  std::vector<std::string> phases() const override { return {"traffic"}; }
  std::vector<Part> parts() const override { return {{"all", tiles()}}; }
  std::size_t part_of(std::uint32_t) const override { return 0; }
  const std::vector<std::string>& names() const override { return names_; }
  std::vector<EntityId> samples_of_parts() const override { return {traffic_.tiles.front()}; }
  void describe(EntityId node, trace::NodeRow& row) const override {
    if (platform_.machine.topology->computes(node)) {
      row.stage = 0;
    }
  }

  // With the times of messages, as many as are kept one by one: in a table that grows by doubling,
  // and in the end in that of all ranks and in one that is sorted.
  std::size_t shared_bytes() const override {
    const auto kept = static_cast<std::size_t>(std::min<double>(messages(), most_drawn));
    return traffic_.tiles.size() * sizeof(EntityId) + 4 * kept * sizeof(std::uint64_t);
  }
  // With the messages of a tile that are under way, by Little's law where none waits; links that
  // are offered more than they carry leave more and more waiting.
  std::size_t bytes_a_tile() const override {
    const double of_tile = messages() / static_cast<double>(traffic_.tiles.size());
    const double part = idle_time().seconds() / traffic_.time_of(traffic_.cycles).seconds();
    const double packets = (events_of_message() - 1) * bytes_a_packet;
    const double bytes = std::max(std::min(1.0, part) * (bytes_under_way + packets),
                                  share_that_waits() * (bytes_waiting + packets));
    return traffic_bytes_a_tile() + static_cast<std::size_t>(std::ceil(of_tile * bytes));
  }
  void visit_messages(const MessageVisit& visit) const override {
    const double made_s = traffic_.time_of(traffic_.cycles).seconds();
    draw(most_kinds, 1, [&](EntityId from, EntityId to, std::uint64_t) {
      visit({.from = from, .to = to, .bytes = traffic_.message(), .made_s = made_s});
    });
  }
  std::size_t compute_bytes(std::uint64_t nodes) const override {
    return platform_.compute->predicted_bytes(nodes);
  }
  std::optional<Accessed> accessed() const override { return Accessed{}; }
  Wide operand_bytes() const override { return 0; }
  // Exact where few enough are sent that all can be drawn.
  SparseCounts predicted_events() const override {
    PredictedEvents events(platform_, predicted_traffic(platform_, *this));
    const std::uint64_t of_tile = std::max<std::uint64_t>(1, most_drawn / traffic_.tiles.size());
    draw(of_tile, 1, [&](EntityId from, EntityId to, std::uint64_t count) {
      events.add(from, count);  // it is due
      events.message(from, to, traffic_.message(), count);
    });
    return events.take();
  }
  std::unique_ptr<compute::Compute> make_compute(std::span<const EntityId> members) const override {
    return make_model_cores(platform_, {}, members);  // nothing is computed
  }
  bool tells_when_cores_begin() const override { return true; }  // never
  std::unique_ptr<executor::Executor> make_executor(
      std::span<const EntityId> members, executor::Observer* observer,
      const executor::OutlookSetup& outlook) const override {
    return make_traffic_executor({traffic_, members, platform_.lookahead, observer, outlook});
  }
  bool knows_pairs() const override {
    return traffic_.pattern->is_fixed() ||
           traffic_.tiles.size() * traffic_.tiles.size() <= most_pairs;
  }
  void visit_pairs(const std::function<void(EntityId, EntityId)>& visit) const override {
    RandomStream unused(0, EntityId(0), 0);
    for (std::uint32_t number = 0; number < traffic_.tiles.size(); ++number) {
      const EntityId from = traffic_.tiles[number];
      if (traffic_.pattern->is_fixed()) {
        visit(from, traffic_.tiles[traffic_.pattern->target(number, unused)]);
        continue;
      }
      for (const EntityId to : traffic_.tiles) {
        visit(from, to);
      }
    }
  }

 private:
  // About so many in all.
  double messages() const {
    return traffic_.rate / static_cast<double>(traffic_.message_flits) *
           static_cast<double>(traffic_.cycles) * static_cast<double>(traffic_.tiles.size());
  }

  static std::unique_ptr<network::InjectionProcess> bernoulli(double rate) {
    config::Diagnostics diagnostics;
    config::Section nothing(config::Value{}, "", diagnostics);
    return network::injection_processes().at("bernoulli")(nothing, rate);
  }

  // For so many messages of each of so many tiles. Other processes are gone through burst by burst,
  // those between rare messages as well: where they would be too many, messages come at the same
  // rate without them.
  network::TrafficStream stream(std::uint64_t messages, std::size_t tiles) const {
    const double gap = static_cast<double>(traffic_.message_flits) / traffic_.rate;
    const double cycles =
        std::min(static_cast<double>(traffic_.cycles), static_cast<double>(messages) * gap);
    network::TrafficStream stream = traffic_.stream();
    return cycles * static_cast<double>(tiles) <= most_cycles_drawn
               ? stream
               : network::TrafficStream{stream.pattern, *bernoulli_, stream.seed};
  }

  // Of a message on an idle machine, mean over the first ones of some tiles.
  SimTime idle_time() const {
    const machine::Topology& topology = *platform_.machine.topology;
    const auto routing = machine::make_routing(platform_.network->routing(), topology);
    const auto step = static_cast<std::uint32_t>(traffic_.tiles.size() / most_looked_at + 1);
    const network::TrafficStream stream = this->stream(1, traffic_.tiles.size() / step);
    SimTime sum;
    std::int64_t count = 0;
    for (std::uint32_t number = 0; number < traffic_.tiles.size(); number += step) {
      network::InjectionState state;
      const EntityId from = traffic_.tiles[number];
      const EntityId to =
          traffic_.tiles[stream.next(from, number, state, 0, traffic_.cycles).target];
      sum += platform_.network->idle_time(machine::path_between(topology, *routing, from, to),
                                          traffic_.message());
      ++count;
    }
    return SimTime::from_ps(sum.ps() / count);
  }

  // That are pending of one, mean over the first ones of some tiles.
  double events_of_message() const {
    if (!platform_.network->cuts_messages()) {
      return 1;
    }
    const auto step = static_cast<std::uint32_t>(traffic_.tiles.size() / most_looked_at + 1);
    double sum = 0;
    double count = 0;
    draw(most_kinds, step, [&](EntityId from, EntityId to, std::uint64_t) {
      sum += static_cast<double>(
          platform_.network->events_of_message(platform_.machine, from, to, traffic_.message()));
      ++count;
    });
    return count > 0 ? std::max(1.0, sum / count) : 1;
  }

  // Of networks whose messages wait at links, by messages of some tiles.
  double share_that_waits() const {
    if (!platform_.network->sends_along_links()) {
      return 0;
    }
    const machine::Topology& topology = *platform_.machine.topology;
    const auto routing = machine::make_routing(platform_.network->routing(), topology);
    const std::size_t tiles = traffic_.tiles.size();
    const auto step = static_cast<std::uint32_t>(tiles / most_routed + 1);
    OfferedLoad load(topology, *routing);
    draw(most_routed * step / tiles + 1, step,
         [&](EntityId from, EntityId to, std::uint64_t count) {
           load.message(from, to, traffic_.message(), static_cast<double>(count) * step);
         });
    return load.share_that_waits(traffic_.time_of(traffic_.cycles));
  }

  // The first messages of each `step`th tile, `most` at most; `visit` hears how many each of them
  // stands for.
  template <class Visit>
  void draw(std::uint64_t most, std::uint32_t step, Visit visit) const {
    const network::TrafficStream stream = this->stream(most, traffic_.tiles.size());
    std::vector<std::uint32_t> targets;
    for (std::uint32_t number = 0; number < traffic_.tiles.size(); number += step) {
      const EntityId from = traffic_.tiles[number];
      network::InjectionState state;
      targets.clear();
      std::uint64_t passed = 0;
      while (targets.size() < most && passed < traffic_.cycles) {
        const network::TrafficMessage message =
            stream.next(from, number, state, passed, traffic_.cycles);
        passed = std::min(message.cycle + 1, traffic_.cycles);
        if (message.cycle < traffic_.cycles) {
          targets.push_back(message.target);
        }
      }
      const auto all = static_cast<std::uint64_t>(
          std::llround(static_cast<double>(targets.size()) * static_cast<double>(traffic_.cycles) /
                       static_cast<double>(passed)));
      for (std::size_t place = 0; place < targets.size(); ++place) {
        const std::uint64_t more = place < all % targets.size() ? 1 : 0;
        visit(from, traffic_.tiles[targets[place]], all / targets.size() + more);
      }
    }
  }

  const Platform& platform_;
  const TrafficJob& job_;
  const TrafficWork& traffic_;
  std::unique_ptr<network::InjectionProcess> bernoulli_;
  std::vector<std::string> names_;  // none
};

}  // namespace

std::unique_ptr<Work> TrafficJob::work(const Platform& platform) const {
  return std::make_unique<TrafficsWork>(platform, *this, traffic_);
}

}  // namespace tessera::sim
