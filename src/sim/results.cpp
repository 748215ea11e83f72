#include "results.hpp"

#include <algorithm>
#include <array>
#include <ctime>
#include <span>
#include <utility>

#include "conservation.hpp"
#include "tessera/core/text.hpp"
#include "tessera/core/version.hpp"
#include "tessera/core/wide.hpp"
#include "tessera/executor/flops.hpp"
#include "tessera/plan/stages/stage_work.hpp"
#include "tessera/sim/simulation.hpp"
#include "tessera/trace/trace_file.hpp"

namespace tessera::sim {
namespace {

constexpr std::size_t waiting_lines = 8;  // of a deadlock report
constexpr double microseconds = 1e6;

// Sums over all ranks of numbers that may exceed 64 bits together.
std::vector<Wide> sums_over_ranks(comm::Communicator& communicator,
                                  const std::vector<Wide>& values) {
  constexpr std::uint64_t low = 0xFFFFFFFFULL;
  std::vector<std::uint64_t> limbs;
  for (const Wide value : values) {
    for (unsigned limb = 0; limb < 4; ++limb) {
      limbs.push_back(static_cast<std::uint64_t>(value >> (32 * limb)) & low);
    }
  }
  communicator.reduce_sum(limbs);
  std::vector<Wide> sums(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (unsigned limb = 0; limb < 4; ++limb) {
      sums[i] += static_cast<Wide>(limbs[i * 4 + limb]) << (32 * limb);
    }
  }
  return sums;
}

void record_totals(RankModels& models, SimTime end) {
  models.engine.finish_boundaries(end);
  models.memory->pass_boundary(end);  // the last bin, cut short
  if (models.recorder.writes()) {
    models.network->pass_boundary(end);
    models.compute->pass_boundary(end);
  }
  models.network->visit_links(
      end, [&](const network::LinkUse& use) { models.recorder.on_link_total(use); });
  models.memory->visit_channels(
      end, [&](const memory::ChannelUse& use) { models.recorder.on_channel_total(use); });
  models.compute->visit_cores(
      end, [&](const compute::CoreUse& use) { models.recorder.on_core_total(use); });
}

void fill_breakdown(RankModels& models, SimTime end, trace::Summary& summary) {
  const std::vector<Work::Part> parts = models.work->parts();
  constexpr std::size_t all = executor::activities;
  std::vector<Wide> times(parts.size() * all);
  models.executor->visit_results([&](const executor::TileResult& result) {
    models.recorder.on_tile(result);
    if (!models.work->has_work(result.role)) {
      return;
    }
    Wide* const of_part = times.data() + models.work->part_of(result.role) * all;
    SimTime known;
    for (std::size_t i = 0; i < all; ++i) {
      of_part[i] += static_cast<std::uint64_t>(result.time[i].ps());
      known += result.time[i];
    }
    of_part[static_cast<std::size_t>(executor::Activity::bubble)] +=
        static_cast<std::uint64_t>((end - known).ps());
  });
  times = sums_over_ranks(models.communicator, times);
  const auto breakdown = [&](std::string name, std::uint64_t tiles, const auto& sum) {
    trace::Breakdown row{std::move(name), tiles, {}};
    for (const executor::Activity activity : models.work->activities()) {
      row.mean_ps.emplace_back(to_string(activity),
                               static_cast<std::uint64_t>(sum(static_cast<std::size_t>(activity)) /
                                                          std::max<std::uint64_t>(1, tiles)));
    }
    return row;
  };
  std::uint64_t tiles = 0;
  for (const Work::Part& part : parts) {
    tiles += part.tiles;
  }
  summary.breakdown.push_back(breakdown("total", tiles, [&](std::size_t i) {
    Wide sum = 0;
    for (std::size_t part = 0; part < parts.size(); ++part) {
      sum += times[part * all + i];
    }
    return sum;
  }));
  for (std::size_t part = 0; part < parts.size(); ++part) {
    summary.breakdown.push_back(breakdown(parts[part].name, parts[part].tiles,
                                          [&](std::size_t i) { return times[part * all + i]; }));
  }
}

// Of each stage of programs, by the tile of it that is followed, which is on one rank.
void fill_peak_memory(const RankModels& models, trace::Summary& summary) {
  const std::vector<Work::Part> parts = models.work->parts();
  constexpr std::size_t columns = plan::memory_parts + 4;
  std::vector<std::uint64_t> numbers(parts.size() * columns);
  models.executor->visit_peaks([&](std::uint32_t role, const plan::MemoryWalk::Peak& peak) {
    std::uint64_t* const row = numbers.data() + models.work->part_of(role) * columns;
    for (std::size_t part = 0; part < plan::memory_parts; ++part) {
      row[part] = peak.use.parts[part].count();
    }
    row[plan::memory_parts] = 1;
    row[plan::memory_parts + 1] = static_cast<std::uint64_t>(peak.pass.phase);
    row[plan::memory_parts + 2] = peak.pass.micro_batch;
    row[plan::memory_parts + 3] = peak.pass.chunk;
  });
  models.communicator.reduce_sum(numbers);
  for (std::size_t number = 0; number < parts.size(); ++number) {
    const std::uint64_t* const row = numbers.data() + number * columns;
    if (row[plan::memory_parts] == 1) {
      plan::MemoryWalk::Peak peak;
      for (std::size_t part = 0; part < plan::memory_parts; ++part) {
        peak.use.parts[part] = Bytes(row[part]);
      }
      peak.pass = {static_cast<plan::Phase>(row[plan::memory_parts + 1]),
                   static_cast<std::uint16_t>(row[plan::memory_parts + 3]),
                   static_cast<std::uint32_t>(row[plan::memory_parts + 2])};
      summary.peak_memory.push_back(peak_row(parts[number].name, peak));
    }
  }
}

// Results leave each data-parallel replica's last stage one micro-batch at a time (PALM, section
// V-A.3: set-up and drain left out).
void fill_steady_throughput(const RankModels& models, trace::Summary& summary) {
  std::array<std::uint64_t, 2> outputs{};
  models.executor->visit_results([&](const executor::TileResult& result) {
    outputs[0] = std::max(outputs[0], static_cast<std::uint64_t>(result.first_output.ps()));
    outputs[1] = std::max(outputs[1], static_cast<std::uint64_t>(result.last_output.ps()));
  });
  models.communicator.reduce_max(outputs);
  if (outputs[1] > outputs[0]) {  // in no graph
    const plan::Strategy& strategy = models.experiment.plan().strategy;
    const std::uint64_t results = std::uint64_t{strategy.micro_batches} * summary.iterations - 1;
    const SimTime span = SimTime::from_ps(static_cast<std::int64_t>(outputs[1] - outputs[0]));
    summary.steady_throughput_samples_per_s =
        static_cast<double>(results * strategy.micro_batch * strategy.data_parallel()) /
        span.seconds();
  }
}

// Times of tenants, each from its start until its last tile has finished.
void fill_tenants(const RankModels& models, bool complete, trace::Summary& summary) {
  const std::vector<Work::Share> shares = models.work->shares();
  if (shares.empty()) {
    return;
  }
  std::vector<std::uint64_t> ends(shares.size());
  models.executor->visit_results([&](const executor::TileResult& result) {
    std::uint64_t& end = ends[models.work->share_of(result.role)];
    end = std::max(end, static_cast<std::uint64_t>(std::max(result.end, result.over).ps()));
  });
  models.communicator.reduce_max(ends);
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const Work::Share& share = shares[i];
    trace::TenantResult& result = summary.tenants.emplace_back();
    result.name = share.name;
    result.workload = share.workload;
    result.tiles = share.tiles;
    result.iterations = share.iterations;
    result.start_ps = share.start.ps();
    result.peak_flops_per_s = share.peak_flops_per_s;
    result.samples_per_iteration = share.samples;
    result.flops_per_iteration = share.flops;
    result.executed_flops_per_iteration = share.flops_done;
    const std::int64_t time = static_cast<std::int64_t>(ends[i]) - result.start_ps;
    if (complete && time > 0) {
      result.end_ps = static_cast<std::int64_t>(ends[i]);
      result.iteration_time_ps = (time + result.iterations - 1) / result.iterations;
      const double a_second = result.iterations / SimTime::from_ps(time).seconds();
      result.throughput_samples_per_s = static_cast<double>(share.samples) * a_second;
      result.achieved_flops_per_s = share.flops * a_second;
    }
  }
}

void fill_counts(const RankModels& models, trace::Summary& summary) {
  std::array<std::uint64_t, 3> sums{
      models.engine.statistics().events - models.executor->events_for_observers(),
      models.network->packet_hops(), models.network->messages()};
  models.communicator.reduce_sum(sums);
  summary.events = sums[0];
  summary.packet_hops = sums[1];
  summary.messages = sums[2];
}

// What went over the network, and what memory was asked for; where nobody counts that, what it
// moved.
void fill_bytes(const RankModels& models, trace::Summary& summary) {
  if (const std::optional<executor::SentBytes> sent = models.executor->sent_bytes()) {
    std::array<std::uint64_t, 2> sums{sent->messages, sent->collectives};
    models.communicator.reduce_sum(sums);
    summary.message_bytes = sums[0];
    summary.collective_bytes = sums[1];
  }
  std::optional<Work::Accessed> accessed = bytes_asked_for(models);
  if (!accessed) {
    accessed = bytes_moved(models);
  }
  if (accessed) {
    summary.memory_read_bytes = accessed->read;
    summary.memory_written_bytes = accessed->written;
  }
}

void fill_costs(const std::vector<trace::Segment>& segments, trace::Summary& summary) {
  for (const trace::Segment& segment : segments) {
    const trace::SegmentCost& cost = segment.cost;
    summary.segments.push_back(cost);
    summary.wall_s += cost.wall_s;
    summary.cpu_s += cost.cpu_s;
    summary.waiting_s += cost.waiting_s;
    summary.windows += cost.windows;
    summary.rounds += cost.rounds;
    summary.waits += cost.waits;
    summary.remote_events += cost.remote_events;
  }
  summary.events_per_s = static_cast<double>(summary.events) / std::max(summary.wall_s, 1e-9);
}

// Of work whose FLOPs are known only when it has been done.
void add_flops_found(const RankModels& models, SimTime end, trace::Summary& summary) {
  const auto* const finds = dynamic_cast<const executor::FindsFlops*>(models.executor.get());
  if (finds == nullptr) {
    return;
  }
  const std::vector<Wide> found = sums_over_ranks(models.communicator, finds->flops_found());
  for (std::size_t job = 0; job < found.size(); ++job) {
    const auto flops = static_cast<double>(found[job]);
    summary.achieved_flops_per_s += flops / end.seconds();
    if (job < summary.tenants.size()) {
      trace::TenantResult& tenant = summary.tenants[job];
      const SimTime time = SimTime::from_ps(tenant.end_ps - tenant.start_ps);
      tenant.achieved_flops_per_s += time > SimTime::zero() ? flops / time.seconds() : 0;
    }
  }
}

// What the run itself has found out.
void fill_notes(const RankModels& models, SimTime end, bool complete, trace::Summary& summary) {
  std::array<std::uint64_t, 1> unshared{
      static_cast<std::uint64_t>(models.network->longest_unshared().ps())};
  models.communicator.reduce_max(unshared);
  if (unshared[0] > 0) {
    summary.notes.push_back(
        "messages shared no link: had those that leave a node by one link gone one after the "
        "other, one would have come " +
        to_string(SimTime::from_ps(static_cast<std::int64_t>(unshared[0]))) +
        " later (machine.network.ports: shared)");
  }
  if (complete && end == SimTime::zero()) {
    summary.notes.emplace_back("nothing in this run took any time");
  }
}

void fill_digest(const RankModels& models, trace::Summary& summary) {
  const Digest& digest = models.recorder.digest();
  const auto whole = static_cast<Wide>(digest.high()) << 64 | digest.low();
  const Wide sum = sums_over_ranks(models.communicator, {whole}).front();
  const Digest result(static_cast<std::uint64_t>(sum >> 64), static_cast<std::uint64_t>(sum));
  summary.result_digest = result.to_string();
}

// Of jobs that log messages in full traces.
void note_lumped_messages(const Experiment& experiment, trace::Summary& summary) {
  if (experiment.options.trace != TraceLevel::full || !experiment.network->lumps_rings()) {
    return;
  }
  for (const PlacedJob& placed : experiment.jobs) {
    if (placed.job->logs_messages()) {
      summary.notes.push_back(
          (placed.name.empty() ? "" : placed.name + ": ") +
          "messages of collectives that are one ring are not in the table `messages`, as their "
          "steps may be lumped (machine.network.uncontended_steps)");
    }
  }
}

}  // namespace

