#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <optional>
#include <utility>

#include "notes/crowded_link.hpp"
#include "notes/truncated_note.hpp"
#include "notes/unshared_note.hpp"
#include "results/conservation.hpp"
#include "tessera/machine/partition/partition.hpp"
#include "tessera/pdes/engine.hpp"
#include "tessera/sim/traffic/traffic.hpp"

namespace tessera::sim {
namespace {

constexpr unsigned source_place = 0;
constexpr unsigned network_place = 1;
constexpr std::uint64_t drain_cycles = 64;      // between two looks whether all has come
constexpr std::int64_t patience_cycles = 1000;  // between two looks at those that have not

// Counts of all ranks.
network::TrafficCounts sum_of(const network::TrafficCounts& own, comm::Communicator& communicator) {
  std::array<std::uint64_t, 7> sums{own.sent,       own.come,    own.measured,   own.latency_ps,
                                    own.to_measure, own.waiting, own.send_cycles};
  communicator.reduce_sum(sums);
  std::array<std::uint64_t, 2> extremes{~own.least_ps, own.most_ps};
  communicator.reduce_max(extremes);
  return {sums[0], sums[1], sums[2], sums[3], sums[4], sums[5], sums[6], ~extremes[0], extremes[1]};
}

// Decides at each pause how the run goes on; all ranks decide alike.
class PointRun {
 public:
  PointRun(const TrafficExperiment& experiment, pdes::Engine& engine,
           network::TrafficSource& source, const network::Network& network,
           comm::Communicator& communicator, double rate)
      : experiment_(experiment),
        phases_(experiment.phases),
        engine_(engine),
        source_(source),
        network_(network),
        communicator_(communicator) {
    point_.rate = rate;
    engine_.set_pauses(experiment_.cycle * static_cast<std::int64_t>(phases_.sample_cycles));
    for (const machine::LinkClass& links : experiment.machine.topology->link_classes()) {
      longest_hop_ = std::max(
          longest_hop_,
          links.latency + serialization_time(experiment.network->flit_size(), links.bandwidth));
    }
  }

  void at_pause(SimTime pause) {
    if (done_) {
      return;
    }
    pause_ = pause;
    counts_ = sum_of(source_.counts(), communicator_);
    if (closing_) {
      close();
    } else if (draining_) {
      drain();
    } else {
      end_sample();
    }
  }

  // No event is left on any rank: all has come, or never will.
  void end() {
    if (closing_ && !done_) {
      std::array<std::uint64_t, 2> sums{source_.sent_in_all(), source_.come_in_all()};
      communicator_.reduce_sum(sums);
      all_came_ = sums[0] == sums[1];
      point_.status = all_came_ ? point_.status : "deadlock";
      done_ = true;
    }
  }

  bool done() const { return done_; }
  trace::TrafficPoint result() const { return point_; }
  // How much later a message would have come at most: see network::Network.
  SimTime longest_unshared() const { return unshared_; }
  const std::optional<CrowdedLink>& crowded() const { return crowded_; }
  // That nothing was lost or made up: all that was sent has come where the run waited for it, and
  // else no more of it than was delivered.
  void check() const {
    check_traffic({source_.sent_in_all(), source_.come_in_all(), all_came_,
                   experiment_.flit * experiment_.message_flits, experiment_.network->flit_size()},
                  network_.carried(), communicator_);
  }

 private:
  double cycles(SimTime time) const {
    return static_cast<double>(time.ps()) / static_cast<double>(experiment_.cycle.ps());
  }
  std::uint64_t cycle_of(SimTime time) const {
    const std::int64_t cycle = experiment_.cycle.ps();
    return static_cast<std::uint64_t>((time.ps() + cycle - 1) / cycle);
  }
  double latency_sum() const {
    return static_cast<double>(counts_.latency_ps) / static_cast<double>(experiment_.cycle.ps());
  }
  // With the time that those have waited that have not come.
  double latency_so_far() const {
    const double waited = cycles(pause_) * static_cast<double>(counts_.waiting) -
                          static_cast<double>(counts_.send_cycles);
    const auto messages = static_cast<double>(counts_.measured + counts_.waiting);
    return messages > 0 ? (latency_sum() + waited) / messages : 0;
  }
  double rate_of(std::uint64_t messages) const {
    return static_cast<double>(messages * experiment_.message_flits) /
           (cycles(pause_ - cleared_) * experiment_.machine.topology->computing_nodes());
  }

