// What a candidate needs and how long it takes, by closed forms.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "search/durations.hpp"
#include "search/pass_clock.hpp"
#include "search/pass_walks.hpp"
#include "search/span.hpp"
#include "search/ways.hpp"
#include "tessera/explore/candidates.hpp"
#include "tessera/plan/outline.hpp"
#include "tessera/sim/experiment.hpp"

namespace tessera::explore {

// What is kept where it is tightest: a channel of DRAM, or the SRAM of a tile without.
struct Need {
  std::uint32_t stage = 0;                 // that keeps most of it
  std::uint64_t tiles = 0;                 // of all stages that share the place
  Bytes asked;                             // by all of them
  Bytes capacity;                          // 0: not stated
  std::optional<std::uint32_t> channel{};  // none: the SRAM of a tile
  bool at_peaks = false;                   // all that tiles hold, in the channel and their SRAM
  // Asked for, of what there is.
  double share() const {
    return capacity == Bytes(0)
               ? 0
               : static_cast<double>(asked.count()) / static_cast<double>(capacity.count());
  }
  Bytes missing() const {
    return capacity > Bytes(0) && asked > capacity ? asked - capacity : Bytes(0);
  }
};

struct Forecast {
  bool placed = true;  // false: the layout does not fit
  std::string objection;
  Need need;
  plan::StageMemory of_stage;  // need.stage
  Bytes memory;                // peak of the tile that needs most, in closed form
  Span iteration;              // [ps]
  double events = 0;           // of a simulation of every tile, roughly
  bool fits() const { return placed && need.missing() == Bytes(0); }
};

// Method. Each layer is written as a plan's program has it, for one tile (plan::outline_of), and
// timed: arithmetic as the compute model has it; collectives by steps, latencies and bytes between
// neighbours of the layout (Ways); accesses by what tiles of the stage share. Layers are cut into
// stages as a plan's are. A pass takes the longest of what its tile does one after the other, of
// what goes on in the background, and of its accesses. An iteration takes, for the worst stage,
//   the passes of the first micro-batch through the stages before it, all passes of its own, and
//   those of the last micro-batch back through the stages before it, and the first one's update; or
//   its own passes and update, after the first of these (shared by the iterations);
// and no less than all accesses to any channel of DRAM take. Two passes that take turns take no
// less than what both compute and wait for, nor than all their exchanges over experts, which are
// done one after the other.
//
// The estimate (likely) has every part of that. The bound (least) leaves out what may be hidden or
// met faster: messages that meet, and tied weights. Boundaries count the fastest way between two
// stages, rings the fastest of a layout (RingFloor), steps of other collectives one hop of the
// fastest link. On machines where no message is
// faster than on an idle link it is a lower bound of what a simulation takes.
// Bytes are those that a plan checks, where all tiles are of one type. Layouts that look for their
// place, or are given it, are forecast as `linear`.
class Forecaster {
 public:
  // All must outlive it. `base` has what candidates do not vary.
  Forecaster(const sim::Experiment& experiment, const workload::Workload& workload,
             const plan::Strategy& base);
  Forecast of(const Candidate& candidate);
  // Whether what fits has room for all that tiles hold when they hold most, too, where a plan
  // checks what stays from pass to pass alone (plan::note_of_peaks).
  bool checks_peaks() const { return checks_peaks_; }
  void check_peaks(bool checks) { checks_peaks_ = checks; }

 private:
  static constexpr std::size_t pass_kinds = 4;  // forward, backward, input and weight gradient
  enum PassKind : std::uint8_t { forward, backward, inputs, weights };

