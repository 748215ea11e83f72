// An all-to-all on a ring whose members talk to the next one only: what has d members to go is
// handed on d times, for d = 1 … n - 1 in turn, n (n - 1) / 2 steps. The other kinds are those of
// `ring`. (The ring all-to-all of ASTRA-sim takes as many steps: its reference figures,
// k = n (n - 1) / 2.)

#include <cmath>
#include <cstdint>
#include <memory>

#include "step_maker.hpp"

namespace tessera::collective {
namespace {

// The largest d with d (d - 1) / 2 <= step.
std::uint32_t distance_of(std::uint32_t step) {
  auto distance = static_cast<std::uint64_t>((1.0 + std::sqrt(1.0 + 8.0 * step)) / 2.0);
  while (distance * (distance - 1) / 2 > step) {
    --distance;
  }
  while ((distance + 1) * distance / 2 <= step) {
    ++distance;
  }
  return static_cast<std::uint32_t>(distance);
}

class RingRelay final : public Algorithm {
 public:
  std::uint32_t steps(Kind kind, std::uint32_t size) const override {
    const std::uint32_t around = ring_->steps(kind, size);
    if (kind != Kind::all_to_all) {
      return around;
    }
    ensure(size <= 65536, "the steps of so large a relay cannot be counted");
    return static_cast<std::uint32_t>(std::uint64_t{size} * (size - 1) / 2);
  }
  bool turns_round() const override { return true; }
  bool is_steady(Kind kind) const override { return ring_->is_steady(kind); }
  bool is_as_ring(Kind kind) const override { return kind != Kind::all_to_all; }
  bool is_passed_on(Kind kind) const override { return ring_->is_passed_on(kind); }

  Step step(Kind kind, std::uint32_t size, Member member, Bytes bytes, std::uint32_t step,
            std::uint32_t lane) const override {
    if (kind != Kind::all_to_all) {
      return ring_->step(kind, size, member, bytes, step, lane);
    }
    check_step(size, member, step, steps(kind, size));
    const std::uint32_t distance = distance_of(step);
    const std::uint32_t handed_on = step - distance * (distance - 1) / 2;  // times before
    const auto before = [size](Member number, std::uint32_t places) {
      return (number + size - places) % size;
    };
    const Member sender = before(member, 1);
    const Member mine = before(member, handed_on);
    const Member theirs = before(sender, handed_on);
    StepMaker maker(kind, size, bytes, step);
    return maker.send((member + 1) % size, maker.pair(mine, (mine + distance) % size))
        .receive(sender, maker.pair(theirs, (theirs + distance) % size))
        .step();
  }

 private:
  std::unique_ptr<Algorithm> ring_ = algorithms().at("ring")({});
};

const Registration ring_relay_registration(
    algorithms(),
    {"ring-relay", "as ring, but an all-to-all is also passed on from member to member", {}},
    [](const AlgorithmOptions&) { return std::make_unique<RingRelay>(); });

}  // namespace
}  // namespace tessera::collective
