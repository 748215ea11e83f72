#include "process/checkpoint_times.hpp"

#include <array>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include "tessera/config/document.hpp"
#include "tessera/core/error.hpp"

namespace tessera::cli {
namespace {

constexpr std::string_view simulated_prefix = "sim:";

[[noreturn]] void refuse(const std::string& text, const std::string& problem) {
  throw ConfigError("--checkpoint-every: '" + text + "': " + problem +
                    "; write a wall time such as '30s', '10min' or '2h', or a simulated time such "
                    "as 'sim:5ms'");
}

// [s]; none when the text is no wall time.
std::optional<double> wall_time(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, double>, 3> units{
      {{"min", 60}, {"s", 1}, {"h", 3600}}};
  for (const auto& [unit, seconds] : units) {
    if (!text.ends_with(unit)) {
      continue;
    }
    std::string_view number = text.substr(0, text.size() - unit.size());
    while (number.ends_with(' ')) {
      number.remove_suffix(1);
    }
    std::string problem;
    const auto value = config::parse_as<double>(number, problem);
    return value && std::isfinite(*value) ? std::optional(*value * seconds) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

void read_checkpoint_times(const std::vector<std::string>& texts, sim::CheckpointTimes& times) {
  for (const std::string& text : texts) {
    if (text.starts_with(simulated_prefix)) {
      std::string problem;
      const auto time = config::parse_as<SimTime>(
          std::string_view(text).substr(simulated_prefix.size()), problem);
      if (!time || *time <= SimTime::zero()) {
        refuse(text, time ? "must be above zero" : problem);
      }
      if (!times.simulated.is_never()) {
        refuse(text, "a second simulated time");
      }
      times.simulated = *time;
      continue;
    }
    const std::optional<double> seconds = wall_time(text);
    if (!seconds || *seconds <= 0) {
      refuse(text, seconds ? "must be above zero" : "is no time");
    }
    if (times.wall_s > 0) {
      refuse(text, "a second wall time");
    }
    times.wall_s = *seconds;
  }
}

}  // namespace tessera::cli