  // Whether links that messages do not wait for were asked for more than they carry. On all ranks.
  bool asks_too_much() {
    crowded_ = crowded_link(network_, *experiment_.machine.topology, communicator_);
    std::array<std::uint64_t, 1> unshared{
        static_cast<std::uint64_t>(network_.longest_unshared().ps())};
    communicator_.reduce_max(unshared);
    unshared_ = SimTime::from_ps(static_cast<std::int64_t>(unshared[0]));
    return cycles(unshared_) > phases_.latency_limit || (crowded_ && crowded_->load() > 1);
  }

  // Whether nothing has moved for long, on any rank, though something may have to wait for ever. A
  // message that is long on its way moves. Keeps account of it: to be asked at each look.
  bool stands_still() {
    if (!experiment_.network->may_block()) {
      return false;
    }
    std::array<std::uint64_t, 1> hops{network_.packet_hops()};
    communicator_.reduce_sum(hops);
    if (std::exchange(hops_before_, hops[0]) != hops[0]) {
      moved_ = pause_;
    }
    return pause_ - moved_ > longest_hop_ + experiment_.cycle * patience_cycles;
  }

  void finish(const std::string& status) {
    point_.status = asks_too_much() && status == "steady"
                        ? phases_.throughput ? "overload" : "unstable"
                        : status;
    point_.cycles = cycle_of(pause_);
    point_.measured = counts_.measured;
    if (counts_.measured > 0) {
      point_.latency = latency_sum() / static_cast<double>(counts_.measured);
      point_.latency_least = cycles(SimTime::from_ps(static_cast<std::int64_t>(counts_.least_ps)));
      point_.latency_most = cycles(SimTime::from_ps(static_cast<std::int64_t>(counts_.most_ps)));
    }
    std::array<std::uint64_t, 2> sums{network_.packet_hops(), engine_.statistics().events};
    communicator_.reduce_sum(sums);
    point_.hops = sums[0];
    point_.events = sums[1];
    done_ = true;
  }

  // Nothing more is sent, and all that is under way comes, so that sums must come out even.
  void begin_closing() {
    finish(status_);
    done_ = false;
    closing_ = true;
    source_.stop();
    close();
  }

  void close() {
    const bool is_stuck = stands_still();
    if (counts_.waiting == 0) {
      all_came_ = true;
      done_ = true;
    } else if (is_stuck && latency_so_far() > phases_.latency_limit) {
      finish("deadlock");
    }
  }

  void note_rates() {
    point_.sent_rate = rate_of(counts_.sent);
    point_.accepted_rate = rate_of(counts_.come);
  }

  void clear() {
    source_.clear();
    cleared_ = pause_;
  }

  bool alike() {
    const double latency =
        counts_.measured > 0 ? latency_sum() / static_cast<double>(counts_.measured) : 0;
    const double accepted = point_.accepted_rate;
    const auto small = [&](double now, double before) {
      return now > 0 && std::abs(now - before) < phases_.threshold * now;
    };
    const bool result = small(accepted, accepted_before_) &&
                        (phases_.throughput || small(latency, latency_before_));
    latency_before_ = latency;
    accepted_before_ = accepted;
    return result;
  }

  // Of what was drawn since the counts were cleared, whose rate differs from the one that was asked
  // for by chance. What is under way differs by chance too: as much as Poisson's counts of it at
  // both ends, the waiting of bursts aside.
  bool takes_all() const {
    const auto sent = static_cast<double>(counts_.sent);
    const double more = sent - static_cast<double>(counts_.come);  // under way than before
    const double at_both_ends = 2 * static_cast<double>(counts_.waiting) - more;
    constexpr double deviations = 4;
    return more <=
           std::max(phases_.threshold * sent, deviations * std::sqrt(std::max(0.0, at_both_ends)));
  }

