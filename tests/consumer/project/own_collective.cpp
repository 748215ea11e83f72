// A collective algorithm of one's own, in one file: `collectives: {tensor: by-the-first}`. For an
// all-reduce the first member takes the vectors of all others, one after the other, adds them up
// and hands the sum to each in turn.
#include <memory>

#include "tessera/collective/algorithm.hpp"

namespace {

using namespace tessera;
using namespace tessera::collective;

class ByTheFirst final : public Algorithm {
 public:
  bool offers(Kind kind) const override { return kind == Kind::all_reduce; }
  std::uint32_t steps(Kind, std::uint32_t size) const override {
    ensure(size > 0, "a collective of nobody");
    return 2 * (size - 1);
  }
  Step step(Kind, std::uint32_t size, Member member, Bytes bytes, std::uint32_t step,
            std::uint32_t) const override {
    ensure(member < size && step < 2 * (size - 1), "a member or a step outside its group");
    const bool adds_up = step < size - 1;
    const Member other = 1 + (adds_up ? step : step - (size - 1));
    Step result;
    result.after = step;
    if (member != 0 && member != other) {
      return result;
    }
    if ((member == 0) == adds_up) {
      result.receive_from = member == 0 ? other : 0;
      result.receive_chunks = {0, size};
      result.receive_bytes = bytes;
      result.reduces = adds_up;
    } else {
      result.send_to = member == 0 ? other : 0;
      result.send_chunks = {0, size};
      result.send_bytes = bytes;
      result.send_step = step;
    }
    return result;
  }
};

const Registration registration(algorithms(),
                                {"by-the-first", "the first member adds up and hands out", {}},
                                [](const AlgorithmOptions&) {
                                  return std::make_unique<ByTheFirst>();
                                });

}  // namespace
