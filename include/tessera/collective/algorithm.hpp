// Collective communication as pure functions: who sends what to whom in which step.
//
// An algorithm is asked for one step of one member at a time, in O(log size) at most and without
// storage, so that 400 000 tiles that run the same all-reduce share everything.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "tessera/collective/kind.hpp"
#include "tessera/core/error.hpp"
#include "tessera/core/registry.hpp"
#include "tessera/core/units.hpp"

namespace tessera::collective {

// Member of a group, 0 … size-1, in ring order.
using Member = std::uint32_t;
inline constexpr Member nobody = 0xFFFFFFFFU;

// Consecutive chunks of a vector: [first, first + count).
struct Chunks {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  friend bool operator==(const Chunks&, const Chunks&) = default;
};

// One step of one member: it sends (if `send_to` is somebody), and the step is over when the
// message from `receive_from` (if somebody) has arrived. A member begins its steps in order, each
// once all steps below `after` are over.
struct Step {
  Member send_to = nobody;
  Chunks send_chunks;
  Bytes send_bytes;
  std::uint32_t send_step = 0;  // the step in which the receiver takes it
  Member receive_from = nobody;
  Chunks receive_chunks;
  Bytes receive_bytes;
  bool reduces = false;     // the received chunks are added to the own ones (else replace them)
  std::uint32_t after = 0;  // at most the number of the step
};

// A collective over a vector of `bytes` bytes. The vector is cut into `size` chunks that differ by
// one byte at most, the larger ones first; chunk i belongs to member i.
//   all_reduce      each member has its vector at first, the sum of all at last
//   reduce_scatter  each member has its vector at first; chunk i of the sum is at member i at last
//   all_gather      chunk i is at member i at first, all are everywhere at last
//   all_to_all      each member has a vector, keeps one chunk and sends chunk i to member i. Here a
//                   chunk's number is from * size + to, so that a test can follow it
//   broadcast       what member 0 has at first, all have at last
//   reduce          each member has its vector at first, member 0 the sum at last
//   gather          chunk i is at member i at first, all are at member 0 at last
//   scatter         member 0 has all at first, chunk i is at member i at last
//   barrier         nothing is sent but messages without bytes, whatever `bytes` says; no member
//                   ends before all have begun
//
// An algorithm may cut the vector in lanes, again by chunk_bytes, and treat each in its own way,
// all at once. `bytes` are those of the lane then, and its steps are numbered from 0.
class Algorithm {
 public:
  virtual ~Algorithm() = default;
  // The other functions throw InternalError for a kind that is not offered.
  virtual bool offers(Kind /*kind*/) const { return true; }
  virtual std::uint32_t lanes(Kind /*kind*/) const { return 1; }
  // Of every member in every lane; 0 for a group of one. Throws InternalError for an empty group.
  virtual std::uint32_t steps(Kind kind, std::uint32_t size) const = 0;
  // Whether all members go in step: in one lane, each step after the one before, and what is sent
  // in a step is taken in the step of the same number.
  virtual bool in_step() const { return true; }
  // Whether steps look alike from every member, so that all may count members the other way round.
  virtual bool turns_round() const { return false; }
  // Whether AlgorithmOptions::window is anything to it.
  virtual bool has_window() const { return false; }
  // The same for members in blocks of so many, each on a server of its own, where that is anything
  // to it, else null; `block` divides the size of every group it is asked about.
  virtual std::unique_ptr<Algorithm> in_blocks(std::uint32_t /*block*/) const { return nullptr; }
  virtual std::uint32_t block() const { return 1; }
  // Whether every step has the same partners and waits for what the one before has received.
  virtual bool is_steady(Kind /*kind*/) const { return false; }
  // Whether, in one lane, every member sends in every step to the next one, in order and from the
  // last to the first, the very chunk that it received in the step before.
  virtual bool is_passed_on(Kind /*kind*/) const { return false; }
  // Whether the steps of that kind are those of `ring`.
  virtual bool is_as_ring(Kind /*kind*/) const { return false; }
  // step < steps(kind, size), member < size, lane < lanes(kind), else InternalError.
  virtual Step step(Kind kind, std::uint32_t size, Member member, Bytes bytes, std::uint32_t step,
                    std::uint32_t lane = 0) const = 0;
};

struct AlgorithmOptions {
  // Messages that a member has under way at most, where the algorithm leaves the choice (direct);
  // 0: all.
  std::uint32_t window = 0;
};

// Algorithms by name: direct, double-binary-tree, halving-doubling, line, ring, ring-bidirectional,
// ring-relay.
using AlgorithmMaker = std::function<std::unique_ptr<Algorithm>(const AlgorithmOptions&)>;
Registry<AlgorithmMaker>& algorithms();

// Sizes of the chunks when `bytes` are cut in `size` > 0.
class ChunkSizes {
 public:
  ChunkSizes(Bytes bytes, std::uint32_t size) : size_(size) {
    const std::uint64_t all = bytes.count();
    // Nearly every vector fits 32 bits, whose quotients are cheaper.
    if (all >> 32 == 0) {
      smaller_ = static_cast<std::uint32_t>(all) / size;
      larger_ = static_cast<std::uint32_t>(all) % size;
    } else {
      smaller_ = all / size;
      larger_ = static_cast<std::uint32_t>(all % size);
    }
  }
  Bytes of(std::uint32_t chunk) const {
    ensure(chunk < size_, "a chunk outside its vector");
    return Bytes(smaller_ + (chunk < larger_ ? 1 : 0));
  }
  Bytes of(Chunks chunks) const {
    ensure(chunks.count <= size_ && chunks.first <= size_ - chunks.count,
           "chunks outside their vector");
    const std::uint32_t end = chunks.first + chunks.count;
    return Bytes(smaller_ * chunks.count + std::min(end, larger_) -
                 std::min(chunks.first, larger_));
  }

 private:
  std::uint32_t size_;
  std::uint32_t larger_;   // chunks that have a byte more
  std::uint64_t smaller_;  // bytes of the others
};

// Size of chunk `chunk` (below `size`) when `bytes` are cut in `size`.
Bytes chunk_bytes(Bytes bytes, std::uint32_t size, std::uint32_t chunk);
// Of several.
Bytes chunk_bytes(Bytes bytes, std::uint32_t size, Chunks chunks);

}  // namespace tessera::collective
