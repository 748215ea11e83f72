// All commands with their options, as shells complete them and manuals explain them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tessera/cli/options.hpp"
#include "tessera/comm/communicator.hpp"

namespace tessera::cli {

struct CommandTable {
  std::string name;
  std::string usage;  // "run EXPERIMENT.yaml [options]"
  std::string help;   // a few words
  OptionTable options;
};

// By name; asks each command for its options.
std::vector<CommandTable> command_tables(comm::Communicator& world);

// What the program ends with, and why.
std::vector<std::pair<int, std::string>> exit_codes();

// What a shell offers where a value or a subject stands.
struct Offer {
  enum class Kind : std::uint8_t { nothing, words, file, folder, setting };
  Kind kind = Kind::nothing;
  std::vector<std::string> words;
  std::string ending;  // of a file: ".yaml"; empty: any
};
// `shown` is how help calls it: "FILE", "DIR", "KEY=VALUE", "EXPERIMENT.yaml", "[KIND]".
Offer offer_for(const std::string& shown, const std::vector<std::string>& names);
Offer offer_for(const OptionTable::Row& option);

// Keys of an experiment that --set takes: "machine.network.model", sorted. Those below names of the
// user's own and in lists are left out.
std::vector<std::string> setting_keys();
// Of those that take one of some names, these.
std::map<std::string, std::vector<std::string>> setting_values();

}  // namespace tessera::cli
