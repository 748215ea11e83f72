#include "options.hpp"

#include <cxxopts.hpp>
#include <memory>
#include <optional>

#include "tessera/config/document.hpp"
#include "tessera/core/error.hpp"
#include "tessera/core/text.hpp"

namespace tessera::bench {
namespace {

[[noreturn]] void refuse(const std::string& name, const std::string& problem) {
  throw ConfigError("--" + name + ": " + problem);
}

cxxopts::Options described(const OptionList& list, const std::string& program,
                           const std::string& purpose) {
  cxxopts::Options description(program, purpose);
  cxxopts::OptionAdder add = description.add_options();
  for (const OptionList::Option& option : list.all()) {
    if (!option.value) {
      add(option.name, option.help);
      continue;
    }
    const std::shared_ptr<cxxopts::Value> value = cxxopts::value<std::string>();
    if (option.value->standard) {
      value->default_value(*option.value->standard);
    }
    add(option.name, option.help, value, option.argument);
  }
  return description;
}

cxxopts::ParseResult parse(cxxopts::Options& description, const std::vector<std::string>& words) {
  std::vector<const char*> pointers{"tessera-bench"};
  for (const std::string& word : words) {
    pointers.push_back(word.c_str());
  }
  try {
    cxxopts::ParseResult result =
        description.parse(static_cast<int>(pointers.size()), pointers.data());
    if (!result.unmatched().empty()) {
      throw ConfigError("unexpected argument '" + result.unmatched().front() + "'");
    }
    return result;
  } catch (const cxxopts::exceptions::exception& error) {
    throw ConfigError(error.what());
  }
}

}  // namespace

std::string OptionList::help(const std::string& program, const std::string& purpose) const {
  return described(*this, program, purpose).help();
}

CaseOptions::CaseOptions(const OptionList& description, const std::vector<std::string>& words) {
  cxxopts::Options options = described(description, "tessera-bench", "");
  const cxxopts::ParseResult result = parse(options, words);
  for (const OptionList::Option& option : description.all()) {
    const std::string name = option.name.substr(option.name.find(',') + 1);
    const bool given = result.count(name) > 0;
    if (given) {
      given_.insert(name);
    }
    if (option.value && (given || option.value->standard)) {
      texts_[name] = result[name].as<std::string>();
    }
  }
}

template <class T>
T CaseOptions::parsed(const std::string& name) const {
  std::string problem;
  const std::optional<T> value = config::parse_as<T>(text(name), problem);
  if (!value) {
    refuse(name, problem);
  }
  return *value;
}

std::uint64_t CaseOptions::count(const std::string& name, std::uint64_t least,
                                 std::uint64_t most) const {
  const auto value = parsed<std::int64_t>(name);
  if (value < 0 || static_cast<std::uint64_t>(value) < least ||
      static_cast<std::uint64_t>(value) > most) {
    refuse(name, std::to_string(value) + " is not in " + std::to_string(least) + " ... " +
                     std::to_string(most));
  }
  return static_cast<std::uint64_t>(value);
}

SimTime CaseOptions::time(const std::string& name, SimTime least) const {
  constexpr SimTime most = SimTime::from_ps(86'400'000'000'000'000);
  const auto value = parsed<SimTime>(name);
  if (value < least || value > most) {
    refuse(name, to_string(value) + " is not in " + to_string(least) + " ... " + to_string(most));
  }
  return value;
}

Bytes CaseOptions::bytes(const std::string& name) const {
  const auto value = parsed<Bytes>(name);
  if (value.count() == 0) {
    refuse(name, "at least one byte");
  }
  return value;
}

Bandwidth CaseOptions::bandwidth(const std::string& name) const {
  const auto value = parsed<Bandwidth>(name);
  if (value.bytes_per_second() == 0) {
    refuse(name, "must be above zero");
  }
  return value;
}

double CaseOptions::share(const std::string& name) const {
  const auto value = parsed<double>(name);
  if (!(value >= 0 && value <= 1)) {
    refuse(name, format_number(value) + " is not in 0 ... 1");
  }
  return value;
}

std::size_t CaseOptions::choice(const std::string& name,
                                const std::vector<std::string>& allowed) const {
  const std::string value = text(name);
  for (std::size_t i = 0; i < allowed.size(); ++i) {
    if (allowed[i] == value) {
      return i;
    }
  }
  refuse(name, unknown_name("value", value, allowed));
}

}  // namespace tessera::bench
