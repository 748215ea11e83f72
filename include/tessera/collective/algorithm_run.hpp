// One member's part in a collective by one algorithm, in all of its lanes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/collective/algorithm.hpp"
#include "tessera/collective/channels.hpp"
#include "tessera/collective/lane.hpp"
#include "tessera/collective/run.hpp"
#include "tessera/collective/turns.hpp"

namespace tessera::collective {

// Who takes part in what. By itself, or as a phase of a chunk of a stacked collective: its messages
// bear the numbers of both.
struct AlgorithmPart {
  const Algorithm* algorithm = nullptr;  // outlives the run
  Kind kind = Kind::all_reduce;
  std::uint32_t size = 1;
  Member member = 0;  // as the algorithm counts
  Bytes bytes;        // of the vector, in the sense of Algorithm
  StepCosts costs;
  // How others count: member 0 is `root` there, and, turned round, the numbers go down from it; in
  // a channel members of a block have other numbers.
  Member root = 0;
  bool turned_round = false;
  Channel channel;
  std::uint32_t dimension = 0;
  std::uint32_t chunk = 0;
  std::uint16_t phase = 0;
};

class AlgorithmRun final : public CollectiveRun {
 public:
  explicit AlgorithmRun(const AlgorithmPart& part);

  void begin(RunActions& actions) override;
  // The same in two: what is sent at once, and all else. Between them others may send.
  void begin_sending(RunActions& actions);
  void go_on(RunActions& actions);
  bool arrived(const StepName& name, RunActions& actions) override;
  void elapsed(const StepName& name, RunActions& actions) override;
  void passed_on(const StepName& name, std::uint32_t steps) override;
  bool is_over() const override { return lanes_left_ == 0; }
  bool visit_awaited(const AwaitedVisit& visit) const override;
  std::string waits_in() const override;
  std::vector<std::uint32_t> save() const override;
  void restore(const std::vector<std::uint32_t>& state) override;

 private:
  class Host;
  struct LaneState {
    Lane lane;
    std::vector<bool> ended;  // of algorithms that do not go in step
  };
  bool visit_lane(std::uint32_t number, const AwaitedVisit& visit) const;
  Member counted(Member member) const {
    return part_.channel.turned_back(part_.turned_round && member != 0 ? part_.size - member
                                                                       : member);
  }

  LaneState& lane_at(std::uint32_t lane) { return lane == 0 ? first_lane_ : more_lanes_[lane - 1]; }
  const LaneState& lane_at(std::uint32_t lane) const {
    return lane == 0 ? first_lane_ : more_lanes_[lane - 1];
  }

  static constexpr std::uint32_t before_steps = 0xFFFFFFFFU;  // StepName::step of the first wait

  void start(RunActions& actions);
  void go_on(Host& host);

  AlgorithmPart part_;
  std::uint32_t steps_ = 0;  // of each lane
  bool passes_on_ = false;   // see Lane
  bool begun_ = false;       // the endpoint delay is over
  std::uint32_t lanes_left_ = 0;
  // Most algorithms have one lane, which lies with the run: each message looks for it.
  std::uint32_t lane_count_ = 0;
  LaneState first_lane_;
  std::vector<LaneState> more_lanes_;
};

}  // namespace tessera::collective
