#include "tables/command_tables.hpp"

#include <map>
#include <set>

#include "tessera/cli/commands.hpp"
#include "tessera/core/error.hpp"
#include "tessera/sim/sections.hpp"

namespace tessera::cli {
namespace {

OptionTable options_of(const std::string& command, comm::Communicator& world) {
  try {
    commands().at(command).run({describe_word}, world);
  } catch (const Described& described) {
    return described.table;
  }
  throw InternalError("command '" + command + "' does not parse its options first");
}

using Keys = std::map<std::string, std::set<std::string>>;  // with the names that each takes

void add_keys(const SectionInfo& section, const std::string& prefix, Keys& keys) {
  if (!section.selector.empty()) {
    std::set<std::string>& names = keys[prefix + section.selector];
    for (const SectionInfo& choice : section.choices) {
      names.insert(choice.name);
    }
  }
  for (const ParameterInfo& parameter : section.parameters) {
    const bool is_users = parameter.name.find("NAME") != std::string::npos ||
                          parameter.name.find("[]") != std::string::npos;
    if (!is_users) {
      keys[prefix + parameter.name].insert(parameter.names.begin(), parameter.names.end());
    }
  }
  for (const SectionInfo& choice : section.choices) {
    add_keys(choice, prefix, keys);
  }
  for (const SectionInfo& part : section.sections) {
    keys.try_emplace(prefix + part.name);
    if (part.shape == SectionInfo::Shape::mapping) {
      add_keys(part, prefix + part.name + ".", keys);
    }
  }
}

Keys all_keys() {
  Keys keys;
  add_keys(sim::sections_of_file("experiment"), "", keys);
  return keys;
}

}  // namespace

std::vector<CommandTable> command_tables(comm::Communicator& world) {
  std::vector<CommandTable> tables;
  for (const PartInfo& command : commands().infos()) {
    tables.push_back({command.name, commands().at(command.name).usage, command.help,
                      options_of(command.name, world)});
  }
  return tables;
}

std::vector<std::pair<int, std::string>> exit_codes() {
  return {{0, "done"},      {2, "bad input"},     {3, "the model cannot go on"},
          {70, "internal"}, {74, "input/output"}, {75, "stopped early; --resume goes on"}};
}

Offer offer_for(const std::string& shown, const std::vector<std::string>& names) {
  if (!names.empty()) {
    return {Offer::Kind::words, names, ""};
  }
  std::string word = shown;
  std::erase_if(word, [](char letter) { return letter == '[' || letter == ']'; });
  if (word == "KEY=VALUE") {
    return {Offer::Kind::setting, {}, ""};
  }
  if (word == "DIR") {
    return {Offer::Kind::folder, {}, ""};
  }
  const std::size_t dot = word.rfind('.');
  return word == "FILE" || dot != std::string::npos
             ? Offer{Offer::Kind::file, {}, word == "FILE" ? "" : word.substr(dot)}
             : Offer{};
}

Offer offer_for(const OptionTable::Row& option) {
  return offer_for(option.shown, option.names.empty() ? option.offered : option.names);
}

std::vector<std::string> setting_keys() {
  std::vector<std::string> names;
  for (const auto& [key, values] : all_keys()) {
    names.push_back(key);
  }
  return names;
}

std::map<std::string, std::vector<std::string>> setting_values() {
  std::map<std::string, std::vector<std::string>> values;
  for (const auto& [key, names] : all_keys()) {
    if (!names.empty()) {
      values[key] = {names.begin(), names.end()};
    }
  }
  return values;
}

}  // namespace tessera::cli