trace::PeakMemory peak_row(const std::string& name, const plan::MemoryWalk::Peak& peak) {
  trace::PeakMemory row;
  row.name = name;
  row.bytes = peak.use.total().count();
  row.phase = to_string(peak.pass.phase);
  row.micro_batch = peak.pass.micro_batch;
  row.chunk = peak.pass.chunk;
  for (std::size_t part = 0; part < plan::memory_parts; ++part) {
    row.parts.emplace_back(to_string(static_cast<plan::MemoryPart>(part)),
                           peak.use.parts[part].count());
  }
  return row;
}

std::string name_of(TraceLevel level) {
  switch (level) {
    case TraceLevel::none:
      return "none";
    case TraceLevel::summary:
      return "summary";
    case TraceLevel::full:
      return "full";
  }
  throw InternalError("a trace level outside its list");
}

trace::Summary described(const Experiment& experiment, const comm::Communicator& communicator,
                         const CutChoice& cut) {
  trace::Summary summary;
  summary.experiment = experiment.name;
  summary.machine = experiment.machine.name;
  summary.workload = experiment.workload;
  summary.ideal_time_ps = experiment.ideal_time().ps();
  const std::unique_ptr<Work> work = work_of(experiment);
  summary.iterations = work->iterations();
  summary.notes = experiment.notes;
  for (std::string& note : work->notes()) {
    summary.notes.push_back(std::move(note));
  }
  note_lumped_messages(experiment, summary);
  for (std::string& note : experiment.network->notes(experiment.machine)) {
    summary.notes.push_back(std::move(note));
  }
  const auto accessed = work->accessed();
  if (experiment.memory && (!accessed || accessed->read + accessed->written > 0)) {
    for (std::string& note : experiment.memory->notes(experiment.machine)) {
      summary.notes.push_back(std::move(note));
    }
  }
  summary.tiles = work->tiles();
  summary.peak_flops_per_s = work->peak_flops_per_s();
  summary.samples_per_iteration = work->samples();
  summary.flops_per_iteration = work->flops_of_sample() * static_cast<double>(work->samples());
  summary.executed_flops_per_iteration = work->flops_done();
  summary.ranks = communicator.size();
  summary.communicator = communicator.description();
  summary.partition = cut.name;
  summary.synchronization = experiment.options.synchronization;
  summary.trace = name_of(experiment.options.trace);
  summary.version = version();
  summary.git_hash = git_hash();
  summary.mpi = comm::mpi_version();
  summary.hdf5 = trace::hdf5_version();
  summary.weights = experiment.options.weights;
  const machine::Partition& partition = cut.partition;
  const Forecast expected = forecast(experiment, partition);
  summary.links = expected.links;
  summary.cut_links = partition.cut_links;
  summary.imbalance = partition.imbalance;
  summary.predicted_bytes = expected.largest_bytes;
  return summary;
}

