#include "results/results.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>
#include <variant>

#include "notes/crowded_link.hpp"
#include "notes/rounded_note.hpp"
#include "notes/truncated_note.hpp"
#include "notes/unshared_note.hpp"
#include "results/conservation.hpp"
#include "results/iteration.hpp"
#include "results/moved_bytes.hpp"
#include "results/rank_sums.hpp"
#include "tessera/core/wide.hpp"
#include "tessera/executor/flops.hpp"
#include "tessera/sim/measures.hpp"

namespace tessera::sim {
namespace {

void record_totals(RankModels& models, SimTime end) {
  const SimTime last = end_of_bins(models);  // of the last bin, cut short
  models.engine.finish_boundaries(last);
  models.memory->pass_boundary(last);
  if (models.recorder.writes()) {
    models.network->pass_boundary(last);
    models.compute->pass_boundary(last);
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
  for (const StagePeak& stage : models.work->known_peaks()) {
    summary.peak_memory.push_back(peak_row(stage.name, stage.peak));
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
      note_times(result);
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

// Reads and writes are not told apart where operations move operands in DRAM.
void fill_bytes(const RankModels& models, trace::Summary& summary) {
  if (const std::optional<executor::SentBytes> sent = bytes_sent(models)) {
    summary.message_bytes = sent->messages;
    summary.collective_bytes = sent->collectives;
  }
  const std::optional<Work::Accessed> accessed = bytes_of_memory(models);
  const Wide operands = bytes_of_operands(models);
  if (!accessed) {
    return;
  }
  summary.memory_bytes =
      static_cast<double>(Wide{accessed->read} + Wide{accessed->written} + operands);
  if (operands == 0) {
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
    summary.achieved_flops_per_s += flops / (end - models.experiment.begin()).seconds();
    summary.flops_per_iteration += flops / summary.iterations;
    summary.executed_flops_per_iteration += flops / summary.iterations;
    if (job < summary.tenants.size()) {
      trace::TenantResult& tenant = summary.tenants[job];
      const SimTime time = SimTime::from_ps(tenant.end_ps - tenant.start_ps);
      tenant.achieved_flops_per_s += time > SimTime::zero() ? flops / time.seconds() : 0;
      tenant.flops_per_iteration += flops / tenant.iterations;
      tenant.executed_flops_per_iteration += flops / tenant.iterations;
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
        unshared_note(SimTime::from_ps(static_cast<std::int64_t>(unshared[0]))));
  }
  if (const auto link =
          crowded_link(*models.network, *models.experiment.machine.topology, models.communicator)) {
    summary.notes.push_back(crowded_link_note(*models.network, *link));
  }
  if (const auto note = rounded_note(*models.network, models.communicator)) {
    summary.notes.push_back(*note);
  }
  if (const auto note = truncated_note(*models.network, models.communicator)) {
    summary.notes.push_back(*note);
  }
  if (complete && end == SimTime::zero()) {
    summary.notes.emplace_back("nothing in this run took any time");
  }
}

// Of jobs whose executors measure something.
void fill_measured(const RankModels& models, trace::Summary& summary) {
  models.executor->visit_jobs([&](const std::string& job, const executor::Executor& executor) {
    if (const auto* const measures = dynamic_cast<const Measures*>(&executor)) {
      summary.measured.push_back({job, measures->measured(models.communicator)});
    }
  });
}

// All ranks know what was measured; it counts once.
void add_measured(const trace::Summary& summary, Digest& digest) {
  std::uint64_t kind = 1000;  // none of the recorder's; one for each job
  for (const trace::Measured& of_job : summary.measured) {
    for (std::uint64_t number = 0; number < of_job.measures.size(); ++number) {
      const auto& value = of_job.measures[number].value;
      const auto* const whole = std::get_if<std::uint64_t>(&value);
      digest.add(
          {kind, number,
           whole != nullptr ? *whole : std::bit_cast<std::uint64_t>(std::get<double>(value))});
    }
    ++kind;
  }
}

void fill_digest(const RankModels& models, trace::Summary& summary) {
  Digest digest = models.recorder.digest();
  if (models.communicator.rank() == 0) {
    add_measured(summary, digest);
  }
  const auto whole = static_cast<Wide>(digest.high()) << 64 | digest.low();
  const Wide sum = sums_over_ranks(models.communicator, {whole}).front();
  const Digest result(static_cast<std::uint64_t>(sum >> 64), static_cast<std::uint64_t>(sum));
  summary.result_digest = result.to_string();
}

}  // namespace

void note_times(trace::TenantResult& tenant) {
  const std::int64_t time = tenant.end_ps - tenant.start_ps;
  tenant.iteration_time_ps = (time + tenant.iterations - 1) / tenant.iterations;
  const double a_second = tenant.iterations / SimTime::from_ps(time).seconds();
  tenant.throughput_samples_per_s = static_cast<double>(tenant.samples_per_iteration) * a_second;
  tenant.achieved_flops_per_s = tenant.flops_per_iteration * a_second;
}

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

void gather_results(RankModels& models, const std::vector<trace::Segment>& segments, SimTime end,
                    bool complete, trace::Summary& summary) {
  record_totals(models, end);
  fill_breakdown(models, end, summary);
  fill_peak_memory(models, summary);
  fill_counts(models, summary);
  fill_costs(segments, summary);
  fill_measured(models, summary);
  fill_digest(models, summary);
  fill_services(models, end, summary);
  fill_notes(models, end, complete, summary);
  if (complete) {
    fill_bytes(models, summary);
    check_conservation(models);
  }

  summary.simulated_time_ps = end.ps();
  fill_tenants(models, complete, summary);
  if (complete && end > models.experiment.begin()) {
    if (models.experiment.single_job() != nullptr) {
      fill_steady_throughput(models, summary);
    }
    note_iteration(models.experiment, summary);
    note_unknown_energy(models.experiment, summary);
    add_flops_found(models, end, summary);
  }
}

}  // namespace tessera::sim
