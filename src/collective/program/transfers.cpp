// Programs as lists of transfers.
#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "program/maker.hpp"
#include "tessera/config/conditional_key.hpp"
#include "tessera/config/key.hpp"
#include "tessera/core/error.hpp"
#include "tessera/core/section_info.hpp"

namespace tessera::collective {
namespace {

// A chunk at a member, with the operations that a later one has to wait for.
struct Place {
  Piece piece;
  std::vector<std::uint32_t> writers;  // one at most
  std::vector<std::uint32_t> readers;  // since
};

class Transfers {
 public:
  explicit Transfers(ProgramMaker& maker) : maker_(maker), places_(maker.members()) {
    for (Member member = 0; member < maker.members(); ++member) {
      for (Piece& piece : maker.first(member)) {
        places_[member][piece.chunk].piece = std::move(piece);
      }
    }
  }

  void add(Member from, Member to, const std::vector<std::uint32_t>& chunks, bool adds,
           std::string& problem) {
    std::vector<Piece> pieces;
    std::vector<Piece*> targets;
    std::vector<std::uint32_t> after_read;
    std::vector<std::uint32_t> after_write;
    for (const std::uint32_t chunk : chunks) {
      const Place& source = places_[from][chunk];
      Place& target = places_[to][chunk];
      pieces.push_back(source.piece);
      targets.push_back(&target.piece);
      after_read.insert(after_read.end(), source.writers.begin(), source.writers.end());
      after_write.insert(after_write.end(), target.writers.begin(), target.writers.end());
      after_write.insert(after_write.end(), target.readers.begin(), target.readers.end());
    }
    const std::uint32_t sent = maker_.send(from, to, pieces, std::move(after_read), problem);
    if (!problem.empty()) {
      return;
    }
    const std::uint32_t received =
        maker_.receive(to, from, sent, pieces, targets, adds, std::move(after_write), problem);
    for (const std::uint32_t chunk : chunks) {
      places_[from][chunk].readers.push_back(sent);
      places_[to][chunk].writers = {received};
      places_[to][chunk].readers.clear();
    }
  }

  // "" if every member has what it should have.
  std::string missing() {
    for (Member member = 0; member < maker_.members(); ++member) {
      for (const Piece& wanted : maker_.wanted(member)) {
        const Piece& found = places_[member][wanted.chunk].piece;
        if (found != wanted) {
          return "at last member " + std::to_string(member) + " has " +
                 (found.is_there() ? maker_.text_of(found) : "no " + maker_.text_of(wanted));
        }
      }
    }
    return "";
  }

