// Writes the fields of a step that follow from each other.
#pragma once

#include <cstdint>

#include "tessera/collective/algorithm.hpp"
#include "tessera/collective/exchange_order.hpp"
#include "tessera/core/error.hpp"

namespace tessera::collective {

class StepMaker {
 public:
  // Step number `step` of an algorithm that goes in step.
  StepMaker(Kind kind, std::uint32_t size, Bytes bytes, std::uint32_t step)
      : kind_(kind), size_(size), sizes_(kind == Kind::barrier ? Bytes(0) : bytes, size) {
    result_.send_step = step;
    result_.after = step;
  }

  StepMaker& send(Member to, Chunks chunks) {
    result_.send_to = to;
    result_.send_chunks = chunks;
    result_.send_bytes = bytes_of(chunks);
    return *this;
  }
  StepMaker& receive(Member from, Chunks chunks, bool reduces = false) {
    result_.receive_from = from;
    result_.receive_chunks = chunks;
    result_.receive_bytes = bytes_of(chunks);
    result_.reduces = reduces;
    return *this;
  }
  StepMaker& taken_in(std::uint32_t step) {
    result_.send_step = step;
    return *this;
  }
  StepMaker& after(std::uint32_t steps) {
    result_.after = steps;
    return *this;
  }
  Chunks all() const { return {0, size_}; }
  // What `from` has for `to` in an all-to-all.
  Chunks pair(Member from, Member to) const { return {from * size_ + to, 1}; }
  Step step() const { return result_; }

 private:
  Bytes bytes_of(Chunks chunks) const {
    if (kind_ == Kind::all_to_all) {
      ensure(chunks.count == 1, "an all-to-all sends one by one");
      return sizes_.of(chunks.first % size_);
    }
    return sizes_.of(chunks);
  }

  Kind kind_;
  std::uint32_t size_;
  ChunkSizes sizes_;
  Step result_;
};

inline void check_step(std::uint32_t size, Member member, std::uint32_t step, std::uint32_t steps) {
  ensure(member < size, "a member outside its group");
  ensure(step < steps, "a step after the last one");
}

// Step `step` of n - 1 of an all-to-all in which everybody exchanges with everybody: in turn step +
// 1 of the order, by itself straight with the (step + 1)-th one after it and the (step + 1)-th one
// before it, so that every link of a full crossbar is used once (pairwise exchange; R. Thakur, R.
// Rabenseifner, W. Gropp, IJHPCA 19 (2005), section 4.4, doi:10.1177/1094342005051521).
inline Step exchange_step(const ExchangeOrder& order, Member member, Bytes bytes,
                          std::uint32_t step) {
  const Member to = order.to(member, step + 1);
  const Member from = order.from(member, step + 1);
  StepMaker maker(Kind::all_to_all, order.size, bytes, step);
  return maker.send(to, maker.pair(member, to)).receive(from, maker.pair(from, member)).step();
}

}  // namespace tessera::collective