trace::EngineRow engine_row(const RankModels& models, double wall_s) {
  const pdes::EngineStatistics statistics = models.engine.statistics();
  trace::EngineRow row;
  row.simulated_ps = models.engine.last_event_time().ps();
  row.wall_s = wall_s;
  row.waiting_s = statistics.waiting_s;
  row.events = statistics.events;
  row.windows = statistics.windows;
  row.rounds = statistics.rounds;
  row.remote_events = statistics.remote_events;
  row.batches = statistics.batches;
  row.pending = statistics.largest_pending;
  row.resident_bytes = resident_bytes();
  return row;
}

SimTime last_event(const RankModels& models) {
  std::array<std::uint64_t, 1> last{
      static_cast<std::uint64_t>(models.engine.last_event_time().ps())};
  models.communicator.reduce_max(last);
  return SimTime::from_ps(static_cast<std::int64_t>(last[0]));
}

trace::SegmentCost cost_so_far(const RankModels& models, SimTime begin, SimTime end,
                               double wall_s) {
  const pdes::EngineStatistics statistics = models.engine.statistics();
  std::array<std::uint64_t, 3> largest{statistics.windows, statistics.rounds, statistics.waits};
  models.communicator.reduce_max(largest);
  std::array<std::uint64_t, 3> sums{statistics.remote_events,
                                    static_cast<std::uint64_t>(statistics.waiting_s * microseconds),
                                    static_cast<std::uint64_t>(static_cast<double>(std::clock()) /
                                                               CLOCKS_PER_SEC * microseconds)};
  models.communicator.reduce_sum(sums);
  trace::SegmentCost cost;
  cost.ranks = models.communicator.size();
  cost.communicator = models.communicator.description();
  cost.partition = models.cut.name;
  cost.begin_ps = begin.ps();
  cost.end_ps = end.ps();
  cost.wall_s = wall_s;
  cost.cpu_s = static_cast<double>(sums[2]) / microseconds;
  cost.waiting_s = static_cast<double>(sums[1]) / microseconds / cost.ranks;
  cost.windows = largest[0];
  cost.rounds = largest[1];
  cost.waits = largest[2];
  cost.remote_events = sums[0];
  return cost;
}

