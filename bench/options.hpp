// The options of a case, read from the command line with one message for anything wrong. What
// parses them stands in one source, as its header takes seconds to compile.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tessera/core/time.hpp"
#include "tessera/core/units.hpp"

namespace tessera::bench {

// What an option is when it is not given, if it is anything then.
struct OptionValue {
  std::optional<std::string> standard;
};

// The value of an option with a default.
inline OptionValue text_option(const std::string& standard) {
  return {standard};
}
// The value of an option that may be left out.
inline OptionValue text_option() {
  return {};
}

// What can be asked of a case.
class OptionList {
 public:
  struct Option {
    std::string name;  // "help" or "h,help"
    std::string help;
    std::optional<OptionValue> value;  // of none that only stands there
    std::string argument;
  };

  void operator()(const std::string& name, const std::string& help, const OptionValue& value,
                  const std::string& argument) {
    all_.push_back({name, help, value, argument});
  }
  void operator()(const std::string& name, const std::string& help) {
    all_.push_back({name, help, std::nullopt, ""});
  }
  const std::vector<Option>& all() const { return all_; }
  // The text of --help, of a program and what it is for.
  std::string help(const std::string& program, const std::string& purpose) const;

 private:
  std::vector<Option> all_;
};

// All readers throw ConfigError naming the option, what was found and what is allowed.
class CaseOptions {
 public:
  // Of the words after the name of the case.
  CaseOptions(const OptionList& description, const std::vector<std::string>& words);

  bool given(const std::string& name) const { return given_.contains(name); }
  std::uint64_t count(const std::string& name, std::uint64_t least, std::uint64_t most) const;
  std::uint32_t count32(const std::string& name, std::uint32_t least,
                        std::uint32_t most = std::numeric_limits<std::uint32_t>::max() - 1) const {
    return static_cast<std::uint32_t>(count(name, least, most));
  }
  // A duration with its unit: "10 ns". At least `least` and at most a day.
  SimTime time(const std::string& name, SimTime least = SimTime::from_ps(1)) const;
  // At least one byte.
  Bytes bytes(const std::string& name) const;
  Bandwidth bandwidth(const std::string& name) const;
  // A number in [0, 1].
  double share(const std::string& name) const;
  // The index of one of `allowed`.
  std::size_t choice(const std::string& name, const std::vector<std::string>& allowed) const;
  const std::string& text(const std::string& name) const { return texts_.at(name); }

 private:
  template <class T>
  T parsed(const std::string& name) const;

  std::set<std::string> given_;
  std::map<std::string, std::string> texts_;  // given or by default
};

}  // namespace tessera::bench
