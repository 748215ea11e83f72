#include "tessera/npu/core/program_store.hpp"

#include <algorithm>
#include <iterator>

namespace tessera::npu {
namespace {

std::size_t size_of(const TileProgram& program) {
  return sizeof(TileProgram) + program.code.capacity() * sizeof(CoreInstruction) +
         (program.scratchpad.capacity() + program.accumulator.capacity()) * sizeof(Bytes);
}

}  // namespace

ProgramStore::Entry& ProgramStore::entry(std::uint64_t number, std::uint64_t cores) {
  const std::uint64_t kind = source_->kind_of(number);
  Entry& found = entries_[{kind, cores}];
  if (!found.op) {
    found.op = source_->make(kind, cores);
  }
  return found;
}

std::shared_ptr<const TileProgram> ProgramStore::program(std::uint64_t number, std::uint64_t cores,
                                                         std::uint64_t shape) {
  Entry& of = entry(number, cores);
  std::shared_ptr<const TileProgram>& found = of.programs[shape];
  if (!found) {
    found = std::make_shared<const TileProgram>(of.op->program(shape));
    bytes_ += size_of(*found);
    std::shared_ptr<const TileProgram> made = found;
    if (bytes_ > most_bytes) {
      forget();
    }
    return made;
  }
  return found;
}

void ProgramStore::forget() {
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    auto& programs = entry->second.programs;
    for (auto program = programs.begin(); program != programs.end();) {
      const bool is_held = program->second.use_count() > 1;
      bytes_ -= is_held ? 0 : size_of(*program->second);
      program = is_held ? std::next(program) : programs.erase(program);
    }
    entry = programs.empty() ? entries_.erase(entry) : std::next(entry);
  }
}

}  // namespace tessera::npu