 private:
  ProgramMaker& maker_;
  std::vector<std::map<std::uint32_t, Place>> places_;  // [members] by chunk
};

using config::between;

constexpr std::int64_t most_in_file = 1'024;  // members

const config::RequiredKey<std::string> collective_key{"collective",
                                                      "kind of the collective, any but barrier"};
const config::RequiredKey<std::int64_t> members_key{"members", "members of the communicator",
                                                    between<std::int64_t>(2, most_in_file)};
const config::OtherKey traces_key{
    "traces", "file", "none",
    "instead of transfers: execution traces PREFIX.<member>.et, relative to this file"};
const config::RequiredKey<Bytes> size_key{"size",
                                          "with traces: size of the vector for which "
                                          "they were made",
                                          config::at_least(Bytes(1))};
const config::DerivedKey<std::int64_t> chunks_key{
    "chunks", "members", "chunks into which the vector is cut, a multiple of members",
    between<std::int64_t>(1, 65'536)};
const config::OtherKey transfers_key{"transfers", "list", "none",
                                     "transfers, in an order in which they could be done one by "
                                     "one"};
const config::Key<bool> add_key{"transfers[].add", false,
                                "true: chunks are added to the receiver's data; false: they "
                                "replace it"};
const config::OtherKey sent_key{"transfers[].chunks", "list of integer", "",
                                "numbers of the chunks that are sent, at least one"};

config::RequiredKey<std::int64_t> from_key(std::int64_t members) {
  return {"transfers[].from", "member that sends, from 0", between<std::int64_t>(0, members - 1)};
}
config::RequiredKey<std::int64_t> to_key(std::int64_t members) {
  return {"transfers[].to", "member that receives", between<std::int64_t>(0, members - 1)};
}
config::DerivedKey<std::int64_t> of_key(std::int64_t members) {
  return {"transfers[].of", "from", "for all-to-all: member to whose vector the chunks belong",
          between<std::int64_t>(0, members - 1)};
}

}  // namespace

std::vector<ParameterInfo> program_parameters() {
  return {collective_key,
          members_key,
          chunks_key,
          transfers_key,
          from_key(most_in_file),
          to_key(most_in_file),
          sent_key,
          add_key,
          of_key(most_in_file),
          traces_key,
          config::where_used(size_key)};
}

Program read_transfers(const std::string& path, const std::string& text,
                       const TraceReader& traces) {
  config::Diagnostics diagnostics;
  config::Section section(config::parse(path, text, diagnostics), "", diagnostics);
  section.declare([] { return section_of_keys("", "", program_parameters()); });
  const std::string kind_name = collective_key.read(section);
  const std::optional<Kind> kind = program_kind(kind_name);
  if (!kind && diagnostics.empty()) {
    section.error("collective", "'" + kind_name + "' is no collective that can be written");
  }
  const std::int64_t members = members_key.read(section);
  if (section.has(traces_key.key())) {
    const auto prefix = section.get_file(traces_key.key());
    const Bytes size = size_key.read(section);
    section.finish();
    diagnostics.throw_if_any();
    return join_traced(std::filesystem::path(path).filename().string(), *kind, size.count(),
                       traces(prefix, static_cast<std::uint32_t>(members)));
  }
  const std::int64_t chunks = chunks_key.read(section, members);
  diagnostics.throw_if_any();
  if (chunks % members != 0) {
    section.error("chunks", "must be a multiple of members, " + std::to_string(members));
  }
  diagnostics.throw_if_any();
  ProgramMaker maker(std::filesystem::path(path).filename().string(), *kind,
                     static_cast<std::uint32_t>(members), static_cast<std::uint32_t>(chunks));
  Transfers transfers(maker);
  for (config::Section transfer : section.sections(transfers_key.key())) {
    const auto from = static_cast<Member>(from_key(members).read(transfer));
    const auto to = static_cast<Member>(to_key(members).read(transfer));
    const bool adds = add_key.read(transfer);
    const std::int64_t of = of_key(members).read(transfer, from);
    diagnostics.throw_if_any();
    std::vector<std::uint32_t> ids;
    std::set<std::int64_t> named;
    for (const std::int64_t chunk : transfer.get_list<std::int64_t>(sent_key.key())) {
      if (chunk < 0 || chunk >= chunks) {
        transfer.error("chunks", "chunks are numbered from 0 to " + std::to_string(chunks - 1));
        break;
      }
      if (!named.insert(chunk).second) {
        transfer.error("chunks", "names chunk " + std::to_string(chunk) + " twice");
        break;
      }
      ids.push_back(
          static_cast<std::uint32_t>(*kind == Kind::all_to_all ? of * chunks + chunk : chunk));
    }
    if (ids.empty() && diagnostics.empty()) {
      transfer.error("chunks", "names the chunks that are sent");
    }
    if (from == to) {
      transfer.error("to", "a member cannot send to itself");
    }
    diagnostics.throw_if_any();
    std::string problem;
    transfers.add(from, to, ids, adds, problem);
    if (!problem.empty()) {
      transfer.error("", problem);
    }
    diagnostics.throw_if_any();
  }
  section.finish();
  if (const std::string missing = transfers.missing(); !missing.empty()) {
    section.error("transfers", missing);
  }
  diagnostics.throw_if_any();
  return maker.take();
}

}  // namespace tessera::collective