  void end_sample() {
    ++samples_;
    note_rates();
    if (stands_still() && counts_.waiting > 0 && latency_so_far() > phases_.latency_limit) {
      finish("deadlock");
      return;
    }
    if (!phases_.throughput && latency_so_far() > phases_.latency_limit) {
      finish("unstable");
      return;
    }
    const bool same = alike();
    if (warming_up_) {
      const bool warm = phases_.warmup_samples > 0 ? samples_ >= phases_.warmup_samples : same;
      if (warm) {
        warming_up_ = false;
        clear();
        source_.measure(cycle_of(pause_), ~std::uint64_t{0});
      } else if (samples_ >= phases_.most_samples) {
        finish("not steady");
      } else if (samples_ % 2 == 0) {
        clear();
      }
      return;
    }
    alike_ = same ? alike_ + 1 : 0;
    if (alike_ < 3 && samples_ < phases_.most_samples) {
      return;
    }
    status_ = phases_.throughput && !takes_all() ? "overload"
              : alike_ >= 3                      ? "steady"
                                                 : "not steady";
    if (phases_.throughput) {
      finish(status_);
      return;
    }
    draining_ = true;
    drain_begin_ = pause_;
    looked_ = pause_;
    source_.measure(cycle_of(cleared_), cycle_of(pause_));
    engine_.set_pauses(experiment_.cycle * static_cast<std::int64_t>(drain_cycles));
    drain();
  }

  void drain() {
    if (counts_.measured == counts_.to_measure) {
      begin_closing();
    } else if (cycles(pause_ - looked_) >= static_cast<double>(patience_cycles)) {
      looked_ = pause_;
      if (latency_so_far() > phases_.latency_limit) {
        finish("unstable");
      }
    }
  }

  const TrafficExperiment& experiment_;
  const TrafficPhases& phases_;
  pdes::Engine& engine_;
  network::TrafficSource& source_;
  const network::Network& network_;
  comm::Communicator& communicator_;
  network::TrafficCounts counts_;
  trace::TrafficPoint point_;
  SimTime pause_;
  SimTime cleared_;
  SimTime drain_begin_;
  SimTime looked_;
  std::string status_;
  SimTime unshared_;
  std::optional<CrowdedLink> crowded_;
  std::uint32_t samples_ = 0;
  std::uint32_t alike_ = 0;
  std::uint64_t hops_before_ = 0;
  SimTime moved_;        // the last look that found hops since the one before
  SimTime longest_hop_;  // over an idle link
  double latency_before_ = 0;
  double accepted_before_ = 0;
  bool warming_up_ = true;
  bool draining_ = false;
  bool closing_ = false;
  bool all_came_ = false;
  bool done_ = false;
};

// Only the network sends, and never sooner than its least delay.
RegionDelays delays_of(const TrafficExperiment& experiment, const machine::Partition& partition,
                       int rank, SimTime lookahead) {
  RegionDelays delays = machine::region_delays(*experiment.machine.topology, partition, rank);
  const auto self = static_cast<std::size_t>(rank);
  if (const auto reach = experiment.network->reach(experiment.machine)) {
    delays.connect_all(self, reach);
  }
  for (std::vector<SimTime>* all : {&delays.to, &delays.from}) {
    for (std::size_t other = 0; other < all->size(); ++other) {
      (*all)[other] = std::max((*all)[other], lookahead * (other == self ? 2 : 1));
    }
  }
  return delays;
}

class Measurement {
 public:
  Measurement(const TrafficExperiment& experiment, comm::Communicator& communicator)
      : experiment_(experiment),
        communicator_(communicator),
        lookahead_(experiment.network->least_delay(experiment.machine)),
        partition_(machine::partitioners().at(experiment.partition)(*experiment.machine.topology,
                                                                    communicator.size(), {})),
        delays_(delays_of(experiment, partition_, communicator.rank(), lookahead_)) {}