  // Of one layer, or summed over several.
  struct PassCost {
    Span compute;
    Span blocking;   // collectives that are waited for
    Span exchanges;  // of these, those of tokens over experts
    Span beside;     // others
    Slowing slowing;
    double accessed = 0;
    double in_turn = 0;  // of these, one after the other
    double events = 0;
    PassCost& operator+=(const PassCost& other);
    friend PassCost operator-(const PassCost& a, const PassCost& b) {
      return {a.compute - b.compute, a.blocking - b.blocking, a.exchanges - b.exchanges,
              a.beside - b.beside,   a.slowing - b.slowing,   a.accessed - b.accessed,
              a.in_turn - b.in_turn, a.events - b.events};
    }
    void add_beside(Span time, std::size_t collectives) {
      beside += time;
      slowing.collectives += time.likely > 0 ? static_cast<double>(collectives) : 0;
    }
  };
  using PassCosts = std::array<PassCost, pass_kinds>;
  // With the time that it is counted as where it is alone.
  struct CountedPass {
    PassCost cost;
    Span time;
  };
  // [layers + 1] of the layers before.
  struct CostSums {
    std::vector<PassCosts> before;
    std::vector<std::array<LinkBytes, pass_kinds>> carried;  // none: there are no crowded links
  };
  // What replicas send of the layers before, with what ZeRO makes of it.
  struct SharingSums {
    std::vector<plan::LayerState> state;
    std::vector<Span> gather;
    std::vector<Span> reduce;
    std::vector<Span> copies;  // summed among groups that share out
    Bytes least_boundary;      // between layers
    Bytes most_boundary;
  };
  // By what is held, and by `beside_first`.
  using Holdings = std::array<std::array<std::unique_ptr<CostSums>, 4>, 2>;
  struct PerLayout {
    std::unique_ptr<Ways> ways;
    std::string objection;
    Holdings costs;
    std::array<std::unique_ptr<SharingSums>, 2> sharing;  // by `beside_first`
  };
  // What one stage takes.
  struct StageTimes {
    // Of its first chunk, from when what they work on is there: weights may be gathered before.
    Span first_forward;
    Span first_backward;
    double early = 0;  // of the first pass, that may be over by then
    Span all_forward;  // of all chunks, one micro-batch
    Span all_backward;
    Span weight_gradients;  // of all, where they are apart
    // By each pair of passes that take turns, one of this chunk forward.
    std::array<Span, 2> hidden_by_pair{};
    Span last;  // what the last backward pass takes longer
    Span update;
    double accessed = 0;  // in an iteration
    LinkBytes carried;    // likewise
    double computed = 0;  // likewise, an estimate [ps]
    double events = 0;
    PassTimes passes;  // estimates, in a V alone
  };

  // How layers are cut into stages.
  struct Cuts {
    std::vector<std::size_t> first;  // [parts + 1] first layers, and the end
    std::vector<char> repeats;       // [stages] whether it has the same layers as the one before
    std::vector<char> repeats_in_v;  // likewise where every other chunk lies the other way round
  };

  // What the passes of a stage hold beside what is held all the time.
  struct StagePasses {
    plan::TurnMemory turns;  // in a V alone
    plan::PhaseMemory largest;
    Bytes apart;
  };
  // Stages, chunks, in a V; whether weights are gathered, gradients scattered, and beside others;
  // whether by fully_shard; whether passes take turns.
  using PassesKey = std::tuple<std::uint32_t, std::uint32_t, bool, bool, bool, bool, bool, bool>;

  using DegreesKey = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>;
  using CutKey = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, bool, std::uint32_t,
                            plan::Recompute, bool, bool, bool>;
  using SharingKey = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, plan::ShardMembers>;