void gather_results(RankModels& models, const std::vector<trace::Segment>& segments, SimTime end,
                    bool complete, trace::Summary& summary) {
  record_totals(models, end);
  fill_breakdown(models, end, summary);
  fill_peak_memory(models, summary);
  fill_counts(models, summary);
  fill_costs(segments, summary);
  fill_digest(models, summary);
  fill_services(models, end, summary);
  fill_notes(models, end, complete, summary);
  if (complete) {
    fill_bytes(models, summary);
    check_conservation(models);
  }

  summary.simulated_time_ps = end.ps();
  fill_tenants(models, complete, summary);
  if (complete && end > SimTime::zero()) {
    if (summary.tenants.empty()) {
      fill_steady_throughput(models, summary);
    }
    note_iteration(models.experiment, summary);
    add_flops_found(models, end, summary);
  }
}

namespace {

// Of the peak bandwidth of memory that operations use, in the mean of an iteration and of devices
// whose operands are in DRAM; 0 of others.
double memory_use(const Experiment& experiment, const trace::Summary& summary) {
  const machine::Machine& machine = experiment.machine;
  if (experiment.planned() == nullptr || machine.channels.empty() ||
      !machine.tiles().front().operands_in_dram || summary.iteration_time_ps == 0) {
    return 0;
  }
  double flops = 0;  // of the stages, of one tile each
  double bytes = 0;
  for (const plan::Stage& stage : experiment.plan().stages) {
    flops += static_cast<double>(plan::flops_of(experiment.plan(), stage.program));
    bytes += static_cast<double>(plan::operand_bytes_of(experiment.plan(), stage.program));
  }
  // Micro-batches that are not simulated have as many bytes to a FLOP.
  const double a_tile = flops > 0 ? summary.executed_flops_per_iteration /
                                        static_cast<double>(summary.tiles) * bytes / flops
                                  : 0;
  const SimTime time = SimTime::from_ps(summary.iteration_time_ps);
  const auto bandwidth = static_cast<double>(machine.channels.front().bandwidth.bytes_per_second());
  return std::min(1.0, a_tile / (bandwidth * time.seconds()));
}

// Shares of an iteration's time in the mean over devices; see machine::Power.
void note_energy(const Experiment& experiment, trace::Summary& summary) {
  const std::optional<machine::Power>& power = experiment.machine.power;
  const SimTime end = SimTime::from_ps(summary.simulated_time_ps);
  if (!power || summary.breakdown.empty() || end == SimTime::zero()) {
    return;
  }
  double computes = 0;
  double communicates = 0;
  for (const auto& [activity, mean_ps] : summary.breakdown.front().mean_ps) {
    const double share = static_cast<double>(mean_ps) / static_cast<double>(end.ps());
    if (activity == to_string(executor::Activity::compute)) {
      computes += share;
    } else if (activity != to_string(executor::Activity::bubble) &&
               activity != to_string(executor::Activity::memory)) {
      communicates += share;
    }
  }
  summary.power_w_per_tile = power->watts(computes, memory_use(experiment, summary), communicates);
  summary.energy_j_per_iteration = summary.power_w_per_tile * static_cast<double>(summary.tiles) *
                                   SimTime::from_ps(summary.iteration_time_ps).seconds();
}

}  // namespace

