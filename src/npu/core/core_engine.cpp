#include "tessera/npu/core/core_engine.hpp"

#include <algorithm>

#include "tessera/core/error.hpp"

namespace tessera::npu {

// --- tiles ---------------------------------------------------------------------------------------

void CoreEngine::add(const Share& share) {
  queue_.push_back(share);
  const TiledOperator& op = programs_->operator_at(share.number, share.stride);
  queue_.back().groups = op.groups();
  queue_.back().steps = op.steps();
  some_may_be_over_ = true;  // one without tiles
}

// The share of a group that has begun, as its sums stay in place; else the most urgent one.
Share* CoreEngine::next_share() {
  Share* found = nullptr;
  for (Share& share : queue_) {
    if (share.group >= share.groups) {
      continue;
    }
    if (share.step > 0) {
      return &share;
    }
    if (found == nullptr || share.priority > found->priority) {
      found = &share;
    }
  }
  return found;
}

void CoreEngine::take_tile(std::uint8_t slot, Share& share) {
  Resident& resident = residents_[slot];
  resident.taken = true;
  resident.share = first_serial_ + static_cast<std::uint32_t>(&share - queue_.data());
  resident.number = share.number;
  resident.stride = share.stride;
  resident.cursor = 0;
  resident.loads = 0;
  resident.stores = 0;
  resident.group = share.group;
  resident.step = share.step;
  resident.order = tiles_taken_++;
  resident.end = 0;
  bind(resident);
  resident.contents.assign(resident.program->scratchpad.size(), {});
  if (share.step == 0) {  // another part of the output: the half that no tile under way adds to
    const Resident& other = residents_[slot ^ 1U];
    half_ = (other.taken ? other.half : half_) ^ 1U;
    sums_[half_].assign(resident.program->accumulator.size(), {});
  }
  resident.half = half_;
  ++use_.tiles;
  ++share.running;
  if (++share.step == share.steps) {
    share.step = 0;
    share.group += share.stride;
  }
}

void CoreEngine::bind(Resident& resident) {
  resident.tile =
      programs_->operator_at(resident.number, resident.stride).tile(resident.group, resident.step);
  resident.program = programs_->program(resident.number, resident.stride, resident.tile.shape);
}

void CoreEngine::admit() {
  for (std::uint8_t slot = 0; slot < residents_.size(); ++slot) {
    if (residents_[slot].taken) {
      continue;
    }
    Share* const share = next_share();
    if (share == nullptr) {
      return;
    }
    take_tile(slot, *share);
    if (!residents_[slot ^ 1U].taken) {
      favoured_ = slot;
    }
  }
}

Cycle CoreEngine::retire(Cycle cycle, const Surroundings& surroundings) {
  Cycle next = unknown_cycle;
  for (std::uint8_t slot = 0; slot < residents_.size(); ++slot) {
    Resident& resident = residents_[slot];
    if (!resident.taken || !is_exhausted(resident) || waits_for_accesses(resident)) {
      continue;
    }
    if (resident.end > cycle) {
      next = std::min(next, resident.end);
      continue;
    }
    resident.taken = false;
    resident.program.reset();
    favoured_ = slot ^ 1U;
    Share& share = *share_of(resident.share);
    --share.running;
    share.end = std::max(share.end, cycle);
    some_may_be_over_ = true;
  }
  if (some_may_be_over_) {
    report_shares(cycle, surroundings);
  }
  return next;
}

void CoreEngine::report_shares(Cycle cycle, const Surroundings& surroundings) {
  some_may_be_over_ = false;
  for (Share& share : queue_) {
    const bool taken = share.group >= share.groups;
    if (!share.reported && taken && share.running == 0) {
      share.reported = true;
      surroundings.done(cycle, share);
    }
  }
  while (!queue_.empty() && queue_.front().reported) {
    queue_.erase(queue_.begin());
    ++first_serial_;
  }
}

// --- waiting -------------------------------------------------------------------------------------

const CoreEngine::Content& CoreEngine::content(const Resident& resident, BufferId buffer) const {
  return buffer.in_accumulator() ? sums_[resident.half][buffer.number()]
                                 : resident.contents[buffer.number()];
}

CoreEngine::Content& CoreEngine::content(Resident& resident, BufferId buffer) {
  return buffer.in_accumulator() ? sums_[resident.half][buffer.number()]
                                 : resident.contents[buffer.number()];
}

void CoreEngine::wait_for(const Resident& resident, BufferId buffer, Wait& wait) const {
  if (!buffer.valid()) {
    return;
  }
  const Content& holds = content(resident, buffer);
  if (holds.awaited > 0) {
    wait.for_data = true;
    wait.until = unknown_cycle;
    return;
  }
  if (buffer.in_accumulator()) {
    // Sums that an older tile of the group has still to add to.
    const Resident& other = residents_[&resident == residents_.data() ? 1 : 0];
    if (other.taken && other.half == resident.half && other.order < resident.order &&
        !is_exhausted(other)) {
      wait.until = unknown_cycle;
      return;
    }
  }
  wait.until = std::max(wait.until, holds.ready);
}

CoreEngine::Wait CoreEngine::wait_of(std::uint8_t slot, Cycle cycle) const {
  const Resident& resident = residents_[slot];
  if (!resident.taken) {
    return {unknown_cycle, false};
  }
  if (is_exhausted(resident)) {
    return {unknown_cycle, waits_for_accesses(resident)};
  }
  const CoreInstruction& instruction = resident.program->code[resident.cursor];
  Wait wait{cycle, false};
  wait_for(resident, instruction.a, wait);
  wait_for(resident, instruction.b, wait);
  switch (instruction.opcode) {
    case Opcode::gemm:
    case Opcode::gemm_preload:
      wait.until = std::max(wait.until, ends_[blocks_ % ends_.size()]);
      break;
    case Opcode::im2col:
    case Opcode::vector:
      wait.until = std::max(wait.until, vector_free_);
      break;
    case Opcode::mvin:
    case Opcode::mvout:
      break;
  }
  return wait;
}

// --- issuing -------------------------------------------------------------------------------------

Cycle CoreEngine::run(Cycle now, const Surroundings& surroundings) {
  Cycle cycle = std::max(now, next_issue_);
  while (true) {
    Cycle known = retire(cycle, surroundings);
    admit();
    const std::uint8_t other = favoured_ ^ 1U;
    const Wait own = wait_of(favoured_, cycle);
    if (own.until <= cycle) {
      issue(favoured_, cycle++, surroundings);
      continue;
    }
    const Wait others = wait_of(other, cycle);
    next_issue_ = cycle;
    // What is waited for may come before `cycle`, and would be first.
    const bool ahead = cycle > now;
    if (own.for_data && ahead) {
      return cycle;
    }
    if (others.until <= cycle) {
      favoured_ = other;
      issue(other, cycle++, surroundings);
      continue;
    }
    if (others.for_data && ahead) {
      return cycle;
    }
    known = std::min({known, own.until, others.until});
    // Else nothing but `known` can change what comes next; with room, a share that is added may.
    const bool has_room = !residents_[0].taken || !residents_[1].taken;
    if (known == unknown_cycle || own.for_data || others.for_data || has_room) {
      return known;
    }
    cycle = known;
  }
}

void CoreEngine::issue(std::uint8_t slot, Cycle cycle, const Surroundings& surroundings) {
  Resident& resident = residents_[slot];
  const CoreInstruction& instruction = resident.program->code[resident.cursor++];
  ++use_.instructions;
  resident.end = std::max(resident.end, cycle + 1);
  switch (instruction.opcode) {
    case Opcode::gemm:
    case Opcode::gemm_preload:
      issue_gemm(resident, instruction, cycle + 1);
      break;
    case Opcode::im2col:
    case Opcode::vector:
      issue_vector(resident, instruction, cycle + 1);
      break;
    case Opcode::mvin:
    case Opcode::mvout:
      issue_move(slot, instruction, cycle + 1, surroundings);
      break;
  }
}

void CoreEngine::issue_gemm(Resident& resident, const CoreInstruction& instruction, Cycle cycle) {
  const bool preload = instruction.opcode == Opcode::gemm_preload;
  Cycle start = cycle;
  if (array_.last_finish > cycle) {
    Cycle next = array_.last_start + array_.last_cycles;
    if (preload) {
      const bool beside_all = core_->timing.weights_beside_all_rows;
      next = std::max(next, core_->rows + (beside_all ? array_.weights_start : array_.last_start));
    }
    use_.bubbles += cycle > next ? cycle - next : 0;
    start = std::max(cycle, next);
  } else if (preload) {
    start += core_->timing.first_weights;
  }
  const Cycle finish = start + instruction.cycles + core_->timing.drain;
  use_.matrix_busy += finish - std::max(start, std::min(array_.last_finish, finish));
  use_.macs += instruction.rows * instruction.depth * instruction.columns;
  use_.matrix_active += instruction.active;
  array_ = {preload ? start : array_.weights_start, start, finish, instruction.cycles};
  ends_[blocks_++ % ends_.size()] = finish;
  Content& out = content(resident, instruction.out);
  out.ready = std::max(out.ready, finish);
  resident.end = std::max(resident.end, finish);
}

void CoreEngine::issue_vector(Resident& resident, const CoreInstruction& instruction, Cycle cycle) {
  vector_free_ = cycle + instruction.cycles;
  use_.vector_busy += instruction.cycles;
  Content& out = content(resident, instruction.out);
  out.ready = std::max(out.ready, vector_free_);
  resident.end = std::max(resident.end, vector_free_);
}

void CoreEngine::issue_move(std::uint8_t slot, const CoreInstruction& instruction, Cycle cycle,
                            const Surroundings& surroundings) {
  Resident& resident = residents_[slot];
  Transfer transfer;
  transfer.number = resident.number;
  transfer.operand = instruction.operand;
  transfer.slot = slot;
  transfer.store = instruction.opcode == Opcode::mvout;
  transfer.buffer = transfer.store ? instruction.a : instruction.out;
  transfer.origin = resident.tile.origins[instruction.operand];
  transfer.region = instruction.region;
  const std::uint64_t bytes = instruction.region.bytes();
  if (transfer.store) {
    ++resident.stores;
    use_.stored += bytes;
  } else {
    ++resident.loads;
    ++content(resident, instruction.out).awaited;
    use_.loaded += bytes;
  }
  surroundings.move(cycle, transfer);
}

void CoreEngine::moved(Cycle now, const Transfer& transfer) {
  Resident& resident = residents_[transfer.slot];
  if (transfer.store) {
    if (core_->waits_for_stores) {
      --resident.stores;
      resident.end = std::max(resident.end, now);
    }
    return;
  }
  --resident.loads;
  Content& into = content(resident, transfer.buffer);
  --into.awaited;
  into.ready = std::max(into.ready, now);
  if (core_->banks == 1 && core_->word > Bytes()) {
    // The only bank takes the data and gives nothing meanwhile.
    const std::uint64_t word = core_->word.count();
    array_.last_cycles += (transfer.region.bytes() + word - 1) / word;
  }
}

std::vector<CoreEngine::Unfinished> CoreEngine::unfinished() const {
  std::vector<Unfinished> all;
  for (std::uint32_t place = 0; place < queue_.size(); ++place) {
    const Share& share = queue_[place];
    if (share.reported) {
      continue;
    }
    std::string where = "next tile " + std::to_string(share.group) + "." +
                        std::to_string(share.step) + " of " + std::to_string(share.groups) +
                        " groups";
    for (const Resident& resident : residents_) {
      if (resident.taken && resident.share == first_serial_ + place) {
        where += "; tile " + std::to_string(resident.group) + "." + std::to_string(resident.step) +
                 " at instruction " + std::to_string(resident.cursor) + " of " +
                 std::to_string(resident.program->code.size()) + ", " +
                 std::to_string(resident.loads) + " loads and " + std::to_string(resident.stores) +
                 " stores not there";
      }
    }
    all.push_back({share.number, std::move(where)});
  }
  return all;
}

// --- checkpoints ---------------------------------------------------------------------------------

void CoreEngine::save(pdes::StateWriter& writer) const {
  writer.put_all(queue_);
  writer.put(first_serial_);
  for (const Resident& resident : residents_) {
    writer.put(resident.taken);
    writer.put(resident.half);
    writer.put(resident.share);
    writer.put(resident.number);
    writer.put(resident.stride);
    writer.put(resident.cursor);
    writer.put(resident.loads);
    writer.put(resident.stores);
    writer.put(resident.group);
    writer.put(resident.step);
    writer.put(resident.order);
    writer.put(resident.end);
    writer.put_all(resident.contents);
  }
  writer.put_all(sums_[0]);
  writer.put_all(sums_[1]);
  writer.put(favoured_);
  writer.put(half_);
  writer.put(tiles_taken_);
  writer.put(next_issue_);
  writer.put(array_);
  writer.put_all(ends_);
  writer.put(blocks_);
  writer.put(vector_free_);
  writer.put(use_);
}

void CoreEngine::restore(pdes::StateReader& reader) {
  queue_ = reader.get_all<Share>();
  first_serial_ = reader.get<std::uint32_t>();
  for (Resident& resident : residents_) {
    resident.taken = reader.get<bool>();
    resident.half = reader.get<std::uint8_t>();
    resident.share = reader.get<std::uint32_t>();
    resident.number = reader.get<std::uint64_t>();
    resident.stride = reader.get<std::uint64_t>();
    resident.cursor = reader.get<std::uint32_t>();
    resident.loads = reader.get<std::uint32_t>();
    resident.stores = reader.get<std::uint32_t>();
    resident.group = reader.get<std::uint64_t>();
    resident.step = reader.get<std::uint64_t>();
    resident.order = reader.get<std::uint64_t>();
    resident.end = reader.get<Cycle>();
    resident.contents = reader.get_all<Content>();
    if (resident.taken) {
      bind(resident);
    }
  }
  sums_[0] = reader.get_all<Content>();
  sums_[1] = reader.get_all<Content>();
  favoured_ = reader.get<std::uint8_t>();
  half_ = reader.get<std::uint8_t>();
  tiles_taken_ = reader.get<std::uint64_t>();
  next_issue_ = reader.get<Cycle>();
  array_ = reader.get<Array>();
  ends_ = reader.get_all<Cycle>();
  blocks_ = reader.get<std::uint64_t>();
  vector_free_ = reader.get<Cycle>();
  use_ = reader.get<CoreUse>();
}

std::size_t CoreEngine::resident_bytes() const {
  std::size_t bytes = queue_.capacity() * sizeof(Share) + ends_.capacity() * sizeof(Cycle);
  for (const Resident& resident : residents_) {
    bytes += resident.contents.capacity() * sizeof(Content);
  }
  return bytes + (sums_[0].capacity() + sums_[1].capacity()) * sizeof(Content);
}

}  // namespace tessera::npu
