#include "programs/plan_bytes.hpp"

#include <map>
#include <vector>

#include "tessera/plan/stages/stage_work.hpp"

namespace tessera::sim {
namespace {

constexpr std::uint64_t most_steps = 100'000'000;  // of members, some seconds

// What members of groups send in collectives, each collective gone through once.
class MemberBytes {
 public:
  explicit MemberBytes(const plan::Plan& plan) : plan_(plan) {}

  // [members] null: too many.
  const std::vector<std::uint64_t>* of(const plan::CollectiveKey& key) {
    const auto [found, is_new] = known_.try_emplace(key);
    if (is_new && !count(key, found->second)) {
      return nullptr;
    }
    return &found->second;
  }

 private:
  bool count(const plan::CollectiveKey& key, std::vector<std::uint64_t>& bytes) {
    const auto [group, kind, size] = key;
    const std::uint32_t steps = plan_.steps(group, kind);
    bytes.resize(plan_.group(group).size);
    steps_ += steps * bytes.size();
    if (steps_ > most_steps) {
      return false;
    }
    for (collective::Member member = 0; member < bytes.size(); ++member) {
      for (std::uint32_t at = 0; at < steps; ++at) {
        const collective::Step step = plan_.step(group, kind, member, Bytes(size), at);
        bytes[member] += step.send_to != collective::nobody ? step.send_bytes.count() : 0;
      }
    }
    return true;
  }

  const plan::Plan& plan_;
  std::map<plan::CollectiveKey, std::vector<std::uint64_t>> known_;
  std::uint64_t steps_ = 0;
};

}  // namespace

Work::Accessed accessed_by_tiles(const plan::Plan& plan, std::uint32_t iterations) {
  Work::Accessed accessed;
  for (const plan::Stage& stage : plan.stages) {
    for (const auto& [access, count] : plan::work_of(stage.program).accesses) {
      const auto& [writes, bytes] = access;
      (writes ? accessed.written : accessed.read) +=
          bytes * count * plan.simulated_tiles() * iterations;
    }
  }
  return accessed;
}

std::optional<executor::SentBytes> sent_by_tiles(const plan::Plan& plan, std::uint32_t iterations) {
  executor::SentBytes sent;
  MemberBytes of_members(plan);
  for (std::uint32_t stage = 0; stage < plan.stages.size(); ++stage) {
    const plan::StageWork work = plan::work_of(plan.stages[stage].program);
    const std::uint32_t first = stage * plan.stage_tiles();
    const std::uint32_t end = first + plan.stage_tiles();
    for (const auto& [key, count] : work.sends) {
      const auto [peer, traffic, group, bytes] = key;
      for (std::uint32_t role = first; role < end; ++role) {
        sent.messages += plan.leads(group, role) ? bytes * count * iterations : 0;
      }
    }
    for (const auto& [key, count] : work.collectives) {
      const std::vector<std::uint64_t>* const bytes = of_members.of(key);
      if (bytes == nullptr) {
        return std::nullopt;
      }
      for (std::uint32_t role = first; role < end; ++role) {
        sent.collectives +=
            (*bytes)[plan.member_of(std::get<plan::Group>(key), role)] * count * iterations;
      }
    }
  }
  return sent;
}

}  // namespace tessera::sim