void note_iteration(const Experiment& experiment, trace::Summary& summary) {
  const std::int64_t iterations = summary.iterations;
  const SimTime end = SimTime::from_ps(summary.simulated_time_ps);
  summary.iteration_time_ps = (end.ps() + iterations - 1) / iterations;
  const std::unique_ptr<Work> work = work_of(experiment);
  summary.throughput_samples_per_s =
      static_cast<double>(work->samples()) * static_cast<double>(iterations) / end.seconds();
  summary.achieved_flops_per_s = summary.throughput_samples_per_s * work->flops_of_sample();
  note_energy(experiment, summary);
}

void gather_memory(comm::Communicator& communicator, trace::Summary& summary) {
  std::vector<std::uint64_t> peaks(static_cast<std::size_t>(communicator.size()));
  peaks[static_cast<std::size_t>(communicator.rank())] = peak_resident_bytes();
  communicator.reduce_sum(peaks);
  summary.peak_rss_bytes = peaks;
}

std::vector<trace::FileSum> gather_sums(comm::Communicator& communicator,
                                        const trace::FileSum& own) {
  const auto ranks = static_cast<std::size_t>(communicator.size());
  const auto rank = static_cast<std::size_t>(communicator.rank());
  std::vector<std::uint64_t> numbers(2 * ranks);
  numbers[2 * rank] = own.bytes;
  numbers[2 * rank + 1] = own.crc;
  communicator.reduce_sum(numbers);
  std::vector<trace::FileSum> sums;
  for (std::size_t i = 0; i < ranks; ++i) {
    sums.push_back({numbers[2 * i], static_cast<std::uint32_t>(numbers[2 * i + 1])});
  }
  return sums;
}

