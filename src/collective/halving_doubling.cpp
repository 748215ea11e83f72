// Recursive halving and doubling: log2 n steps in which partners at distance n/2, n/4, …, 1
// exchange halves of what they still have (reduce-scatter), and the way back (all-gather); an
// all-reduce is the one after the other. Bandwidth-optimal with the fewest steps, if every pair can
// talk at full speed (R. Thakur, R. Rabenseifner, W. Gropp, IJHPCA 19 (2005), sections 4.3 and 4.5,
// doi:10.1177/1094342005051521).
//
// Where n is no power of two, 2^k < n, the first 2 (n - 2^k) members form pairs; one step before,
// the odd one of a pair gives what it has to the even one, which acts for both, and one step after
// it gets its part (Thakur et al. fold in halves, which takes one more exchange in place of sending
// a whole vector). Chunks of a pair are neighbours, so what is exchanged is in one piece.
//
// A barrier is a dissemination, ceil(log2 n) steps (D. Hensgen, R. Finkel, U. Manber, Int. J.
// Parallel Program. 17 (1988), doi:10.1007/BF01379320). Kinds with a root take a binomial tree. An
// all-to-all is a pairwise exchange, among a power of two by exclusive or (Thakur et al., section
// 4.4).

#include <bit>
#include <cstdint>
#include <memory>

#include "binomial.hpp"
#include "step_maker.hpp"

namespace tessera::collective {
namespace {

// The members that act, a power of two of them, and for whom.
class Fold {
 public:
  explicit Fold(std::uint32_t size)
      : size_(size), actors_(std::bit_floor(size)), pairs_(size - actors_) {}

  std::uint32_t actors() const { return actors_; }
  std::uint32_t levels() const { return static_cast<std::uint32_t>(std::countr_zero(actors_)); }
  bool folds() const { return pairs_ > 0; }
  bool in_pair(Member member) const { return member < 2 * pairs_; }
  bool acts(Member member) const { return !in_pair(member) || member % 2 == 0; }
  std::uint32_t actor_of(Member member) const {
    return in_pair(member) ? member / 2 : member - pairs_;
  }
  Member member_of(std::uint32_t actor) const {
    return actor < pairs_ ? 2 * actor : actor + pairs_;
  }
  // Chunks of the actors [first, first + count).
  Chunks chunks_of(std::uint32_t first, std::uint32_t count) const {
    const std::uint32_t begin = first_chunk(first);
    return {begin, first_chunk(first + count) - begin};
  }

 private:
  std::uint32_t first_chunk(std::uint32_t actor) const {
    return actor == actors_ ? size_ : member_of(actor);
  }

  std::uint32_t size_;
  std::uint32_t actors_;
  std::uint32_t pairs_;
};

class HalvingDoubling final : public Algorithm {
 public:
  std::uint32_t steps(Kind kind, std::uint32_t size) const override {
    ensure(size > 0, "a collective of nobody");
    const Fold fold(size);
    const std::uint32_t folding = fold.folds() ? 2 : 0;
    switch (kind) {
      case Kind::all_reduce:
        return 2 * fold.levels() + folding;
      case Kind::reduce_scatter:
      case Kind::all_gather:
        return fold.levels() + folding;
      case Kind::all_to_all:
        return size - 1;
      default:
        return binomial_steps(size);
    }
  }

  Step step(Kind kind, std::uint32_t size, Member member, Bytes bytes, std::uint32_t step,
            std::uint32_t /*lane*/) const override {
    check_step(size, member, step, steps(kind, size));
    switch (kind) {
      case Kind::all_reduce:
      case Kind::reduce_scatter:
      case Kind::all_gather:
        return halve_or_double(kind, size, member, bytes, step);
      case Kind::all_to_all:
        return exchange(size, member, bytes, step);
      case Kind::barrier:
        return disseminate(size, member, step);
      default:
        return binomial_step(kind, size, member, bytes, step);
    }
  }

 private:
  Step halve_or_double(Kind kind, std::uint32_t size, Member member, Bytes bytes,
                       std::uint32_t step) const {
    const Fold fold(size);
    StepMaker maker(kind, size, bytes, step);
    if (fold.folds() && step == 0) {
      return pair_step(maker, fold, member, true,
                       kind == Kind::all_gather ? Chunks{member | 1U, 1} : maker.all(),
                       kind != Kind::all_gather);
    }
    if (fold.folds() && step + 1 == steps(kind, size)) {
      return pair_step(maker, fold, member, false,
                       kind == Kind::reduce_scatter ? Chunks{member | 1U, 1} : maker.all(), false);
    }
    if (!fold.acts(member)) {
      return maker.step();
    }
    const std::uint32_t turn = step - (fold.folds() ? 1 : 0);
    const bool halves = kind != Kind::all_gather && turn < fold.levels();
    const std::uint32_t level = halves                     ? fold.levels() - 1 - turn
                                : kind == Kind::all_gather ? turn
                                                           : turn - fold.levels();
    const std::uint32_t distance = 1U << level;
    const std::uint32_t self = fold.actor_of(member);
    const std::uint32_t other = self ^ distance;
    const Chunks mine = fold.chunks_of(self & ~(distance - 1), distance);
    const Chunks theirs = fold.chunks_of(other & ~(distance - 1), distance);
    const Member partner = fold.member_of(other);
    // Halving: each keeps the half with its own chunk. Doubling: each hands on what it has.
    return maker.send(partner, halves ? theirs : mine)
        .receive(partner, halves ? mine : theirs, halves)
        .step();
  }

  // Between the two of a pair, to the one that acts or back.
  static Step pair_step(StepMaker& maker, const Fold& fold, Member member, bool to_actor,
                        Chunks chunks, bool reduces) {
    if (!fold.in_pair(member)) {
      return maker.step();
    }
    const Member other = member ^ 1U;
    return (fold.acts(member) == to_actor ? maker.receive(other, chunks, reduces)
                                          : maker.send(other, chunks))
        .step();
  }

  static Step exchange(std::uint32_t size, Member member, Bytes bytes, std::uint32_t step) {
    if (!std::has_single_bit(size)) {
      return exchange_step({size}, member, bytes, step);
    }
    const Member partner = member ^ (step + 1);
    StepMaker maker(Kind::all_to_all, size, bytes, step);
    return maker.send(partner, maker.pair(member, partner))
        .receive(partner, maker.pair(partner, member))
        .step();
  }

  static Step disseminate(std::uint32_t size, Member member, std::uint32_t step) {
    const std::uint32_t distance = 1U << step;
    return StepMaker(Kind::barrier, size, Bytes(0), step)
        .send((member + distance) % size, {})
        .receive((member + size - distance) % size, {})
        .step();
  }
};

const Registration halving_doubling_registration(
    algorithms(),
    {"halving-doubling",
     "partners at halving distances exchange halves: the fewest steps if all members are connected",
     {}},
    [](const AlgorithmOptions&) { return std::make_unique<HalvingDoubling>(); });

}  // namespace
}  // namespace tessera::collective
