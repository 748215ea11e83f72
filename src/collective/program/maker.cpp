#include "program/maker.hpp"

#include <algorithm>
#include <utility>

#include "tessera/core/error.hpp"

namespace tessera::collective {
namespace {

constexpr std::uint32_t most_members = 1'024;
constexpr std::uint32_t most_chunks = 65'536;

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

}  // namespace

std::optional<Kind> program_kind(const std::string& name) {
  const std::optional<Kind> kind = kind_named(name);
  return kind == Kind::barrier ? std::nullopt : kind;
}

ProgramMaker::ProgramMaker(std::string name, Kind kind, std::uint32_t members,
                           std::uint32_t chunks) {
  if (members < 2 || members > most_members) {
    throw ConfigError("a collective has 2 to " + std::to_string(most_members) + " members, not " +
                      std::to_string(members));
  }
  if (chunks == 0 || chunks % members != 0 || chunks > most_chunks) {
    throw ConfigError("the vector is cut in a multiple of the members, " + std::to_string(members) +
                      ", up to " + std::to_string(most_chunks) + ", not in " +
                      std::to_string(chunks));
  }
  program_.name = std::move(name);
  program_.kind = kind;
  program_.members = members;
  program_.chunks = chunks;
  program_.operations.resize(members);
  after_.resize(members);
}

// A chunk with one contribution or those of all.
Piece ProgramMaker::piece(std::uint32_t chunk, bool of_all, Member of) const {
  Piece result{chunk, std::vector<std::uint64_t>((members() + word_bits - 1) / word_bits)};
  for (Member member = 0; member < members(); ++member) {
    if (of_all || member == of) {
      result.from[member / word_bits] |= std::uint64_t{1} << member % word_bits;
    }
  }
  return result;
}

std::vector<Piece> ProgramMaker::first(Member member) const {
  const std::uint32_t part = chunks() / members();
  std::vector<Piece> pieces;
  switch (kind()) {
    case Kind::all_gather:
    case Kind::gather:
      for (std::uint32_t i = 0; i < part; ++i) {
        pieces.push_back(piece(member * part + i, false, member));
      }
      break;
    case Kind::broadcast:
    case Kind::scatter:
      for (std::uint32_t i = 0; member == 0 && i < chunks(); ++i) {
        pieces.push_back(piece(i, false, 0));
      }
      break;
    case Kind::all_to_all:
      for (std::uint32_t i = 0; i < chunks(); ++i) {
        pieces.push_back(piece(member * chunks() + i, false, member));
      }
      break;
    default:
      for (std::uint32_t i = 0; i < chunks(); ++i) {
        pieces.push_back(piece(i, false, member));
      }
  }
  return pieces;
}

std::vector<Piece> ProgramMaker::wanted(Member member) const {
  const std::uint32_t part = chunks() / members();
  std::vector<Piece> pieces;
  const auto all = [&](bool of_all) {
    for (std::uint32_t i = 0; i < chunks(); ++i) {
      pieces.push_back(piece(i, of_all, 0));
    }
  };
  switch (kind()) {
    case Kind::all_reduce:
      all(true);
      break;
    case Kind::reduce:
      if (member == 0) {
        all(true);
      }
      break;
    case Kind::broadcast:
      all(false);
      break;
    case Kind::reduce_scatter:
    case Kind::scatter:
      for (std::uint32_t i = 0; i < part; ++i) {
        pieces.push_back(piece(member * part + i, kind() == Kind::reduce_scatter, 0));
      }
      break;
    case Kind::all_gather:
    case Kind::gather:
      for (std::uint32_t i = 0; (kind() == Kind::all_gather || member == 0) && i < chunks(); ++i) {
        pieces.push_back(piece(i, false, i / part));
      }
      break;
    case Kind::all_to_all:
      for (Member of = 0; of < members(); ++of) {
        for (std::uint32_t i = 0; i < part; ++i) {
          pieces.push_back(piece(of * chunks() + member * part + i, false, of));
        }
      }
      break;
    case Kind::barrier:
      break;
  }
  return pieces;
}

std::string ProgramMaker::text_of(const Piece& piece) const {
  if (!piece.is_there()) {
    return "nothing";
  }
  std::string text = "chunk " + std::to_string(piece.chunk % chunks());
  text += kind() == Kind::all_to_all ? " of member " + std::to_string(piece.chunk / chunks()) : "";
  std::string missing;
  for (Member member = 0; member < members(); ++member) {
    if ((piece.from[member / word_bits] >> member % word_bits & 1) == 0 && missing.size() < 40) {
      missing += (missing.empty() ? "" : ", ") + std::to_string(member);
    }
  }
  const bool adds =
      kind() == Kind::all_reduce || kind() == Kind::reduce || kind() == Kind::reduce_scatter;
  return adds && !missing.empty() ? text + " without the contribution of " + missing : text;
}

std::uint32_t ProgramMaker::add(Member member, ProgramOperation operation,
                                std::span<const Piece> pieces, std::vector<std::uint32_t> after) {
  for (const Piece& piece : pieces) {
    operation.parts.push_back(piece.chunk % chunks());
  }
  std::sort(after.begin(), after.end());
  after.erase(std::unique(after.begin(), after.end()), after.end());
  operation.waits_for = static_cast<std::uint32_t>(after.size());
  program_.operations[member].push_back(std::move(operation));
  after_[member].push_back(std::move(after));
  return static_cast<std::uint32_t>(after_[member].size() - 1);
}

std::uint32_t ProgramMaker::send(Member member, Member to, std::span<const Piece> pieces,
                                 std::vector<std::uint32_t> after, std::string& problem) {
  if (std::any_of(pieces.begin(), pieces.end(), [](const Piece& one) { return !one.is_there(); })) {
    problem = "member " + std::to_string(member) + " has nothing there to send";
    return 0;
  }
  ProgramOperation operation;
  operation.send_to = to;
  return add(member, std::move(operation), pieces, std::move(after));
}

void ProgramMaker::put(std::span<const Piece> pieces, std::span<Piece* const> places) {
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    *places[i] = pieces[i];
  }
}

