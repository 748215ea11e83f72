// What the tiles of a stage do in one iteration, summed up: for predictions.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "tessera/plan/plan.hpp"

namespace tessera::plan {

// A collective operation: the group, the kind, and the bytes of the vector.
using CollectiveKey = std::tuple<Group, collective::Kind, std::uint64_t>;

// Of every tile of one stage, how often in an iteration; alike instructions counted together.
struct StageWork {
  std::uint64_t operators = 0;
  // By the leaders of the group; (…, bytes).
  std::map<std::tuple<Peer, Traffic, Group, std::uint64_t>, std::uint64_t> sends;
  std::map<std::pair<bool, std::uint64_t>, std::uint64_t> accesses;  // (write, bytes)
  std::map<CollectiveKey, std::uint64_t> collectives;
};

StageWork work_of(const Program& program);

// Of one iteration of one tile, modulo 2^64: to be held against what was done.
std::uint64_t flops_of(const Plan& plan, const Program& program);
// Of one iteration of all tiles, by the type of numbers that they are done in.
std::map<DataType, double> flops_of_types(const Plan& plan);
// As `flops_of`, what its operations move.
std::uint64_t operand_bytes_of(const Plan& plan, const Program& program);

// What one member of a group sends in one collective.
struct Sent {
  collective::Member to = 0;
  Bytes bytes;              // of one message
  std::uint64_t count = 0;  // of such messages
};
using MemberSends = std::vector<std::vector<Sent>>;  // [members], by receiver and size

// The collectives of a plan, each walked through once: stages and tiles share them.
class CollectiveSends {
 public:
  explicit CollectiveSends(const Plan& plan) : plan_(&plan) {}  // kept by reference
  // O(members * steps) the first time.
  const MemberSends& of(const CollectiveKey& key);

 private:
  const Plan* plan_;
  std::map<CollectiveKey, MemberSends> known_;
};

}  // namespace tessera::plan
