// Messages between tiles: how their tags name them.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "program/inbox.hpp"
#include "program/program_outlook.hpp"
#include "program/tile_state.hpp"
#include "tessera/executor/program/executor.hpp"
#include "tessera/network/messages.hpp"
#include "tessera/pdes/engine.hpp"
#include "tessera/plan/program.hpp"

namespace tessera::executor {

// Tags: the traffic in the lowest bits, one for what goes on in the background, and above them the
// micro-batch and chunk of a boundary tensor or the step of a collective, which tell apart what one
// tile has under way to another.
inline constexpr unsigned traffic_bits = 3;
inline constexpr std::uint16_t background_bit = 1U << traffic_bits;
static_assert(plan::program_traffic_kinds <= background_bit);

inline std::uint16_t tag_of(plan::Traffic traffic, bool background, std::uint32_t number) {
  return static_cast<std::uint16_t>(static_cast<unsigned>(traffic) |
                                    (background ? background_bit : 0U) |
                                    number << (traffic_bits + 1));
}

class TileMessages {
 public:
  // `arrival` is where messages are delivered to, at every tile.
  TileMessages(const ExecutorSetup& setup, pdes::Port arrival)
      : network_slot_(setup.network_slot), observer_(setup.observer), arrival_(arrival) {}

  // `watched`: the outlook is told. `flags`: see network::send.
  void send(pdes::Context& context, EntityId target, Bytes bytes, std::uint16_t tag, bool watched,
            std::uint8_t flags = 0) {
    sent_[static_cast<unsigned>(tag) & (background_bit - 1)] += bytes.count();
    const bool is_followed =
        outlook_ != nullptr && watched &&
        outlook_->send(
            context.self(), target, bytes,
            {context.self(), tag, static_cast<std::uint64_t>(context.now().ps()), context.now()});
    network::send(context, network_slot_, target, bytes, arrival_, tag,
                  static_cast<std::uint64_t>(context.now().ps()),
                  is_followed ? static_cast<std::uint8_t>(flags | network::followed_flag) : flags);
  }
  // Whether the outlook is told of what this collective of the tile's program sends: all its
  // members stand at the same place of the same program, so that all agree.
  bool are_watched(const TileState& tile, const plan::Instruction& instruction) const {
    return outlook_ != nullptr && (instruction.group == plan::Group::tied ||
                                   outlook_->is_near(tile.role, tile.entry, tile.instruction));
  }
  // Is told of messages; not owned.
  void tell(ProgramOutlook* outlook) { outlook_ = outlook; }

  // Of a message that the tile takes now.
  void report(pdes::Context& context, plan::Traffic traffic, Bytes bytes,
              const InboxPool::Message& message) {
    received_[static_cast<std::size_t>(traffic)] += bytes.count();
    if (observer_ != nullptr) {
      observer_->on_message({message.source, context.self(), traffic, bytes, message.sent,
                             message.arrived, context.now()});
    }
  }

  // Bytes by traffic.
  std::vector<Balance> balances() const {
    std::vector<Balance> all;
    for (std::size_t kind = 0; kind < plan::program_traffic_kinds; ++kind) {
      all.push_back({plan::to_string(static_cast<plan::Traffic>(kind)) + " bytes sent and received",
                     sent_[kind], received_[kind]});
    }
    return all;
  }
  SentBytes sent_bytes() const {
    SentBytes bytes;
    for (std::size_t kind = 0; kind < plan::program_traffic_kinds; ++kind) {
      const auto traffic = static_cast<plan::Traffic>(kind);
      const bool passes_on =
          traffic == plan::Traffic::activation || traffic == plan::Traffic::gradient;
      (passes_on ? bytes.messages : bytes.collectives) += sent_[kind];
    }
    return bytes;
  }
  void save(pdes::StateWriter& writer) const {
    writer.put(sent_);
    writer.put(received_);
  }
  void add(pdes::StateReader& reader) {
    for (auto* sums : {&sent_, &received_}) {
      const auto more = reader.get<Sums>();
      for (std::size_t kind = 0; kind < more.size(); ++kind) {
        (*sums)[kind] += more[kind];
      }
    }
  }

 private:
  using Sums = std::array<std::uint64_t, std::size_t{background_bit}>;  // [B] by traffic

  Sums sent_{};
  Sums received_{};
  unsigned network_slot_;
  Observer* observer_;
  pdes::Port arrival_;
  ProgramOutlook* outlook_ = nullptr;
};

}  // namespace tessera::executor
