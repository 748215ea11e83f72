// Programs as lists of transfers.
#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include "program_maker.hpp"
#include "tessera/core/error.hpp"

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

}  // namespace

Program read_transfers(const std::string& path, const std::string& text,
                       const TraceReader& traces) {
  config::Diagnostics diagnostics;
  config::Section section(config::parse(path, text, diagnostics), "", diagnostics);
  const std::string kind_name = section.get<std::string>("collective");
  const std::optional<Kind> kind = program_kind(kind_name);
  if (!kind && diagnostics.empty()) {
    section.error("collective", "'" + kind_name + "' is no collective that can be written");
  }
  const auto members =
      section.get<std::int64_t>("members", config::between<std::int64_t>(2, 1'024));
  if (section.has("traces")) {
    const auto prefix = section.get_file("traces");
    const auto size = section.get<Bytes>("size", config::at_least(Bytes(1)));
    section.finish();
    diagnostics.throw_if_any();
    return join_traced(std::filesystem::path(path).filename().string(), *kind, size.count(),
                       traces(prefix, static_cast<std::uint32_t>(members)));
  }
  const auto chunks =
      section.get_or<std::int64_t>("chunks", members, config::between<std::int64_t>(1, 65'536));
  diagnostics.throw_if_any();
  if (chunks % members != 0) {
    section.error("chunks", "must be a multiple of members, " + std::to_string(members));
  }
  diagnostics.throw_if_any();
  ProgramMaker maker(std::filesystem::path(path).filename().string(), *kind,
                     static_cast<std::uint32_t>(members), static_cast<std::uint32_t>(chunks));
  Transfers transfers(maker);
  for (config::Section transfer : section.sections("transfers")) {
    const auto member = [&](const char* key) {
      return static_cast<Member>(
          transfer.get<std::int64_t>(key, config::between<std::int64_t>(0, members - 1)));
    };
    const Member from = member("from");
    const Member to = member("to");
    const bool adds = transfer.get_or<bool>("add", false);
    const auto of =
        transfer.get_or<std::int64_t>("of", from, config::between<std::int64_t>(0, members - 1));
    std::vector<std::uint32_t> ids;
    for (const std::int64_t chunk : transfer.get_list<std::int64_t>("chunks")) {
      if (chunk < 0 || chunk >= chunks) {
        transfer.error("chunks", "chunks are numbered from 0 to " + std::to_string(chunks - 1));
        break;
      }
      ids.push_back(
          static_cast<std::uint32_t>(*kind == Kind::all_to_all ? of * chunks + chunk : chunk));
    }
    if (ids.empty()) {
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
