// An all-to-all in which every pair has a size of its own, as tokens to experts have.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/collective/algorithm.hpp"
#include "tessera/collective/run.hpp"
#include "tessera/collective/turns.hpp"

namespace tessera::collective {

// Each member sends straight to all others, the next one first (exchange_order.hpp), and knows only
// what it sends itself: a member for which there is nothing gets a message without bytes.
class UnequalAllToAll final : public CollectiveRun {
 public:
  // [members] bytes to each; the part of the member itself stays. At most `window` messages are
  // sent beyond those received (0: all at once). Members lie in blocks of `block`.
  UnequalAllToAll(std::vector<std::uint64_t> bytes_to, Member member, std::uint32_t window,
                  const StepCosts& costs, std::uint32_t block = 1);

  void begin(RunActions& actions) override;
  bool arrived(const StepName& name, RunActions& actions) override;
  void elapsed(const StepName& name, RunActions& actions) override;
  bool is_over() const override { return over_ == others(); }
  std::string waits_in() const override;
  std::vector<std::uint32_t> save() const override { return {begun_ ? 1U : 0U, sent_, over_}; }
  void restore(const std::vector<std::uint32_t>& state) override;

 private:
  static constexpr std::uint32_t before_all = 0xFFFFFFFFU;  // StepName::step of the first wait

  std::uint32_t others() const { return static_cast<std::uint32_t>(bytes_to_.size()) - 1; }
  void start(RunActions& actions);
  void send_on(RunActions& actions);
  void take(std::uint32_t step, RunActions& actions);

  std::vector<std::uint64_t> bytes_to_;
  Member member_;
  std::uint32_t window_;
  std::uint32_t block_;
  StepCosts costs_;
  bool begun_ = false;
  std::uint32_t sent_ = 0;
  std::uint32_t over_ = 0;  // messages received
};

}  // namespace tessera::collective
