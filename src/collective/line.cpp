// Collectives of members that form no ring: where the way from the last member back to the first is
// long, an all-reduce is a reduce down the line of members and a broadcast back, 4 (n - 1) steps.
// It sends the vector 2 (n - 1) times in all, as a ring does, but each member but those at the ends
// all of it twice. The other kinds go around as in `ring`.

#include "line.hpp"

#include <memory>

#include "step_maker.hpp"

namespace tessera::collective {
namespace {

Step pass_on(Kind kind, std::uint32_t size, Member member, Bytes bytes, std::uint32_t step) {
  const bool outward = kind == Kind::broadcast;
  const std::uint32_t place = outward ? member : size - 1 - member;  // in the line
  const auto at = [&](std::uint32_t other) { return outward ? other : size - 1 - other; };
  StepMaker maker(kind, size, bytes, step);
  if (place + 1 < size && step >= place && step - place < size) {
    maker.send(at(place + 1), {step - place, 1});
  }
  if (place > 0 && step + 1 >= place && step + 1 - place < size) {
    maker.receive(at(place - 1), {step + 1 - place, 1}, !outward);
  }
  return maker.step();
}

Step gather(std::uint32_t size, Member member, Bytes bytes, std::uint32_t step) {
  StepMaker maker(Kind::gather, size, bytes, step);
  if (member > 0 && member + step < size) {
    maker.send(member - 1, {member + step, 1});
  }
  if (member + 1 + step < size) {
    maker.receive(member + 1, {member + 1 + step, 1});
  }
  return maker.step();
}

// The chunk that has farthest to go leaves first.
Step scatter(std::uint32_t size, Member member, Bytes bytes, std::uint32_t step) {
  StepMaker maker(Kind::scatter, size, bytes, step);
  if (step >= member && member + 1 < size) {
    maker.send(member + 1, {size - 1 - (step - member), 1});
  }
  if (member > 0 && step + 1 >= member) {
    maker.receive(member - 1, {size - 1 - (step + 1 - member), 1});
  }
  return maker.step();
}

}  // namespace

std::uint32_t line_steps(Kind kind, std::uint32_t size) {
  const bool whole_vector = kind == Kind::broadcast || kind == Kind::reduce;
  return (whole_vector ? 2 : 1) * (size - 1);
}

Step line_step(Kind kind, std::uint32_t size, Member member, Bytes bytes, std::uint32_t step) {
  switch (kind) {
    case Kind::broadcast:
    case Kind::reduce:
      return pass_on(kind, size, member, bytes, step);
    case Kind::gather:
      return gather(size, member, bytes, step);
    case Kind::scatter:
      return scatter(size, member, bytes, step);
    default:
      throw InternalError(to_string(kind) + " has no root");
  }
}

namespace {

class Line final : public Algorithm {
 public:
  std::uint32_t steps(Kind kind, std::uint32_t size) const override {
    return kind == Kind::all_reduce ? 2 * ring_->steps(kind, size) : ring_->steps(kind, size);
  }

  bool is_steady(Kind kind) const override {
    return kind != Kind::all_reduce && ring_->is_steady(kind);
  }
  bool is_as_ring(Kind kind) const override { return kind != Kind::all_reduce; }

  Step step(Kind kind, std::uint32_t size, Member member, Bytes bytes, std::uint32_t step,
            std::uint32_t lane) const override {
    if (kind != Kind::all_reduce) {
      return ring_->step(kind, size, member, bytes, step, lane);
    }
    check_step(size, member, step, steps(kind, size));
    const std::uint32_t reducing = line_steps(Kind::reduce, size);
    const bool returns = step >= reducing;
    Step result = line_step(returns ? Kind::broadcast : Kind::reduce, size, member, bytes,
                            returns ? step - reducing : step);
    result.send_step = step;
    result.after = step;
    return result;
  }

 private:
  std::unique_ptr<Algorithm> ring_ = algorithms().at("ring")({});
};

const Registration line_registration(
    algorithms(),
    {"line",
     "for members that form no ring: all-reduce as a reduce and a broadcast along a line",
     {}},
    [](const AlgorithmOptions&) { return std::make_unique<Line>(); });

}  // namespace
}  // namespace tessera::collective
