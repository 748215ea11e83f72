// Of stages what passes and the update take, and of these what an iteration does.
#include <algorithm>

#include "search/forecast/forecast.hpp"
#include "search/running_sums.hpp"
#include "tessera/plan/sharder.hpp"

namespace tessera::explore {
namespace {

using collective::Kind;
using plan::Group;
using plan::LayerState;

}  // namespace

// What is written may go on beside the next pass; the bound has accesses by the iteration.
Span Forecaster::pass_time(const PassCost& cost, double access) {
  const Span lost{0, time_lost(cost.slowing, cost.compute.likely, cost.beside.likely)};
  return longest(longest(cost.compute + cost.blocking + lost, cost.beside),
                 {0, cost.in_turn * access});
}

// Of a pass that a stage waits for the input of: what it reads and gathers it may have by then, and
// what it writes and shares out goes on while others work.
Span Forecaster::waited_for(const PassCost& cost) {
  const Span lost{0, time_lost(cost.slowing, cost.compute.likely, cost.beside.likely)};
  return cost.compute + cost.blocking + lost;
}

Group Forecaster::sharing_group() const {
  return strategy_.is_hybrid() ? Group::shard : Group::data;
}

// What groups that share out sum up among each other.
Span Forecaster::sum_of_copies(Ways& ways, Bytes gradients) {
  const plan::GroupShape& copies = groups_[static_cast<std::size_t>(Group::copies)];
  return strategy_.is_hybrid()
             ? ways.time(copies, *data_algorithm_, Kind::all_reduce,
                         Bytes(plan::divided_up(gradients.count(), strategy_.sharing())))
             : Span{};
}

Span Forecaster::update_of(Ways& ways, const LayerState& state, const plan::StageMemory& memory,
                           double access) {
  const plan::GroupShape& tensor = groups_[static_cast<std::size_t>(Group::tensor)];
  const plan::GroupShape& data = groups_[static_cast<std::size_t>(sharing_group())];
  const plan::GroupShape& expert = groups_[static_cast<std::size_t>(Group::expert_data)];
  Span time = ways.time(tensor, *tensor_algorithm_, Kind::all_reduce, state.whole_gradients);
  if (!strategy_.overlap_gradients && strategy_.zero < 2) {
    const Kind kind = strategy_.zero >= 1 ? Kind::reduce_scatter : Kind::all_reduce;
    time += ways.time(data, *data_algorithm_, kind, state.sent_gradients);
    time += sum_of_copies(ways, state.sent_gradients);
    time += ways.time(expert, *data_algorithm_, kind, state.sent_expert_gradients);
  }
  const plan::Update update =
      plan::update_of(workload_, state.optimizer, state.updated_weights, state.updated_gradients);
  time += durations_.of(update.operation);
  Span written;
  if (!memory.holds_weights) {
    const Span byte{ways.least_access(), access};
    time += byte * static_cast<double>(update.read.count());
    written = byte * static_cast<double>(update.written.count());
  }
  Span gathered;  // beside what is written
  if (strategy_.zero == 1 || strategy_.zero == 2) {
    gathered = ways.time(data, *data_algorithm_, Kind::all_gather, state.sent_weights) +
               ways.time(expert, *data_algorithm_, Kind::all_gather, state.sent_expert_weights);
  }
  return time + longest(written, gathered);
}

// Of layers from `first` on, before `end`, with what ZeRO adds.
Forecaster::PassCost Forecaster::cost_of_part(const CostSums& costs, const SharingSums& sharing,
                                              std::size_t first, std::size_t end, PassKind pass,
                                              bool shares_gradients) const {
  const bool replicas = strategy_.degrees.data > 1;
  PassCost of = costs.before[end][pass] - costs.before[first][pass];
  if (replicas && strategy_.zero == 3 && pass != weights) {
    of.add_beside(between(sharing.gather, first, end), end - first);
    // The first layer's weights are waited for.
    of.blocking.likely += between(sharing.gather, first, first + 1).likely;
  }
  if (replicas && strategy_.scatters_each() && (pass == backward || pass == weights)) {
    const Span reduced = between(sharing.reduce, first, end);
    if (strategy_.overlap_gradients) {
      of.add_beside({0, reduced.likely}, end - first);  // may go on beside the next pass
    } else {
      of.blocking += reduced;
    }
  }
  if (shares_gradients && (pass == backward || pass == weights)) {
    const LayerState here = between(sharing.state, first, end);
    const Bytes others = here.dense_gradients + here.expert_gradients - here.gradients;
    of.accessed -= 2 * static_cast<double>(others.count());
    of.in_turn = std::min(of.in_turn, of.accessed);
  }
  return of;
}

// Adds up what the chunks of one stage take.
class Forecaster::StageSums {
 public:
  // All is kept by reference.
  StageSums(const Forecaster& of, const CostSums& costs, const SharingSums& sharing, double access,
            bool shares_gradients)
      : of_(of),
        strategy_(of.strategy_),
        costs_(costs),
        sharing_(sharing),
        access_(access),
        shares_gradients_(shares_gradients) {}

