// Collective communication as pure functions: who sends what to whom in which step.
//
// An algorithm is asked for one step of one member at a time, in O(1) and without storage, so that
// 400 000 tiles that run the same all-reduce share everything.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "tessera/core/registry.hpp"
#include "tessera/core/units.hpp"

namespace tessera::collective {

enum class Kind : std::uint8_t {
  all_reduce,
  reduce_scatter,
  all_gather,
  all_to_all,
  broadcast,
  reduce
};
std::string to_string(Kind kind);

// Member of a group, 0 … size-1, in ring order.
using Member = std::uint32_t;
inline constexpr Member nobody = 0xFFFFFFFFU;

// One step of one member: it sends (if `send_to` is somebody), and the step is over when the
// message from `receive_from` (if somebody) has arrived. A message of step s is matched by the
// receiver's step s. Chunks are named by number, so that a test can follow the data.
struct Step {
  Member send_to = nobody;
  Bytes send_bytes;
  std::uint32_t send_chunk = 0;
  Member receive_from = nobody;
  Bytes receive_bytes;
  std::uint32_t receive_chunk = 0;
  bool reduces = false;  // the received chunk is added to the own one (else it replaces it)
};

// A collective over a vector of `bytes` bytes (all-reduce, reduce-scatter: the full vector of each
// member; all-gather: the gathered result; all-to-all: what each member holds, of which it keeps
// one chunk and sends one to every other; broadcast and reduce: what member 0 has at first, or at
// last). The vector is cut into `size` chunks that differ by one
// byte at most, the larger ones first. Chunk i belongs to member i: a reduce-scatter leaves it
// there, an all-gather starts from it; an all-to-all sends chunk i to member i.
class Algorithm {
 public:
  virtual ~Algorithm() = default;
  // 0 for a group of one. Throws InternalError for an empty group.
  virtual std::uint32_t steps(Kind kind, std::uint32_t size) const = 0;
  // Whether every step has the same partners and waits for what the one before has received.
  virtual bool is_steady(Kind kind) const = 0;
  // step < steps(kind, size), member < size, else InternalError.
  virtual Step step(Kind kind, std::uint32_t size, Member member, Bytes bytes,
                    std::uint32_t step) const = 0;
};

// Algorithms by name: "ring", "line".
using AlgorithmMaker = std::function<std::unique_ptr<Algorithm>()>;
Registry<AlgorithmMaker>& algorithms();

// Size of chunk `chunk` (below `size`) when `bytes` are cut in `size`.
Bytes chunk_bytes(Bytes bytes, std::uint32_t size, std::uint32_t chunk);

}  // namespace tessera::collective