  // False when the run was stopped before it was done.
  bool run(std::size_t number, const std::function<bool()>& stop_requested,
           trace::TrafficPoint& point, std::uint64_t& network_bytes) {
    const std::clock_t begin = std::clock();
    const std::vector<EntityId>& members =
        partition_.members[static_cast<std::size_t>(communicator_.rank())].spell_out();
    pdes::Engine engine(communicator_, {partition_.owner.listed(), members, delays_}, lookahead_);
    network::TrafficSource source(
        {*experiment_.machine.topology, members, experiment_.seed, experiment_.cycle,
         experiment_.flit * experiment_.message_flits, source_place, network_place},
        *experiment_.pattern, *experiment_.processes[number]);
    const auto network = experiment_.network->build({experiment_.machine, members, network_place});
    engine.attach(source);
    engine.attach(*network);
    PointRun run(experiment_, engine, source, *network, communicator_, experiment_.rates[number]);
    pdes::EngineHooks hooks;
    hooks.stop_requested = [&] { return run.done() || (stop_requested && stop_requested()); };
    hooks.on_pause = [&](SimTime pause) { run.at_pause(pause); };
    if (engine.run(hooks)) {
      run.end();
    }
    if (run.done()) {
      run.check();
    }
    point = run.result();
    point.rate = experiment_.rates[number];
    const double cpu_s = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    std::array<std::uint64_t, 2> sums{network->resident_bytes(),
                                      static_cast<std::uint64_t>(cpu_s * 1e6)};
    communicator_.reduce_sum(sums);
    longest_unshared_ = std::max(longest_unshared_, run.longest_unshared());
    if (run.crowded() && (crowded_note_.empty() || run.crowded()->load() > highest_load_)) {
      highest_load_ = run.crowded()->load();
      crowded_note_ = crowded_link_note(*network, *run.crowded());
    }
    if (truncation_.empty()) {
      truncation_ = truncated_note(*network, communicator_).value_or("");
    }
    network_bytes = sums[0];
    point.cpu_s = static_cast<double>(sums[1]) / 1e6;
    return run.done();
  }

  // Of all loads so far: see network::Network.
  SimTime longest_unshared() const { return longest_unshared_; }
  // Of the load that crowds a link most; empty: there is none.
  const std::string& inner_note() const { return crowded_note_; }
  // Of the first load of whose messages much time was left out; empty: there is none.
  const std::string& truncation() const { return truncation_; }

 private:
  const TrafficExperiment& experiment_;
  comm::Communicator& communicator_;
  SimTime lookahead_;
  SimTime longest_unshared_;
  std::string crowded_note_;
  std::string truncation_;
  double highest_load_ = 0;
  machine::Partition partition_;
  RegionDelays delays_;
};

}  // namespace

trace::TrafficReport measure_traffic(
    const TrafficExperiment& experiment, comm::Communicator& communicator,
    const std::function<bool()>& stop_requested,
    const std::function<void(const trace::TrafficPoint&)>& on_point) {
  trace::TrafficReport report;
  report.machine = experiment.machine.name;
  report.network = experiment.network_name;
  report.pattern = experiment.pattern_name;
  report.process = experiment.process_name;
  report.nodes = experiment.machine.topology->computing_nodes();
  report.message_flits = experiment.message_flits;
  report.flit_bytes = experiment.flit.count();
  report.cycle_ps = static_cast<std::uint64_t>(experiment.cycle.ps());
  report.seed = experiment.seed;
  report.ranks = communicator.size();
  Measurement measurement(experiment, communicator);
  for (std::size_t number = 0; number < experiment.rates.size(); ++number) {
    trace::TrafficPoint point;
    if (!measurement.run(number, stop_requested, point, report.network_bytes)) {
      break;
    }
    report.points.push_back(point);
    if (communicator.rank() == 0 && on_point) {
      on_point(point);
    }
  }
  report.notes = experiment.notes;
  if (measurement.longest_unshared() > SimTime::zero()) {
    report.notes.push_back(unshared_note(measurement.longest_unshared()));
  }
  if (!measurement.inner_note().empty()) {
    report.notes.push_back(measurement.inner_note());
  }
  if (!measurement.truncation().empty()) {
    report.notes.push_back(measurement.truncation());
  }
  return report;
}

}  // namespace tessera::sim