  // Of layers from `first` on, before `end`.
  void add(std::uint32_t chunk, std::size_t first, std::size_t end) {
    chunk_ = chunk;
    first_ = first;
    end_ = end;
    accessed_ = 0;
    state += between(sharing_.state, first, end);
    const PassCost ahead = counted(forward);
    add_forward(ahead);
    if (of_.workload_.training) {
      add_backward(ahead);
    }
    times.accessed += accessed_ * strategy_.micro_batches;
  }

  StageTimes times;
  LayerState state;
  std::vector<CountedPass> forward_passes;
  std::vector<CountedPass> backward_passes;

 private:
  // Of a backward pass; where weights are apart, of its first half.
  struct Backward {
    Span time;
    Span waited;
  };

  PassCost cost(PassKind pass) const {
    return of_.cost_of_part(costs_, sharing_, first_, end_, pass, shares_gradients_);
  }
  PassCost counted(PassKind pass) {
    const PassCost of = cost(pass);
    accessed_ += of.accessed;
    times.computed += of.compute.likely * strategy_.micro_batches;
    times.events += of.events;
    return of;
  }
  bool has_replicas() const { return strategy_.degrees.data > 1; }

  void add_forward(const PassCost& ahead) {
    const Span time = pass_time(ahead, access_);
    times.all_forward += time;
    if (strategy_.v_shaped) {
      times.passes.at(plan::Phase::forward, chunk_) = time.likely;
    }
    if (chunk_ == 0) {
      times.first_forward = waited_for(ahead);
      times.early = time.least - times.first_forward.least;
    }
  }

  void add_backward(const PassCost& ahead) {
    const double accessed_ahead = accessed_;
    const PassCost back = counted(of_.apart() ? inputs : backward);
    Backward times_back{pass_time(back, access_), waited_for(back)};
    PassCost last = back;
    if (of_.apart()) {
      last = counted(weights);
      add_weights(ahead, back, last, accessed_ahead, times_back);
    }
    const double carried = of_.alternates() && has_replicas() ? of_.carried_over(ahead, back) : 0;
    times_back.time.likely -= carried;
    times.last.likely += carried;
    times.all_backward += times_back.time;
    if (chunk_ == 0) {
      times.first_backward = times_back.waited;
    }
    if (has_replicas() && strategy_.scatters_each()) {
      add_sharing_out(last);
    } else if (has_replicas()) {
      add_sums(last);
    }
  }

  // Of weight gradients after those of inputs.
  void add_weights(const PassCost& ahead, const PassCost& back, const PassCost& last,
                   double accessed_ahead, Backward& times_back) {
    Span time = pass_time(last, access_);
    const double carried = has_replicas() ? of_.carried_over(PassCost(ahead) += back, last) : 0;
    time.likely -= carried;
    times.last.likely += carried;
    if (strategy_.v_shaped) {
      times.passes.at(plan::Phase::input_gradient, chunk_) = times_back.time.likely;
      times.passes.at(plan::Phase::weight_gradient, chunk_) = time.likely;
    }
    if (of_.is_mixed()) {
      take_shorter(ahead, accessed_ahead, times_back, time);
    }
    times.weight_gradients += time;
  }

