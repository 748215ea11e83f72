// Ring collectives: every member sends to the next and receives from the one before, in every step,
// so that each link of the ring carries one chunk a step (bandwidth-optimal; P. Patarasuk, X. Yuan,
// "Bandwidth optimal all-reduce algorithms for clusters of workstations", JPDC 69 (2009),
// doi:10.1016/j.jpdc.2008.09.002).
//
// Reduce-scatter, n - 1 steps: in step s member i sends chunk i - s - 1 and adds what it receives
// to its chunk i - s - 2 (mod n); the chunk that comes in last, complete, is its own, i.
// All-gather, n - 1 steps: member i sends chunk i - s and receives chunk i - s - 1. An all-reduce
// is the one after the other, 2 (n - 1) steps. Every member sends 2 (n - 1)/n of the vector in an
// all-reduce, half of it in reduce-scatter and all-gather, up to one byte a step.
//
// Broadcast and reduce go down the line of members, 2 (n - 1) steps: see line.hpp.
//
// All-to-all, n - 1 steps: in step s member i sends straight to the (s + 1)-th one after it and
// receives from the (s + 1)-th one before it, so that every link of a full crossbar is used once
// (pairwise exchange; R. Thakur, R. Rabenseifner, W. Gropp, IJHPCA 19 (2005), section 4.4,
// doi:10.1177/1094342005051521).

#include <cstdint>
#include <memory>

#include "line.hpp"
#include "tessera/collective/algorithm.hpp"
#include "tessera/core/error.hpp"

namespace tessera::collective {
namespace {

class Ring final : public Algorithm {
 public:
  std::uint32_t steps(Kind kind, std::uint32_t size) const override {
    ensure(size > 0, "a collective of nobody");
    const bool once =
        kind == Kind::reduce_scatter || kind == Kind::all_gather || kind == Kind::all_to_all;
    return once ? size - 1 : 2 * (size - 1);
  }

  bool is_steady(Kind kind) const override {
    return kind == Kind::all_reduce || kind == Kind::reduce_scatter || kind == Kind::all_gather;
  }

  Step step(Kind kind, std::uint32_t size, Member member, Bytes bytes,
            std::uint32_t step) const override {
    ensure(member < size, "a member outside its group");
    ensure(step < steps(kind, size), "a step after the last one");
    const bool reduces =
        kind == Kind::reduce_scatter || (kind == Kind::all_reduce && step < size - 1);
    if (kind == Kind::all_to_all) {
      return exchange(size, member, bytes, step + 1);
    }
    if (kind == Kind::broadcast || kind == Kind::reduce) {
      return line_step(kind, size, member, bytes, step);
    }
    // How far behind the own chunk the sent one is; at most size - 1.
    const std::uint32_t behind = reduces ? step + 1 : step % (size - 1);
    Step result;
    result.send_to = member + 1 == size ? 0 : member + 1;
    result.send_chunk = member >= behind ? member - behind : member + (size - behind);
    result.send_bytes = chunk_bytes(bytes, size, result.send_chunk);
    result.receive_from = member == 0 ? size - 1 : member - 1;
    result.receive_chunk = result.send_chunk == 0 ? size - 1 : result.send_chunk - 1;
    result.receive_bytes = chunk_bytes(bytes, size, result.receive_chunk);
    result.reduces = reduces;
    return result;
  }

 private:
  static Step exchange(std::uint32_t size, Member member, Bytes bytes, std::uint32_t distance) {
    Step result;
    result.send_to = (member + distance) % size;
    result.send_chunk = result.send_to;
    result.send_bytes = chunk_bytes(bytes, size, result.send_chunk);
    result.receive_from = (member + size - distance) % size;
    result.receive_chunk = member;
    result.receive_bytes = chunk_bytes(bytes, size, member);
    return result;
  }
};

const Registration registration(
    algorithms(),
    {"ring", "neighbours in a ring pass one chunk a step; uses the whole bandwidth of a ring", {}},
    [] { return std::make_unique<Ring>(); });

}  // namespace
}  // namespace tessera::collective
