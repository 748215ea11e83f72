// How the words after a command become options and their values: one way for all commands.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tessera/cli/commands.hpp"
#include "tessera/comm/communicator.hpp"
#include "tessera/config/document.hpp"

namespace tessera::cli {

// What an option takes: one text, or several where it is repeated.
struct OptionValue {
  bool repeats = false;
  std::optional<std::string> by_default;
  std::vector<std::string> names;      // one of these; empty: any text
  std::string alone{};                 // what it is where no value follows; empty: one must
  std::vector<std::string> offered{};  // what shells offer, where any text is taken
};
inline OptionValue text_value() {
  return {};
}
inline OptionValue text_value(std::string by_default) {
  return {false, std::move(by_default), {}};
}
inline OptionValue texts_value(std::vector<std::string> offered = {}) {
  return {true, std::nullopt, {}, {}, std::move(offered)};
}
inline OptionValue one_of_value(std::vector<std::string> names,
                                std::optional<std::string> by_default = std::nullopt) {
  return {false, std::move(by_default), std::move(names)};
}

// What a command takes, for shells and manuals.
struct OptionTable {
  struct Row {
    std::string short_name;  // without dashes; empty: none
    std::string name;
    std::string shown;  // what its value is called; empty: it takes none
    std::string help;
    std::string by_default;
    bool repeats = false;
    std::vector<std::string> names;    // what its value is one of; empty: any text
    std::vector<std::string> offered;  // of any text, what shells offer
  };
  std::string help;
  std::string subject;                // how the usage line shows it
  std::vector<std::string> subjects;  // what it is one of; empty: any text
  std::vector<Row> rows;
};
// A command makes its options when it runs. Run with this word alone, it throws them before it does
// anything: that is asked for by `tessera completion` and `tessera man`, and asks nothing of who
// adds a command.
inline constexpr const char* describe_word = "--describe-options";
struct Described {
  OptionTable table;
};

// The options of one command. Values are read as texts, and turned into numbers and quantities
// here, so that a complaint names the option.
class Options {
 public:
  // `subject` is the one thing the command takes besides options, such as "experiment"; the usage
  // line shows it as `shown`. -h, --help is there.
  Options(const std::string& command, const std::string& help, const std::string& subject,
          const std::string& shown);
  ~Options();
  Options(Options&&) noexcept;
  Options& operator=(Options&&) noexcept;

  // One that takes a value, which the help calls `shown`; names as in "o,output".
  Options& add(const std::string& names, const std::string& help, const OptionValue& value,
               const std::string& shown);
  // One that takes none.
  Options& add(const std::string& names, const std::string& help);
  // What the subject is one of, for shells.
  Options& offer_subjects(std::vector<std::string> names);
  // --set, where an experiment is read.
  void add_settings(const std::string& help = "set a key: key.path=value (repeatable)");

  // Takes more than one subject.
  Options& take_more();

  // False when the help was asked for; rank 0 has printed it then. Throws ConfigError for an
  // unknown option, a missing or empty value, a value that is none of its names, and words beyond
  // the subject; Described when that was asked for.
  bool parse(const Words& words, const comm::Communicator& world);

  bool has(const std::string& name) const { return times(name) > 0; }
  int times(const std::string& name) const;
  // One that has no value.
  bool flag(const std::string& name) const;
  bool has_subject() const;
  // Throws ConfigError when it was not given.
  std::string subject() const;
  // All of them, in the order given, where more than one is taken.
  std::vector<std::string> subjects() const;
  // As given, or by default.
  std::string text(const std::string& name) const;
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
  // The library that reads command lines stays in one file.
  struct Parser;

  Words with_implied(const Words& words) const;
  void refuse_empty_texts() const;
  void refuse_other_names() const;
  OptionTable table() const;
  std::string see_help() const { return "; see tessera " + command_ + " --help"; }
  bool has_default(const std::string& name) const;

  std::string command_;
  std::string help_;
  std::string subject_;
  bool takes_more_ = false;
  std::string shown_;
  std::vector<std::string> subjects_;
  std::map<std::string, OptionValue> values_;  // by name
  std::unique_ptr<Parser> parser_;
};

template <config::Readable T>
std::optional<T> Options::value(const std::string& name) const {
  if (!has(name) && !has_default(name)) {
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
