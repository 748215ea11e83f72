#include "tessera/npu/core/program.hpp"

#include <algorithm>
#include <numeric>

#include "tessera/core/error.hpp"
#include "tessera/npu/vector_work.hpp"

namespace tessera::npu {
namespace {

Bytes sum_of(const std::vector<Bytes>& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), Bytes());
}

Bytes moved(const std::vector<CoreInstruction>& code, Opcode opcode) {
  Bytes sum;
  for (const CoreInstruction& instruction : code) {
    sum += Bytes(instruction.opcode == opcode ? instruction.region.bytes() : 0);
  }
  return sum;
}

}  // namespace

std::string to_string(Opcode opcode) {
  switch (opcode) {
    case Opcode::mvin:
      return "mvin";
    case Opcode::mvout:
      return "mvout";
    case Opcode::gemm_preload:
      return "gemm-preload";
    case Opcode::gemm:
      return "gemm";
    case Opcode::im2col:
      return "im2col";
    case Opcode::vector:
      return "vector";
  }
  throw InternalError("an opcode outside its list");
}

Bytes TileProgram::accumulator_bytes() const {
  return sum_of(accumulator);
}

std::uint64_t TileProgram::macs() const {
  std::uint64_t sum = 0;
  for (const CoreInstruction& instruction : code) {
    sum += instruction.rows * instruction.depth * instruction.columns;
  }
  return sum;
}

Bytes TileProgram::loaded() const {
  return moved(code, Opcode::mvin);
}

Bytes TileProgram::stored() const {
  return moved(code, Opcode::mvout);
}

BufferId ProgramWriter::scratchpad(Bytes bytes) {
  ensure(program_.scratchpad.size() < BufferId::most, "a tile has too many buffers");
  program_.scratchpad.push_back(bytes);
  return BufferId::scratchpad(program_.scratchpad.size() - 1);
}

BufferId ProgramWriter::accumulator(Bytes bytes) {
  ensure(program_.accumulator.size() < BufferId::most, "a tile has too many buffers");
  program_.accumulator.push_back(bytes);
  return BufferId::accumulator(program_.accumulator.size() - 1);
}

void ProgramWriter::mvin(std::uint8_t operand, const Region& region, BufferId out) {
  CoreInstruction instruction;
  instruction.opcode = Opcode::mvin;
  instruction.operand = operand;
  instruction.out = out;
  instruction.region = region;
  program_.code.push_back(instruction);
}

void ProgramWriter::mvout(std::uint8_t operand, const Region& region, BufferId from) {
  CoreInstruction instruction;
  instruction.opcode = Opcode::mvout;
  instruction.operand = operand;
  instruction.a = from;
  instruction.region = region;
  program_.code.push_back(instruction);
}

void ProgramWriter::gemm(bool preload, BufferId a, BufferId b, BufferId out, std::uint64_t rows,
                         std::uint64_t depth, std::uint64_t columns, std::uint64_t groups) {
  CoreInstruction instruction;
  instruction.opcode = preload ? Opcode::gemm_preload : Opcode::gemm;
  instruction.a = a;
  instruction.b = b;
  instruction.out = out;
  instruction.rows = rows;
  instruction.depth = depth;
  instruction.columns = columns;
  instruction.cycles = streamed_cycles(target_.core, rows, depth * groups, target_.element());
  instruction.active = rows * depth * columns / target_.array_macs();
  program_.code.push_back(instruction);
}

void ProgramWriter::whole_gemm(std::uint64_t cycles, BufferId a, BufferId b, BufferId out,
                               std::uint64_t rows, std::uint64_t depth, std::uint64_t columns) {
  gemm(false, a, b, out, rows, depth, columns);
  program_.code.back().cycles = std::max(cycles, target_.core.timing.least_rows);
}

void ProgramWriter::multiply(BufferId a, BufferId b, BufferId out, std::uint64_t rows,
                             std::uint64_t depth, std::uint64_t columns) {
  vector(vector_cycles(target_.core, multiplications(depth), rows, columns), a, b, out);
  CoreInstruction& instruction = program_.code.back();
  instruction.rows = rows;
  instruction.depth = depth;
  instruction.columns = columns;
}

void ProgramWriter::vector(std::uint64_t cycles, BufferId a, BufferId b, BufferId out) {
  CoreInstruction instruction;
  instruction.opcode = Opcode::vector;
  instruction.a = a;
  instruction.b = b;
  instruction.out = out;
  instruction.cycles = cycles;
  program_.code.push_back(instruction);
}

void ProgramWriter::im2col(std::uint64_t elements, BufferId a, BufferId out) {
  vector(vector_cycles(target_.core, vector_work("copy"), 1, elements), a, BufferId(), out);
  program_.code.back().opcode = Opcode::im2col;
}

}  // namespace tessera::npu
