// Ring collectives: every member sends to the next and receives from the one before, in every step,
// so that each link of the ring carries one chunk a step (bandwidth-optimal; P. Patarasuk, X. Yuan,
// "Bandwidth optimal all-reduce algorithms for clusters of workstations", JPDC 69 (2009),
// doi:10.1016/j.jpdc.2008.09.002).
//
// Reduce-scatter, n - 1 steps: in step s member i sends chunk i - s - 1 and adds what it receives
// to its chunk i - s - 2 (mod n); the chunk that comes in last, complete, is its own, i.
// All-gather, n - 1 steps: member i sends chunk i - s and receives chunk i - s - 1. An all-reduce
// is the one after the other, 2 (n - 1) steps. Every member sends 2 (n - 1)/n of the vector in an
// all-reduce, half of it in reduce-scatter and all-gather, up to one byte a step. A barrier is an
// all-gather of nothing.
//
// Kinds with a root go down the line of members: see line.hpp. An all-to-all, n - 1 steps, is a
// pairwise exchange, which leaves the ring: see exchange_step.

#include <cstdint>
#include <memory>

#include "line.hpp"
#include "step_maker.hpp"

namespace tessera::collective {
namespace {

class Ring final : public Algorithm {
 public:
  std::uint32_t steps(Kind kind, std::uint32_t size) const override {
    ensure(size > 0, "a collective of nobody");
    switch (kind) {
      case Kind::all_reduce:
        return 2 * (size - 1);
      case Kind::broadcast:
      case Kind::reduce:
        return line_steps(kind, size);
      default:
        return size - 1;
    }
  }

  bool turns_round() const override { return true; }
  bool is_as_ring(Kind /*kind*/) const override { return true; }
  bool is_steady(Kind kind) const override {
    return kind == Kind::all_reduce || kind == Kind::reduce_scatter || kind == Kind::all_gather ||
           kind == Kind::barrier;
  }

  bool is_passed_on(Kind kind) const override {
    return kind == Kind::all_reduce || kind == Kind::reduce_scatter || kind == Kind::all_gather;
  }

  Step step(Kind kind, std::uint32_t size, Member member, Bytes bytes, std::uint32_t step,
            std::uint32_t /*lane*/) const override {
    check_step(size, member, step, steps(kind, size));
    switch (kind) {
      case Kind::all_to_all:
        return exchange_step({size}, member, bytes, step);
      case Kind::broadcast:
      case Kind::reduce:
      case Kind::gather:
      case Kind::scatter:
        return line_step(kind, size, member, bytes, step);
      default:
        return around(kind, size, member, bytes, step);
    }
  }

 private:
  static Step around(Kind kind, std::uint32_t size, Member member, Bytes bytes,
                     std::uint32_t step) {
    const bool reduces =
        kind == Kind::reduce_scatter || (kind == Kind::all_reduce && step < size - 1);
    // How far behind the own chunk the sent one is; at most size - 1.
    const std::uint32_t behind = reduces ? step + 1 : step % (size - 1);
    const std::uint32_t sent = member >= behind ? member - behind : member + (size - behind);
    const std::uint32_t received = sent == 0 ? size - 1 : sent - 1;
    const ChunkSizes sizes(kind == Kind::barrier ? Bytes(0) : bytes, size);
    // Asked for at each message of most runs: written where the caller wants it.
    Step now;
    now.send_to = member + 1 == size ? 0 : member + 1;
    now.send_chunks = {sent, 1};
    now.send_bytes = sizes.of(sent);
    now.send_step = step;
    now.receive_from = member == 0 ? size - 1 : member - 1;
    now.receive_chunks = {received, 1};
    now.receive_bytes = sizes.of(received);
    now.reduces = reduces;
    now.after = step;
    return now;
  }
};

const Registration ring_registration(
    algorithms(),
    {"ring",
     "neighbours in a ring pass on one chunk per step; uses the full bandwidth of a ring",
     {}},
    [](const AlgorithmOptions&) { return std::make_unique<Ring>(); });

}  // namespace
}  // namespace tessera::collective
