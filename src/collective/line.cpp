// Collectives of members that form no ring: where the way from the last member back to the first is
// long, an all-reduce is a reduce down the line of members and a broadcast back, 4 (n - 1) steps.
// It sends the vector 2 (n - 1) times in all, as a ring does, but each member but those at the ends
// all of it twice. The other kinds go around as in `ring`.

#include "line.hpp"

#include <memory>

#include "tessera/core/error.hpp"

namespace tessera::collective {

Step line_step(Kind kind, std::uint32_t size, Member member, Bytes bytes, std::uint32_t step) {
  const bool outward = kind == Kind::broadcast;
  const std::uint32_t place = outward ? member : size - 1 - member;  // in the line
  const auto at = [&](std::uint32_t other) { return outward ? other : size - 1 - other; };
  Step result;
  if (place + 1 < size && step >= place && step - place < size) {
    result.send_to = at(place + 1);
    result.send_chunk = step - place;
    result.send_bytes = chunk_bytes(bytes, size, result.send_chunk);
  }
  if (place > 0 && step + 1 >= place && step + 1 - place < size) {
    result.receive_from = at(place - 1);
    result.receive_chunk = step + 1 - place;
    result.receive_bytes = chunk_bytes(bytes, size, result.receive_chunk);
    result.reduces = !outward;
  }
  return result;
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

  Step step(Kind kind, std::uint32_t size, Member member, Bytes bytes,
            std::uint32_t step) const override {
    if (kind != Kind::all_reduce) {
      return ring_->step(kind, size, member, bytes, step);
    }
    ensure(member < size, "a member outside its group");
    ensure(step < steps(kind, size), "a step after the last one");
    const std::uint32_t reducing = 2 * (size - 1);
    return step < reducing ? line_step(Kind::reduce, size, member, bytes, step)
                           : line_step(Kind::broadcast, size, member, bytes, step - reducing);
  }

 private:
  std::unique_ptr<Algorithm> ring_ = algorithms().at("ring")();
};

const Registration registration(
    algorithms(),
    {"line",
     "for members that form no ring: all-reduce as a reduce and a broadcast down a line",
     {}},
    [] { return std::make_unique<Line>(); });

}  // namespace
}  // namespace tessera::collective