  // Of a whole pass and its two halves.
  void take_shorter(const PassCost& ahead, double accessed_ahead, Backward& times_back,
                    Span& weights_time) {
    const PassCost whole = cost(backward);
    const Span time = pass_time(whole, access_);
    times.passes.at(plan::Phase::backward, chunk_) = time.likely;
    times_back.time.least = std::min(times_back.time.least, time.least);
    times_back.waited.least = std::min(times_back.waited.least, time.least);
    weights_time.least = std::min(weights_time.least, time.least - times_back.time.least);
    accessed_ = std::min(accessed_, accessed_ahead + whole.accessed);
    forward_passes.push_back({ahead, pass_time(ahead, access_)});
    backward_passes.push_back({whole, times_back.time + weights_time});
  }

  // Of gradients, with ZeRO 2 and 3, `last` being the last pass.
  void add_sharing_out(const PassCost& last) {
    const Span copies = between(sharing_.copies, first_, end_);  // in the last pass alone
    if (!strategy_.overlap_gradients) {
      times.last.likely += copies.likely;
      return;
    }
    // The update waits for what the last pass has to share out.
    times.last.likely += between(sharing_.reduce, end_ - 1, end_).likely;
    // Beside it, but for those of the last layer.
    PassCost with = last;
    with.add_beside(copies, end_ - first_);
    times.last.likely += std::max((pass_time(with, access_) - pass_time(last, access_)).likely,
                                  between(sharing_.copies, end_ - 1, end_).likely);
  }

  // Of whole gradients beside the last pass.
  void add_sums(const PassCost& last) {
    if (!strategy_.overlap_gradients) {
      return;
    }
    PassCost with = last;
    with.add_beside(between(sharing_.reduce, first_, end_) + between(sharing_.copies, first_, end_),
                    end_ - first_);
    const Span longer = pass_time(with, access_) - pass_time(last, access_);
    // Beside several last passes those of others may be done.
    times.last += {strategy_.chunks > 1 ? 0 : longer.least, longer.likely};
  }

