// Texts that users write: YAML by itself, experiments, collectives, configurations of other
// simulators.
#include <algorithm>
#include <sstream>
#include <vector>

#include "readers.hpp"
#include "tessera/collective/program/program.hpp"
#include "tessera/config/document.hpp"
#include "tessera/core/error.hpp"
#include "tessera/core/file.hpp"
#include "tessera/migration/format.hpp"
#include "tessera/sim/experiment.hpp"

namespace tessera::fuzz {
namespace {

bool same(const config::Value& one, const config::Value& other) {
  if (one.kind != other.kind || one.text != other.text || one.items.size() != other.items.size() ||
      one.members.size() != other.members.size()) {
    return false;
  }
  for (std::size_t i = 0; i < one.items.size(); ++i) {
    if (!same(one.items[i], other.items[i])) {
      return false;
    }
  }
  for (std::size_t i = 0; i < one.members.size(); ++i) {
    if (one.members[i].key != other.members[i].key ||
        !same(one.members[i].value, other.members[i].value)) {
      return false;
    }
  }
  return true;
}

// Lines "MEMBER ACTION PEER TAG BYTES AFTER…"; an action is n, s, r or a.
collective::TracedOperations traced_by(std::string_view lines, std::uint32_t members) {
  constexpr std::uint32_t most_members = 64;
  constexpr std::string_view actions = "nsra";
  if (members > most_members) {
    throw ConfigError({"traces", 0, 0, "of too many members"});
  }
  collective::TracedOperations traced(members);
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(std::min(line.size() + 1, lines.size()));
    std::istringstream words{std::string(line)};
    std::uint32_t member = 0;
    char action = ' ';
    collective::TracedOperation operation;
    words >> member >> action >> operation.peer >> operation.tag >> operation.bytes;
    if (!words || member >= members || actions.find(action) == actions.npos) {
      continue;
    }
    operation.action = static_cast<collective::TracedOperation::Action>(actions.find(action));
    for (std::uint32_t after = 0; words >> after;) {
      operation.after.push_back(after);
    }
    operation.place = std::string(line);
    traced[member].push_back(std::move(operation));
  }
  // Who reads traces knows the nodes that others name.
  for (std::vector<collective::TracedOperation>& operations : traced) {
    for (collective::TracedOperation& operation : operations) {
      std::erase_if(operation.after,
                    [&](std::uint32_t number) { return number >= operations.size(); });
    }
  }
  return traced;
}

}  // namespace

void read_yaml(std::string_view bytes) {
  config::Diagnostics diagnostics;
  const config::Value value = config::parse("fuzzed.yaml", std::string(bytes), diagnostics);
  if (!diagnostics.empty()) {
    for (const Diagnostic& one : diagnostics.list()) {
      if (one.line < 0 || one.column < 0) {
        broken("a place before the file");
      }
    }
    diagnostics.throw_if_any();
  }
  if (value.kind != config::Value::Kind::mapping) {
    return;
  }
  const std::string written = config::to_yaml(value);
  const config::Value again = config::parse("written.yaml", written, diagnostics);
  if (!diagnostics.empty() || !same(value, again)) {
    broken("YAML that is written reads back otherwise:\n" + written);
  }
}

void read_experiment(std::string_view bytes) {
  const std::string path = path_of_experiment("fuzzed.yaml");
  const auto load = [&](const std::string& asked) {
    return asked == path ? std::string(bytes) : load_from_tree(asked);
  };
  const sim::Experiment experiment = sim::read_experiment(path, {}, load);
  // What it is resolved to is an experiment too, and the same one.
  const auto resolved = [&](const std::string& asked) {
    return asked == path ? experiment.resolved : load_from_tree(asked);
  };
  if (sim::read_experiment(path, {}, resolved).resolved != experiment.resolved) {
    broken("a resolved experiment is resolved otherwise:\n" + experiment.resolved);
  }
}

// A program, and behind a line "%%" the operations of its traces, if it has any.
void read_collective(std::string_view bytes) {
  constexpr std::string_view mark = "\n%%\n";
  const std::size_t end = bytes.find(mark);
  const std::string text(bytes.substr(0, end == bytes.npos ? end : end + 1));
  const std::string_view traced = end == bytes.npos ? "" : bytes.substr(end + mark.size());
  const bool xml = text.find('<') < text.find_first_not_of(" \t\r\n\xEF\xBB\xBF") + 1;
  const collective::Program program = collective::read_program(
      xml ? "fuzzed.xml" : "fuzzed.yaml", [&](const std::string&) { return text; },
      [&](const std::string&, std::uint32_t members) { return traced_by(traced, members); });
  for (collective::Member member = 0; member < program.members; ++member) {
    const collective::ProgramRun run(program, Bytes(4096), member, 0, {});
    if (run.save().empty() && !run.is_over()) {
      broken("a program without operations does not end");
    }
  }
}

// The name of a format, "%% KEY VALUE" or "%% FILE" and its text, one after the other; the first
// file is the main one.
void read_import(std::string_view bytes) {
  const Bundle bundle = split(bytes);
  config::Diagnostics diagnostics;
  config::Value given;
  given.kind = config::Value::Kind::mapping;
  given.place = {"--with", 1, 1};
  std::map<std::string, std::string> files;
  std::string source;
  for (const auto& [name, text] : bundle.parts) {
    const std::size_t space = name.find(' ');
    if (space != std::string::npos) {
      const std::string key = name.substr(0, space);
      if (given.find(key) == nullptr) {
        config::Value value;
        value.kind = config::Value::Kind::scalar;
        value.text = name.substr(space + 1);
        value.place = {"--with " + name, 1, 1};
        config::Value::Member member{key, given.place, value};
        given.members.push_back(member);
      }
      continue;
    }
    source = source.empty() ? name : source;
    files[name] = text;
  }
  const auto load = [&](const std::string& asked) -> std::string {
    const auto found = files.find(asked);
    if (found == files.end()) {
      throw FileError(asked, "not given");
    }
    return found->second;
  };
  migration::Request request{
      source,     config::Section(given, "", diagnostics), load, "imported.yaml", "imported", "",
      diagnostics};
  if (source.empty() || !migration::formats().contains(bundle.kind)) {
    return;
  }
  for (const migration::WrittenFile& file : migration::migrate(bundle.kind, request).files) {
    config::Diagnostics complaints;
    config::parse(file.ending, file.text, complaints);
    if (!complaints.empty()) {
      broken("what is written is no YAML:\n" + file.text);
    }
  }
}

}  // namespace tessera::fuzz
