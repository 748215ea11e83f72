#include "tessera/collective/unequal_all_to_all.hpp"

#include <utility>

#include "tessera/collective/exchange_order.hpp"
#include "tessera/core/error.hpp"

namespace tessera::collective {

UnequalAllToAll::UnequalAllToAll(std::vector<std::uint64_t> bytes_to, Member member,
                                 std::uint32_t window, const StepCosts& costs, std::uint32_t block)
    : bytes_to_(std::move(bytes_to)),
      member_(member),
      window_(window),
      block_(block),
      costs_(costs) {
  ensure(member < bytes_to_.size(), "a member with a part of its own");
}

void UnequalAllToAll::begin(RunActions& actions) {
  if (others() > 0 && costs_.endpoint > SimTime::zero()) {
    actions.wait(costs_.endpoint, {0, 0, 0, before_all});
    return;
  }
  start(actions);
}

void UnequalAllToAll::start(RunActions& actions) {
  begun_ = true;
  send_on(actions);
  // What others sent before.
  for (std::uint32_t turn = 1; turn <= others(); ++turn) {
    if (actions.take_early({0, 0, 0, turn})) {
      take(turn, actions);
    }
  }
  send_on(actions);
}

// A message is named by its turn, which is the receiver's too.
void UnequalAllToAll::send_on(RunActions& actions) {
  const ExchangeOrder order{others() + 1, block_};
  while (sent_ < others() && (window_ == 0 || sent_ < over_ + window_)) {
    const std::uint32_t turn = ++sent_;
    const Member to = order.to(member_, turn);
    actions.send(0, to, {0, 0, 0, turn}, costs_.on_wire(Bytes(bytes_to_[to])));
  }
}

void UnequalAllToAll::take(std::uint32_t step, RunActions& actions) {
  actions.taken(std::nullopt);
  if (costs_.endpoint > SimTime::zero()) {
    actions.wait(costs_.endpoint, {0, 0, 0, step});
  } else {
    ++over_;
  }
}

bool UnequalAllToAll::arrived(const StepName& name, RunActions& actions) {
  if (!begun_) {
    return false;
  }
  take(name.step, actions);
  send_on(actions);
  return true;
}

void UnequalAllToAll::elapsed(const StepName& name, RunActions& actions) {
  if (name.step == before_all) {
    start(actions);
    return;
  }
  ++over_;
  send_on(actions);
}

std::string UnequalAllToAll::waits_in() const {
  return std::to_string(others() - over_) + " messages of its all-to-all";
}

void UnequalAllToAll::restore(const std::vector<std::uint32_t>& state) {
  ensure(state.size() == 3, "the state of a collective is whole");
  begun_ = state[0] != 0;
  sent_ = state[1];
  over_ = state[2];
}

}  // namespace tessera::collective
