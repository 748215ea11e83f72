// Copies of activations to the host and back: see plan/offload.hpp.

#include <string>

#include "pieces/writer.hpp"

namespace tessera::plan {
namespace {

// Layers alternate.
std::uint8_t out_slot(std::size_t index) {
  return static_cast<std::uint8_t>(index % 2);
}
std::uint8_t in_slot(std::size_t index) {
  return static_cast<std::uint8_t>(copy_slots / 2 + index % 2);
}

}  // namespace

Bytes PieceWriter::offloaded(std::size_t index) const {
  const LayerRange layers = range();
  const Offload& offload = strategy_.offload;
  return workload_.training && offload.covers(index - layers.first, layers.end - layers.first)
             ? offload.share_of(sharder_.bytes_of(layer(index)).stored)
             : Bytes();
}

void PieceWriter::start_copy(const std::string& name, std::uint8_t slot, Bytes bytes) {
  Instruction& instruction = emit(Action::start_copy, name);
  instruction.slot = slot;
  instruction.bytes = static_cast<std::uint64_t>(estimates_.host.copy_time(bytes).ps());
}

void PieceWriter::copy_out(std::size_t index) {
  const Bytes bytes = offloaded(index);
  if (bytes == Bytes(0)) {
    return;
  }
  await_copies_out();
  start_copy("copy activations to the host", out_slot(index), bytes);
}

void PieceWriter::copy_in(std::size_t index) {
  const Bytes bytes = offloaded(index);
  if (bytes > Bytes(0)) {
    start_copy("copy activations from the host", in_slot(index), bytes);
  }
}

// Two layers are on the device at most.
void PieceWriter::await_copies_out() {
  emit(Action::wait_copies, "wait for the host").bytes =
      slot_bit(out_slot(0)) | slot_bit(out_slot(1));
}

void PieceWriter::await_copy_in(std::size_t index) {
  if (offloaded(index) > Bytes(0)) {
    emit(Action::wait_copies, "wait for the host").bytes = slot_bit(in_slot(index));
  }
}

}  // namespace tessera::plan