void gather_events(const RankModels& models, trace::Summary& summary) {
  std::vector<std::uint64_t> events(static_cast<std::size_t>(models.communicator.size()));
  events[static_cast<std::size_t>(models.communicator.rank())] = models.engine.statistics().events;
  models.communicator.reduce_sum(events);
  summary.rank_events = events;
}

std::vector<std::uint64_t> gather_node_events(const RankModels& models) {
  std::vector<std::uint64_t> events(models.experiment.machine.topology->nodes());
  for (std::uint32_t index = 0; index < models.engine.local_entities(); ++index) {
    events[models.engine.entity_of(index).value()] = models.engine.events_sent(index);
  }
  models.communicator.reduce_sum(events);
  return events;
}

// The first of all ranks' lines, each on a line of its own, and how many.
std::pair<std::string, std::size_t> gather_lines(const RankModels& models,
                                                 const std::vector<std::string>& own) {
  std::string text;
  std::size_t lines = 0;
  for (const std::string& part : models.communicator.gather(join(own, "\n"))) {
    for (std::size_t at = 0; at < part.size() && lines < waiting_lines; ++lines) {
      const std::size_t end = std::min(part.find('\n', at), part.size());
      text += "\n  " + part.substr(at, end - at);
      at = end + 1;
    }
  }
  return {text, lines};
}

std::string deadlock_report(const RankModels& models) {
  std::array<std::uint64_t, 1> unfinished{models.executor->unfinished()};
  models.communicator.reduce_sum(unfinished);
  if (unfinished[0] == 0) {
    return "";
  }
  const auto [text, lines] = gather_lines(models, models.executor->waiting(waiting_lines));
  const std::string cores = gather_lines(models, models.compute->waiting(waiting_lines)).first;
  const std::string head = "deadlock: nothing is left to happen and " +
                           std::to_string(unfinished[0]) + " tiles have not finished" +
                           (unfinished[0] > lines ? "; the first of them:" : ":");
  return models.communicator.broadcast(head + text + cores, 0);
}

}  // namespace tessera::sim
