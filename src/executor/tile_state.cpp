#include "tile_state.hpp"

#include <functional>

#include "tessera/core/error.hpp"

namespace tessera::executor {
namespace {

void save_transfer(const Transfer& transfer, pdes::StateWriter& writer) {
  writer.put(transfer.step);
  writer.put(transfer.awaited);
}

Transfer restore_transfer(pdes::StateReader& reader) {
  Transfer transfer;
  transfer.step = reader.get<std::uint32_t>();
  transfer.awaited = reader.get<EntityId>();
  return transfer;
}

bool holds(const std::vector<plan::Instruction>& code, const plan::Instruction* instruction) {
  const std::less_equal<const plan::Instruction*> up_to;
  return !code.empty() && up_to(code.data(), instruction) && up_to(instruction, &code.back());
}

}  // namespace

void save_tile(const TileState& tile, const InboxPool& inboxes, pdes::StateWriter& writer) {
  writer.put(tile.entry);
  writer.put(tile.instruction);
  writer.put(tile.iteration);
  writer.put(tile.since);
  writer.put(tile.accesses);
  save_transfer(tile.transfer, writer);
  writer.put(tile.time_ps);
  writer.put(static_cast<std::uint8_t>(tile.finished ? 1 : 0));
  std::uint32_t messages = 0;
  inboxes.for_each(tile.inbox, [&](const InboxPool::Message&) { ++messages; });
  writer.put(messages);
  inboxes.for_each(tile.inbox, [&](const InboxPool::Message& message) {
    writer.put(message.source);
    writer.put(message.tag);
    writer.put(message.sent);
    writer.put(message.arrived);
  });
}

void restore_tile(TileState& tile, InboxPool& inboxes, pdes::StateReader& reader) {
  tile.entry = reader.get<std::uint32_t>();
  tile.instruction = reader.get<std::uint32_t>();
  tile.iteration = reader.get<std::uint32_t>();
  tile.since = reader.get<SimTime>();
  tile.accesses = reader.get<std::uint64_t>();
  tile.transfer = restore_transfer(reader);
  tile.time_ps = reader.get<std::array<std::int64_t, activities>>();
  tile.finished = reader.get<std::uint8_t>() != 0;
  for (auto left = reader.get<std::uint32_t>(); left > 0; --left) {
    InboxPool::Message message;
    message.source = reader.get<EntityId>();
    message.tag = reader.get<std::uint16_t>();
    message.sent = reader.get<SimTime>();
    message.arrived = reader.get<SimTime>();
    inboxes.put(tile.inbox, message);
  }
}

void save_background(const plan::Program& program, const Background& background,
                     pdes::StateWriter& writer) {
  save_transfer(background.transfer, writer);
  writer.put(static_cast<std::uint32_t>(background.queue.size()));
  for (const plan::Instruction* instruction : background.queue) {
    std::uint32_t phase = 0;
    while (!holds(program.code[phase], instruction)) {
      ++phase;
      ensure(phase < plan::phases, "a background collective of no phase");
    }
    writer.put(phase);
    writer.put(static_cast<std::uint32_t>(instruction - program.code[phase].data()));
  }
}

Background restore_background(const plan::Program& program, pdes::StateReader& reader) {
  Background background;
  background.transfer = restore_transfer(reader);
  for (auto left = reader.get<std::uint32_t>(); left > 0; --left) {
    const auto phase = reader.get<std::uint32_t>();
    const auto number = reader.get<std::uint32_t>();
    ensure(phase < plan::phases && number < program.code[phase].size(),
           "a checkpoint names an instruction that is not there");
    background.queue.push_back(&program.code[phase][number]);
  }
  return background;
}

}  // namespace tessera::executor
