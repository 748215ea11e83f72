// Texts that users write: YAML by itself, experiments, collectives, configurations of other
// simulators.
#include <filesystem>

#include "readers.hpp"
#include "tessera/collective/program/program.hpp"
#include "tessera/config/document.hpp"
#include "tessera/core/error.hpp"
#include "tessera/core/file.hpp"
#include "tessera/migration/format.hpp"
#include "tessera/sim/experiment.hpp"

namespace tessera::fuzz {
namespace {

// From a folder of experiments, so that they may name machines and models of the tree.
const std::filesystem::path experiments =
    std::filesystem::path(TESSERA_SOURCE) / "configs/experiments";

// Files of the tree, at most 4 MiB each, and none of elsewhere.
std::string load_from_tree(const std::string& path) {
  const std::string inside = std::filesystem::weakly_canonical(path).string();
  if (!inside.starts_with(TESSERA_SOURCE)) {
    throw FileError(path, "outside of the tree");
  }
  return read_regular_file(inside, 4U << 20);
}

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

// The part of `bytes` before the next line "%% …", which is taken away with that line; its name.
std::string_view take_part(std::string_view& bytes, std::string& next) {
  const std::size_t at = bytes.find("\n%% ");
  const std::string_view part = bytes.substr(0, at == std::string_view::npos ? at : at + 1);
  bytes.remove_prefix(at == std::string_view::npos ? bytes.size() : at + 4);
  const std::size_t end = bytes.find('\n');
  next = std::string(bytes.substr(0, end));
  bytes.remove_prefix(end == std::string_view::npos ? bytes.size() : end + 1);
  return part;
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
    return;
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
  const std::string path = (experiments / "fuzzed.yaml").string();
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

void read_collective(std::string_view bytes) {
  const bool xml = bytes.find('<') < bytes.find_first_not_of(" \t\r\n\xEF\xBB\xBF") + 1;
  collective::read_program(
      xml ? "fuzzed.xml" : "fuzzed.yaml", [&](const std::string&) { return std::string(bytes); },
      [](const std::string& prefix, std::uint32_t) -> collective::TracedOperations {
        throw ConfigError({prefix, 0, 0, "no traces here"});
      });
}

// The name of a format, "%% KEY VALUE" or "%% FILE" and its text, one after the other; the first
// file is the main one.
void read_import(std::string_view bytes) {
  std::string next;
  std::string format(take_part(bytes, next));
  while (!format.empty() && format.back() == '\n') {
    format.pop_back();
  }
  config::Diagnostics diagnostics;
  config::Value given;
  given.kind = config::Value::Kind::mapping;
  given.place = {"--with", 1, 1};
  std::map<std::string, std::string> files;
  std::string source;
  while (!next.empty()) {
    const std::string name = next;
    const std::string_view text = take_part(bytes, next);
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
    files[name] = std::string(text);
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
  if (source.empty() || !migration::formats().contains(format)) {
    return;
  }
  for (const migration::WrittenFile& file : migration::migrate(format, request).files) {
    config::Diagnostics complaints;
    config::parse(file.ending, file.text, complaints);
    if (!complaints.empty()) {
      broken("what is written is no YAML:\n" + file.text);
    }
  }
}

}  // namespace tessera::fuzz
