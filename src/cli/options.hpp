// How the words after a command become options and their values: one way for all commands.
#pragma once

#include <cstdint>
#include <cxxopts.hpp>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "commands.hpp"
#include "tessera/comm/communicator.hpp"
#include "tessera/config/document.hpp"

namespace tessera::cli {

// The options of one command. Values are read as texts, and turned into numbers and quantities
// here, so that a complaint names the option.
class Options {
 public:
  // `subject` is the one thing the command takes besides options, such as "experiment"; the usage
  // line shows it as `shown`. -h, --help is there.
  Options(const std::string& command, const std::string& help, const std::string& subject,
          const std::string& shown);

  // For adding options as cxxopts does: name, help, value, what the help calls the value.
  cxxopts::OptionAdder add() { return description_.add_options(); }
  // --set, where an experiment is read.
  void add_settings(const std::string& help = "set a key: key.path=value (repeatable)");

  // False when the help was asked for; rank 0 has printed it then. Throws ConfigError for an
  // unknown option, a missing value, and words beyond the subject.
  bool parse(const Words& words, const comm::Communicator& world);

  bool has(const std::string& name) const { return given_.count(name) > 0; }
  int times(const std::string& name) const { return static_cast<int>(given_.count(name)); }
  // One that has no value.
  bool flag(const std::string& name) const { return has(name) && given_[name].as<bool>(); }
  bool has_subject() const;
  // Throws ConfigError when it was not given.
  std::string subject() const;
  // As given, or by default.
  std::string text(const std::string& name) const { return given_[name].as<std::string>(); }
  // Of a repeatable option; none when it was not given.
  std::vector<std::string> texts(const std::string& name) const;
  std::vector<std::string> settings() const { return texts("set"); }
  // A number or a quantity with its unit; none when it was not given and has no default.
  template <config::Readable T>
  std::optional<T> value(const std::string& name) const;
  // A whole number with a default.
  std::int64_t number(const std::string& name, std::int64_t low, std::int64_t high) const;
  // Of a repeatable option.
  std::vector<std::int64_t> numbers(const std::string& name, std::int64_t low,
                                    std::int64_t high) const;

  // What --resume goes on with leaves nothing to these options, nor to a subject.
  void refuse_beside_resume(const std::string& holder,
                            std::initializer_list<const char*> others) const;

 private:
  std::string see_help() const { return "; see tessera " + command_ + " --help"; }

  std::string command_;
  std::string subject_;
  cxxopts::Options description_;
  cxxopts::ParseResult given_;
};

template <config::Readable T>
std::optional<T> Options::value(const std::string& name) const {
  if (!has(name) && !given_[name].has_default()) {
    return std::nullopt;
  }
  std::string problem;
  std::optional<T> value = config::parse_as<T>(text(name), problem);
  if (!value) {
    throw ConfigError("--" + name + ": " + problem);
  }
  return value;
}

}  // namespace tessera::cli
