// The options of a case, read from the command line with one message for anything wrong.
#pragma once

#include <cstdint>
#include <cxxopts.hpp>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "tessera/core/time.hpp"
#include "tessera/core/units.hpp"

namespace tessera::bench {

// All readers throw ConfigError naming the option, what was found and what is allowed.
class CaseOptions {
 public:
  // Of the words after the name of the case.
  CaseOptions(cxxopts::Options& description, const std::vector<std::string>& words);

  bool given(const std::string& name) const { return result_.count(name) > 0; }
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
  std::string text(const std::string& name) const { return result_[name].as<std::string>(); }

 private:
  template <class T>
  T parsed(const std::string& name) const;

  cxxopts::ParseResult result_;
};

// The value of an option with a default.
inline std::shared_ptr<cxxopts::Value> text_option(const std::string& standard) {
  return cxxopts::value<std::string>()->default_value(standard);
}
// The value of an option that may be left out.
inline std::shared_ptr<cxxopts::Value> text_option() {
  return cxxopts::value<std::string>();
}

}  // namespace tessera::bench
