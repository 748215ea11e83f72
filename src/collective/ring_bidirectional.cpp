// Two rings at once, one each way round, on a half of the vector each: for rings whose links carry
// as much in both directions at once. The second is `ring` among members counted backwards, of
// which member 0 stays the first.

#include <cstdint>
#include <memory>
#include <utility>

#include "step_maker.hpp"

namespace tessera::collective {
namespace {

class RingBidirectional final : public Algorithm {
 public:
  std::uint32_t lanes(Kind /*kind*/) const override { return 2; }
  std::uint32_t steps(Kind kind, std::uint32_t size) const override {
    return ring_->steps(kind, size);
  }
  bool in_step() const override { return false; }

  Step step(Kind kind, std::uint32_t size, Member member, Bytes bytes, std::uint32_t step,
            std::uint32_t lane) const override {
    ensure(lane < 2, "a lane that is not there");
    if (lane == 0) {
      return ring_->step(kind, size, member, bytes, step, 0);
    }
    ensure(member < size, "a member outside its group");
    const Step other = ring_->step(kind, size, mirrored(member, size), bytes, step, 0);
    StepMaker maker(kind, size, bytes, step);
    if (other.send_to != nobody) {
      maker.send(mirrored(other.send_to, size), mirrored(kind, other.send_chunks, size));
    }
    if (other.receive_from != nobody) {
      maker.receive(mirrored(other.receive_from, size), mirrored(kind, other.receive_chunks, size),
                    other.reduces);
    }
    return maker.step();
  }

 private:
  static std::uint32_t mirrored(std::uint32_t number, std::uint32_t size) {
    return number == 0 ? 0 : size - number;
  }
  // The ring passes them on one by one.
  static Chunks mirrored(Kind kind, Chunks chunks, std::uint32_t size) {
    ensure(chunks.count == 1, "a ring passes one chunk a step");
    if (kind == Kind::all_to_all) {
      return {mirrored(chunks.first / size, size) * size + mirrored(chunks.first % size, size), 1};
    }
    return {mirrored(chunks.first, size), 1};
  }

  std::unique_ptr<Algorithm> ring_ = algorithms().at("ring")({});
};

const Registration ring_bidirectional_registration(
    algorithms(),
    {"ring-bidirectional",
     "two rings at once, in opposite directions, each with half of the vector",
     {}},
    [](const AlgorithmOptions&) { return std::make_unique<RingBidirectional>(); });

}  // namespace
}  // namespace tessera::collective
