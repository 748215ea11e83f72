// Follows a program of messages with the contribution of each member marked, and puts its
// operations together.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tessera/collective/program/program.hpp"

namespace tessera::collective {

// Sets of members are words of so many bits.
inline constexpr std::uint32_t word_bits = 64;

// What lies in a place of a member's memory: a chunk, with the contributions of some members.
struct Piece {
  static constexpr std::uint32_t nothing = 0xFFFFFFFFU;

  std::uint32_t chunk = nothing;    // all-to-all: member * chunks + place in its vector
  std::vector<std::uint64_t> from;  // a bit a member

  bool is_there() const { return chunk != nothing; }
  friend bool operator==(const Piece&, const Piece&) = default;
};

class ProgramMaker {
 public:
  // Throws ConfigError without a place for a shape that cannot be.
  ProgramMaker(std::string name, Kind kind, std::uint32_t members, std::uint32_t chunks);

  Kind kind() const { return program_.kind; }
  std::uint32_t members() const { return program_.members; }
  std::uint32_t chunks() const { return program_.chunks; }
  // Of a member: the chunks it has at first, in the order of its input, and those it should have at
  // last, in the order of its output.
  std::vector<Piece> first(Member member) const;
  std::vector<Piece> wanted(Member member) const;
  std::string text_of(const Piece& piece) const;

  // Each returns the number of the operation, which waits for those in `after`, and may set
  // `problem` instead of doing its work.
  std::uint32_t send(Member member, Member to, std::span<const Piece> pieces,
                     std::vector<std::uint32_t> after, std::string& problem);
  // The message of operation `sent` of member `from`; `places` are changed.
  std::uint32_t receive(Member member, Member from, std::uint32_t sent,
                        std::span<const Piece> pieces, std::span<Piece* const> places, bool adds,
                        std::vector<std::uint32_t> after, std::string& problem);
  std::uint32_t add_up(Member member, std::span<const Piece> pieces, std::span<Piece* const> places,
                       std::vector<std::uint32_t> after, std::string& problem);
  // Only waits.
  std::uint32_t nothing(Member member, std::vector<std::uint32_t> after) {
    return add(member, {}, {}, std::move(after));
  }
  static void put(std::span<const Piece> pieces, std::span<Piece* const> places);

  // Once all operations are there.
  Program take();

 private:
  std::uint32_t add(Member member, ProgramOperation operation, std::span<const Piece> pieces,
                    std::vector<std::uint32_t> after);
  void merge(std::span<const Piece> pieces, std::span<Piece* const> places,
             std::string& problem) const;
  Piece piece(std::uint32_t chunk, bool of_all, Member of) const;

  Program program_;
  std::vector<std::vector<std::vector<std::uint32_t>>> after_;  // [members][operations]
};

// See kind_named. Nothing for an unknown one and for barriers.
std::optional<Kind> program_kind(const std::string& name);

// Readers of the forms, of the text of a file.
Program read_transfers(const std::string& path, const std::string& text, const TraceReader& traces);
Program read_msccl(const std::string& path, const std::string& text);

// Puts traced operations together; `size` is that of the vector they are for. Throws ConfigError.
Program join_traced(std::string name, Kind kind, std::uint64_t size,
                    const TracedOperations& operations);

}  // namespace tessera::collective
