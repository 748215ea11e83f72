#include "tessera/plan/stages/stage_work.hpp"

#include <algorithm>

namespace tessera::plan {
namespace {

std::vector<Sent> sends_of(const Plan& plan, Group group, collective::Kind kind,
                           collective::Member member, Bytes bytes) {
  std::vector<Sent> sends;  // few: chunks have two sizes, and most algorithms few partners
  const std::uint32_t steps = plan.steps(group, kind);
  for (std::uint32_t at = 0; at < steps; ++at) {
    const collective::Step step = plan.step(group, kind, member, bytes, at);
    if (step.send_to == collective::nobody) {
      continue;
    }
    const auto same = std::find_if(sends.begin(), sends.end(), [&](const Sent& sent) {
      return sent.to == step.send_to && sent.bytes == step.send_bytes;
    });
    if (same == sends.end()) {
      sends.push_back({step.send_to, step.send_bytes, 1});
    } else {
      ++same->count;
    }
  }
  std::sort(sends.begin(), sends.end(), [](const Sent& a, const Sent& b) {
    return std::pair(a.to, a.bytes) < std::pair(b.to, b.bytes);
  });
  return sends;
}

}  // namespace

namespace {

// Over the operations of an iteration.
template <class Of>
std::uint64_t sum_over(const Plan& plan, const Program& program, const Of& of) {
  std::vector<std::uint64_t> of_piece;
  for (const std::vector<Instruction>& piece : program.pieces) {
    std::uint64_t& own = of_piece.emplace_back(0);
    for (const Instruction& instruction : piece) {
      if (instruction.action == Action::execute) {
        own += of(plan.operations[instruction.operation]);
      }
    }
  }
  std::uint64_t sum = 0;
  for (const ScheduleEntry& entry : program.schedule) {
    sum += of_piece[entry.piece];
  }
  return sum;
}

}  // namespace

std::uint64_t flops_of(const Plan& plan, const Program& program) {
  return sum_over(plan, program,
                  [](const workload::Operation& operation) { return operation.flops.count(); });
}

std::map<DataType, double> flops_of_types(const Plan& plan) {
  std::map<DataType, double> flops;
  for (const Stage& stage : plan.stages) {
    for (const ScheduleEntry& entry : stage.program.schedule) {
      for (const Instruction& instruction : stage.program.instructions(entry)) {
        if (instruction.action == Action::execute) {
          const workload::Operation& operation = plan.operations[instruction.operation];
          flops[operation.data_type] += static_cast<double>(operation.flops.count());
        }
      }
    }
  }
  for (auto& [type, count] : flops) {
    count *= plan.stage_tiles();
  }
  return flops;
}

std::uint64_t operand_bytes_of(const Plan& plan, const Program& program) {
  return sum_over(plan, program, [](const workload::Operation& operation) {
    return operation.bytes.count() + operation.added.count();
  });
}

StageWork work_of(const Program& program) {
  std::vector<std::uint64_t> times(program.pieces.size());
  for (const ScheduleEntry& entry : program.schedule) {
    ++times[entry.piece];
  }
  StageWork work;
  for (std::size_t piece = 0; piece < program.pieces.size(); ++piece) {
    for (const Instruction& instruction : program.pieces[piece]) {
      switch (instruction.action) {
        case Action::execute:
        case Action::elapse:
        case Action::start_elapse:
        case Action::wait_copies:
          work.operators += times[piece];
          break;
        case Action::send:
          work.sends[{instruction.peer, instruction.traffic, instruction.group,
                      instruction.bytes}] += times[piece];
          break;
        case Action::read:
        case Action::write:
          work.accesses[{instruction.action == Action::write, instruction.bytes}] += times[piece];
          break;
        case Action::collective:
        case Action::start_collective:
          work.collectives[{instruction.group, instruction.collective, instruction.bytes}] +=
              times[piece];
          break;
        case Action::receive:
        case Action::start_copy:
        case Action::wait_collectives:
        case Action::wait_access:
          break;  // what is waited for raises the event
      }
    }
  }
  return work;
}

const MemberSends& CollectiveSends::of(const CollectiveKey& key) {
  const auto [place, is_new] = known_.try_emplace(key);
  if (is_new) {
    const auto [group, kind, bytes] = key;
    for (collective::Member member = 0; member < plan_->group(group).size; ++member) {
      place->second.push_back(sends_of(*plan_, group, kind, member, Bytes(bytes)));
    }
  }
  return place->second;
}

}  // namespace tessera::plan
