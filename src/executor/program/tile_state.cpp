#include "program/tile_state.hpp"

#include <functional>
#include <utility>

#include "tessera/core/error.hpp"

namespace tessera::executor {
namespace {

void save_transfer(const Transfer& transfer, const OtherSteps& others, pdes::StateWriter& writer) {
  writer.put(transfer.step);
  writer.put(transfer.awaited);
  writer.put_all(transfer.others == Transfer::no_place ? std::vector<std::uint32_t>()
                                                       : others[transfer.others]);
}

Transfer restore_transfer(OtherSteps& others, pdes::StateReader& reader) {
  Transfer transfer;
  transfer.step = reader.get<std::uint32_t>();
  transfer.awaited = reader.get<EntityId>();
  std::vector<std::uint32_t> steps = reader.get_all<std::uint32_t>();
  if (!steps.empty()) {
    transfer.others = static_cast<std::uint32_t>(others.size());
    others.push_back(std::move(steps));
  }
  return transfer;
}

bool holds(const std::vector<plan::Instruction>& code, const plan::Instruction* instruction) {
  const std::less_equal<const plan::Instruction*> up_to;
  return !code.empty() && up_to(code.data(), instruction) && up_to(instruction, &code.back());
}

}  // namespace

void save_tile(const TileState& tile, const InboxPool& inboxes, const OtherSteps& others,
               pdes::StateWriter& writer) {
  writer.put(tile.entry);
  writer.put(tile.instruction);
  writer.put(tile.iteration);
  writer.put(tile.since);
  writer.put(tile.accesses);
  save_transfer(tile.transfer, others, writer);
  writer.put(tile.time_ps);
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

void restore_tile(TileState& tile, InboxPool& inboxes, OtherSteps& others,
                  pdes::StateReader& reader) {
  tile.entry = reader.get<std::uint32_t>();
  tile.instruction = reader.get<std::uint32_t>();
  tile.iteration = reader.get<std::uint32_t>();
  tile.since = reader.get<SimTime>();
  tile.accesses = reader.get<std::uint32_t>();
  tile.transfer = restore_transfer(others, reader);
  tile.time_ps = reader.get<std::array<std::int64_t, program_activities - 1>>();
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
                     const OtherSteps& others, pdes::StateWriter& writer) {
  save_transfer(background.transfer, others, writer);
  writer.put(background.until);
  writer.put(static_cast<std::uint32_t>(background.queue.size()));
  for (const plan::Instruction* instruction : background.queue) {
    std::uint32_t piece = 0;
    while (!holds(program.pieces[piece], instruction)) {
      ++piece;
      ensure(piece < program.pieces.size(), "a background collective of no piece");
    }
    writer.put(piece);
    writer.put(static_cast<std::uint32_t>(instruction - program.pieces[piece].data()));
  }
}

Background restore_background(const plan::Program& program, OtherSteps& others,
                              pdes::StateReader& reader) {
  Background background;
  background.transfer = restore_transfer(others, reader);
  background.until = reader.get<SimTime>();
  for (auto left = reader.get<std::uint32_t>(); left > 0; --left) {
    const auto piece = reader.get<std::uint32_t>();
    const auto number = reader.get<std::uint32_t>();
    ensure(piece < program.pieces.size() && number < program.pieces[piece].size(),
           "a checkpoint names an instruction that is not there");
    background.queue.push_back(&program.pieces[piece][number]);
  }
  return background;
}

}  // namespace tessera::executor