// Adds what came to what is there.
void ProgramMaker::merge(std::span<const Piece> pieces, std::span<Piece* const> places,
                         std::string& problem) const {
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    Piece& there = *places[i];
    if (!there.is_there() || !pieces[i].is_there() || there.chunk != pieces[i].chunk) {
      problem = "adds " + text_of(pieces[i]) + " to " + text_of(there);
      return;
    }
    for (std::size_t word = 0; word < there.from.size(); ++word) {
      if ((there.from[word] & pieces[i].from[word]) != 0) {
        problem = "adds a contribution to chunk " + std::to_string(there.chunk % chunks()) +
                  " for the second time";
        return;
      }
      there.from[word] |= pieces[i].from[word];
    }
  }
}

std::uint32_t ProgramMaker::receive(Member member, Member from, std::uint32_t sent,
                                    std::span<const Piece> pieces, std::span<Piece* const> places,
                                    bool adds, std::vector<std::uint32_t> after,
                                    std::string& problem) {
  ProgramOperation operation;
  operation.receive_from = from;
  operation.adds = adds;
  const std::uint32_t number = add(member, std::move(operation), pieces, std::move(after));
  program_.operations[from][sent].taken_by = number;
  if (adds) {
    merge(pieces, places, problem);
  } else {
    put(pieces, places);
  }
  return number;
}

std::uint32_t ProgramMaker::add_up(Member member, std::span<const Piece> pieces,
                                   std::span<Piece* const> places, std::vector<std::uint32_t> after,
                                   std::string& problem) {
  merge(pieces, places, problem);
  if (!problem.empty()) {
    return 0;
  }
  ProgramOperation operation;
  operation.adds = true;
  return add(member, std::move(operation), pieces, std::move(after));
}

Program ProgramMaker::take() {
  for (Member member = 0; member < members(); ++member) {
    for (std::uint32_t number = 0; number < after_[member].size(); ++number) {
      for (const std::uint32_t before : after_[member][number]) {
        program_.operations[member][before].next.push_back(number);
      }
    }
  }
  return std::move(program_);
}

Program read_program(const std::string& path, const config::TextLoader& load,
                     const TraceReader& traces) {
  const bool is_xml = ends_with(path, ".xml");
  if (!is_xml && !ends_with(path, ".yaml") && !ends_with(path, ".yml")) {
    throw ConfigError({path, 0, 0, "a collective is a .yaml file, or an .xml file of MSCCL"});
  }
  const std::string text = config::load_named(path, load);
  return is_xml ? read_msccl(path, text) : read_transfers(path, text, traces);
}

}  // namespace tessera::collective
