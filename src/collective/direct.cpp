// Everybody sends straight to everybody: for full crossbars and switches, where a message disturbs
// no other. A member begins the messages of a phase all at once or, with a window of w, w at a time
// (as the `direct` algorithm of ASTRA-sim 2.0).
//
// Where members lie in blocks, a block on each server, they turn within them (exchange_order.hpp).
//
// Reduce-scatter, all-gather, all-to-all and barrier are one phase of n - 1 messages; an all-reduce
// is a reduce-scatter, then an all-gather, which begins once the former is over. Kinds with a root
// are a star around it: step s is between the root and member s + 1.

#include <algorithm>
#include <cstdint>
#include <memory>

#include "step_maker.hpp"

namespace tessera::collective {
namespace {

class Direct final : public Algorithm {
 public:
  explicit Direct(std::uint32_t window, std::uint32_t block = 1) : window_(window), block_(block) {}

  std::uint32_t steps(Kind kind, std::uint32_t size) const override {
    ensure(size > 0, "a collective of nobody");
    return (kind == Kind::all_reduce ? 2 : 1) * (size - 1);
  }
  // Members counted the other way round lie in other blocks.
  bool turns_round() const override { return block_ == 1; }
  std::unique_ptr<Algorithm> in_blocks(std::uint32_t block) const override {
    return std::make_unique<Direct>(window_, block);
  }
  std::uint32_t block() const override { return block_; }
  bool has_window() const override { return true; }
  bool in_step() const override { return window_ == 1; }

  Step step(Kind kind, std::uint32_t size, Member member, Bytes bytes, std::uint32_t step,
            std::uint32_t /*lane*/) const override {
    check_step(size, member, step, steps(kind, size));
    const std::uint32_t phase_begin = step < size - 1 ? 0 : size - 1;
    Step result;
    switch (kind) {
      case Kind::all_to_all:
        result = exchange_step({size, block_}, member, bytes, step);
        break;
      case Kind::broadcast:
      case Kind::reduce:
      case Kind::gather:
      case Kind::scatter:
        result = star(kind, size, member, bytes, step);
        break;
      default: {
        const bool reduces =
            kind == Kind::reduce_scatter || (kind == Kind::all_reduce && phase_begin == 0);
        result = phase(kind, size, member, bytes, step, step - phase_begin, reduces);
      }
    }
    result.after = phase_begin;
    if (window_ > 0 && step >= window_) {
      result.after = std::max(phase_begin, step - window_ + 1);
    }
    return result;
  }

 private:
  Step phase(Kind kind, std::uint32_t size, Member member, Bytes bytes, std::uint32_t step,
             std::uint32_t turn, bool reduces) const {
    const ExchangeOrder order{size, block_};
    const Member to = order.to(member, turn + 1);
    const Member from = order.from(member, turn + 1);
    return StepMaker(kind, size, bytes, step)
        .send(to, {reduces ? to : member, 1})
        .receive(from, {reduces ? member : from, 1}, reduces)
        .step();
  }

  static Step star(Kind kind, std::uint32_t size, Member member, Bytes bytes, std::uint32_t step) {
    StepMaker maker(kind, size, bytes, step);
    const Member leaf = step + 1;
    if (member != 0 && member != leaf) {
      return maker.step();
    }
    const bool outward = kind == Kind::broadcast || kind == Kind::scatter;
    const bool whole = kind == Kind::broadcast || kind == Kind::reduce;
    const Chunks chunks = whole ? maker.all() : Chunks{leaf, 1};
    const Member other = member == 0 ? leaf : 0;
    if ((member == 0) == outward) {
      return maker.send(other, chunks).step();
    }
    return maker.receive(other, chunks, kind == Kind::reduce).step();
  }

  std::uint32_t window_;
  std::uint32_t block_;
};

const Registration direct_registration(
    algorithms(),
    {"direct", "every member sends directly to every other, all at once or in a window", {}},
    [](const AlgorithmOptions& options) { return std::make_unique<Direct>(options.window); });

}  // namespace
}  // namespace tessera::collective