  const Forecaster& of_;
  const plan::Strategy& strategy_;
  const CostSums& costs_;
  const SharingSums& sharing_;
  double access_;
  bool shares_gradients_;
  // Of the chunk that is added.
  std::uint32_t chunk_ = 0;
  std::size_t first_ = 0;
  std::size_t end_ = 0;
  double accessed_ = 0;  // by a micro-batch
};

Forecaster::StageTimes Forecaster::times_of(PerLayout& layout, const std::vector<std::size_t>& cuts,
                                            std::uint32_t stage, const plan::StageMemory& memory) {
  Ways& ways = *layout.ways;
  const double access = ways.access()[stage];
  StageSums sums(*this, costs_of(layout, {memory.holds_weights, memory.holds_activations}),
                 sharing_of(layout), access, streams_shares(memory));
  for (std::uint32_t chunk = 0; chunk < strategy_.chunks; ++chunk) {
    const std::uint32_t part = shape().part_of(stage, chunk);
    sums.add(chunk, cuts[part], cuts[part + 1]);
  }
  StageTimes& times = sums.times;
  if (ways.has_crowded_links()) {
    times.carried = carried_by(layout, cuts, stage, memory);
  }
  if (strategy_.overlap_passes) {
    pair_up(sums.forward_passes, sums.backward_passes, times);
  }
  if (workload_.training) {
    const LayerState& all = sums.state;
    times.update = update_of(ways, all, memory, access);
    if (!memory.holds_weights) {
      const plan::Update update =
          plan::update_of(workload_, all.optimizer, all.updated_weights, all.updated_gradients);
      times.accessed += static_cast<double>((update.read + update.written).count());
    }
  }
  return times;
}

// What is reduced beside a pass and takes longer goes on beside those that follow, but for the last
// one.
double Forecaster::carried_over(const PassCost& others, const PassCost& pass) const {
  if (!strategy_.overlap_gradients || strategy_.zero < 2) {
    return 0;
  }
  const double more = pass.beside.likely - (pass.compute + pass.blocking).likely;
  const double room = (others.compute + others.blocking).likely - others.beside.likely;
  return std::max(0.0, std::min(more, room));
}

// From this stage to the next one. Adapters send for others, which the bound leaves open.
Span Forecaster::crossing_of(PerLayout& layout, std::uint32_t stage) const {
  const SharingSums& sharing = *layout.sharing[beside_first()];
  const Bytes bytes = sharing.least_boundary;
  double least = layout.ways->boundary(bytes).least;
  if (!strategy_.has_adapters()) {
    least = std::max(least, layout.ways->least_crossing(stage, bytes));
  }
  return {least, layout.ways->boundary(sharing.most_boundary).likely};
}

// Of weights that the first stage and the last one share; bounds leave it out.
Span Forecaster::tied_sum(PerLayout& layout) const {
  if (strategy_.last_stage() == 0 || tied_gradients_ == Bytes(0)) {
    return {};
  }
  const std::uint64_t shares = strategy_.zero >= 1 ? strategy_.sharing() : 1;
  return {0, layout.ways->sum_of_ends(Bytes(plan::divided_up(tied_gradients_.count(), shares)))};
}

// The passes one after the other as the schedule has them, each stage's with its update. What the
// first stage waits for is over when others begin the next iteration.
double Forecaster::likely_in_a_v(PerLayout& layout, const std::vector<StageTimes>& stages) {
  std::vector<PassTimes> passes;
  std::vector<double> crossings;
  for (std::size_t number = 0; number < stages.size(); ++number) {
    passes.push_back(stages[number].passes);
    crossings.push_back(crossing_of(layout, static_cast<std::uint32_t>(number)).likely);
  }
  const std::vector<StageHours> hours =
      clock_.hours({strategy_.schedule, shape(), strategy_.overlap_passes}, passes, crossings);
  const double iterations = experiment_.options.iterations;
  double longest_stage = 0;
  for (std::size_t number = 0; number < stages.size(); ++number) {
    const double head = hours[number].begin * (1 - 1 / iterations);
    longest_stage = std::max(longest_stage, hours[number].end - head + stages[number].last.likely +
                                                stages[number].update.likely);
  }
  return longest_stage + tied_sum(layout).likely;
}

Span Forecaster::iteration(PerLayout& layout, const std::vector<StageTimes>& stages) {
  const double count = strategy_.micro_batches;
  const Span tied = tied_sum(layout);
  const double iterations = experiment_.options.iterations;
  Span head;
  Span tail;
  Span longest_stage;
  for (std::size_t number = 0; number < stages.size(); ++number) {
    const StageTimes& stage = stages[number];
    const Span own = (stage.all_forward + stage.all_backward + stage.weight_gradients) * count -
                     hidden_in(number, stage) - Span{number > 0 ? stage.early : 0, 0};
    // Those that come after the last pass that other stages wait for; the first stage's update
    // waits for one of its own.
    const double put_off = std::min(count, static_cast<double>(number) + 1);
    // In a V that is of one of its chunks.
    const Span of_first = strategy_.v_shaped ? Span{} : stages.front().weight_gradients;
    const Span there_and_back = head + own - stage.weight_gradients * put_off + tail + of_first +
                                stages.front().last + stages.front().update + tied;
    const bool is_an_end = number == 0 || number + 1 == stages.size();
    const Span alone =
        head * (1 / iterations) + own + stage.last + stage.update + (is_an_end ? tied : Span{});
    longest_stage = longest(longest_stage, longest(there_and_back, alone));
    const Span crossing = crossing_of(layout, static_cast<std::uint32_t>(number));
    head += stage.first_forward + crossing;
    if (workload_.training) {
      tail += stage.first_backward + crossing;
    }
  }
  if (strategy_.v_shaped && workload_.training) {
    longest_stage.likely = std::max(longest_stage.likely, likely_in_a_v(layout, stages));
  }
  for (const ChannelClass& channel : layout.ways->channels()) {
    if (!channel.bandwidth) {
      continue;
    }
    double bytes = 0;
    for (const auto& [stage, tiles] : channel.tiles) {
      bytes += stages[stage].accessed * tiles;
    }
    longest_stage = longest(
        longest_stage,
        Span::both(bytes * 1e12 / static_cast<double>(channel.bandwidth->bytes_per_second())));
  }
  longest_stage = longest(longest_stage, on_crowded_links(layout, stages));
  // Sums of many fractions are not exact.
  longest_stage.least *= 1 - 1e-9;
  return longest_stage;
}

}  // namespace tessera::explore