  void turn_to(const Candidate& candidate);
  PerLayout& layout_of();
  const CostSums& costs_of(PerLayout& layout, const plan::Holding& holding);
  PassCost cost_of(Ways& ways, const plan::PassOutline& outline);
  const SharingSums& sharing_of(PerLayout& layout);
  const Cuts& cuts_of(std::uint32_t stages, std::uint32_t chunks);
  std::vector<char> repeats_of(const std::vector<std::size_t>& first,
                               const plan::PipelineShape& pipeline) const;
  bool repeats(const Cuts& cuts, std::uint32_t stage) const {
    return (strategy_.v_shaped ? cuts.repeats_in_v : cuts.repeats)[stage] != 0;
  }
  std::vector<std::uint64_t> layer_costs();
  const plan::PassOutline& outline_of(std::size_t kind, PassKind pass,
                                      const plan::Holding& holding);
  std::uint32_t in_flight(const Candidate& candidate, std::uint32_t stage);
  const std::vector<StagePasses>& passes_of(const Cuts& cuts);
  StagePasses passes_of_stage(const std::vector<std::size_t>& cuts, std::uint32_t stage);
  plan::MemoryUse peak_of(const StagePasses& passes, std::uint32_t stage,
                          const plan::StageMemory& memory);
  const std::vector<plan::StageMemory>& memory_of_stages(const Candidate& candidate,
                                                         const SharingSums& sharing,
                                                         const Cuts& cuts);
  plan::BoundaryMemory boundaries_of(const std::vector<std::size_t>& cuts, std::uint32_t stage,
                                     std::uint32_t in_flight) const;
  plan::StageMemory memory_of(const SharingSums& sharing, const std::vector<std::size_t>& cuts,
                              std::uint32_t stage) const;
  void find_need(const PerLayout& layout, const std::vector<plan::StageMemory>& memory,
                 Forecast& forecast) const;
  Need need_at_peaks(const ChannelClass& channel,
                     const std::vector<plan::StageMemory>& memory) const;
  static void take(const Need& need, const std::vector<plan::StageMemory>& memory,
                   Forecast& forecast);
  PassCost cost_of_part(const CostSums& costs, const SharingSums& sharing, std::size_t first,
                        std::size_t end, PassKind pass, bool shares_gradients) const;
  class StageSums;  // forecast/schedule.cpp
  StageTimes times_of(PerLayout& layout, const std::vector<std::size_t>& cuts, std::uint32_t stage,
                      const plan::StageMemory& memory);
  static Span pass_time(const PassCost& cost, double access);
  static Span waited_for(const PassCost& cost);
  // Whether a forward pass follows each backward one, as long as there are any.
  bool alternates() const {
    return strategy_.schedule == "1f1b" || strategy_.schedule == "interleaved";
  }
  double carried_over(const PassCost& others, const PassCost& pass) const;
  LinkBytes bytes_of(Ways& ways, const plan::PassOutline& outline) const;
  LinkBytes carried_by_passes(const CostSums& costs, std::size_t first, std::size_t end) const;
  LinkBytes carried_for_replicas(Ways& ways, const plan::LayerState& state) const;
  LinkBytes carried_by(PerLayout& layout, const std::vector<std::size_t>& cuts, std::uint32_t stage,
                       const plan::StageMemory& memory);
  // Outlines have all gradients; what streams is the tile's share.
  bool streams_shares(const plan::StageMemory& memory) const {
    return strategy_.scatters_each() && !memory.holds_weights &&
           strategy_.sram == plan::SramAllocation::resident;
  }
  static Span pair_time(const PassCost& one, const PassCost& other);
  static void pair_up(const std::vector<CountedPass>& forward,
                      const std::vector<CountedPass>& backward, StageTimes& times);
  Span hidden_in(std::size_t stage, const StageTimes& times);
  const std::vector<StageWalk>& stage_walks() {
    return walks_.of(strategy_.schedule, shape(), strategy_.overlap_passes);
  }
  static bool is_kept_alike(const PerLayout& layout, const std::vector<plan::StageMemory>& memory,
                            std::uint32_t stage);
  Span crossing_of(PerLayout& layout, std::uint32_t stage) const;
  static Span on_crowded_links(const PerLayout& layout, const std::vector<StageTimes>& stages);
  Span iteration(PerLayout& layout, const std::vector<StageTimes>& stages);
  double likely_in_a_v(PerLayout& layout, const std::vector<StageTimes>& stages);
  Span update_of(Ways& ways, const plan::LayerState& state, const plan::StageMemory& memory,
                 double access);
  plan::Group sharing_group() const;
  Span sum_of_copies(Ways& ways, Bytes gradients);
  bool apart() const { return strategy_.schedule == "zb-h1" || strategy_.v_shaped; }
  // Some of its backward passes are whole, though.
  bool is_mixed() const { return strategy_.schedule == "dualpipe-v"; }
  // Whether the last layers lie in the first stage, as in a V: what they share with the first ones
  // is held once.
  std::size_t beside_first() const { return strategy_.v_shaped ? 1 : 0; }
  const std::vector<plan::LayerMemory>& layer_memory();
  Span tied_sum(PerLayout& layout) const;
  plan::PipelineShape shape() const { return strategy_.pipeline_shape(workload_.training); }

  const sim::Experiment& experiment_;
  const workload::Workload& workload_;
  const plan::Strategy& base_;
  WayFinder finder_;
  Durations durations_;
  PassWalks walks_;
  PassClock clock_;
  std::vector<std::size_t> kinds_;   // [layers]
  std::vector<std::size_t> firsts_;  // [kinds] first layer of each
  bool ties_;
  machine::Tile least_tile_;
  bool checks_peaks_;
  std::unique_ptr<collective::Algorithm> tensor_algorithm_;
  std::unique_ptr<collective::Algorithm> data_algorithm_;

  // Of the candidate asked about last.
  plan::Strategy strategy_;
  std::vector<plan::GroupShape> groups_;
  DegreesKey degrees_key_;
  CutKey cut_key_;
  SharingKey sharing_key_;
  bool any_ = false;
  std::array<std::vector<plan::LayerMemory>, 2> layer_memory_;  // by `beside_first`, [kinds]
  Bytes tied_gradients_;  // that the first stage and the last one sum up, of all replicas
  std::map<std::string, PerLayout> layouts_;
  std::map<std::tuple<std::size_t, std::size_t, std::uint8_t, bool, bool>, plan::PassOutline>
      outlines_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Cuts> cuts_;  // by stages and chunks
  std::map<PassesKey, std::vector<StagePasses>> passes_;          // [stages]
  Candidate remembered_;                                          // without its layout
  std::vector<plan::StageMemory> memory_;                         // of that, [stages]
};

}  // namespace tessera::explore
