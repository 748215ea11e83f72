#include "search/kept_keys.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "sweep/line_fields.hpp"
#include "tessera/core/error.hpp"
#include "tessera/core/text.hpp"
#include "tessera/plan/schedule/schedule.hpp"

namespace tessera::explore {
namespace {

// Names that a key takes; empty: whole numbers.
std::vector<std::string> names_of(const std::string& key, const std::vector<std::string>& layouts) {
  if (key == "sequence_parallel" || key == "async_tensor" || key.starts_with("overlap_")) {
    return {"false", "true"};
  }
  if (key == "recompute") {
    std::vector<std::string> names;
    for (const auto& [name, recompute] : recomputations()) {
      names.push_back(name);
    }
    return names;
  }
  if (key == "schedule") {  // those that hold the model once
    std::vector<std::string> names = plan::schedules().names();
    std::erase_if(names,
                  [](const std::string& name) { return plan::schedules().at(name).mirrored; });
    return names;
  }
  return key == "placement" ? layouts : std::vector<std::string>();
}

bool is_whole(const std::string& text) {
  std::uint32_t number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && rest == text.data() + text.size() &&
         text == std::to_string(number);
}

void check_value(const std::string& key, const std::string& value, const CandidateLimits& limits) {
  const std::vector<std::string> names = names_of(key, limits.layouts);
  if (key == "zero" && (value.size() != 1 || value < "0" || value > "3")) {
    throw ConfigError("--keep zero: must be between 0 and 3; got '" + value + "'");
  }
  const bool takes_zero = key == "zero" || key == "shard";
  if (names.empty() && (!is_whole(value) || (value == "0" && !takes_zero))) {
    throw ConfigError("--keep " + key + ": expected a whole number, " + (takes_zero ? "0" : "1") +
                      " or more; got '" + value + "'");
  }
  if (!names.empty() && std::find(names.begin(), names.end(), value) == names.end()) {
    throw ConfigError("--keep " + key + ": " + unknown_name("value", value, names));
  }
}

void keep_layout(CandidateLimits& limits) {
  if (limits.own.layout == "given" || limits.own.layout == "optimized") {
    throw ConfigError("--keep placement: layout '" + limits.own.layout +
                      "' is of one strategy; name another layout to keep it");
  }
  limits.layouts = {limits.own.layout};
}

}  // namespace

std::vector<std::string> words_to_keep() {
  std::vector<std::string> words = varied_keys();
  std::vector<std::string> layouts = plan::placements().names();
  std::erase(layouts, "given");
  std::erase(layouts, "optimized");
  for (const std::string& key : varied_keys()) {
    for (const std::string& name : names_of(key, layouts)) {
      words.push_back(key);
      words.back() += "=" + name;
    }
  }
  return words;
}

void keep_keys(const std::vector<std::string>& asked, CandidateLimits& limits) {
  for (const std::string& each : asked) {
    const std::size_t equals = each.find('=');
    const std::string key = each.substr(0, equals);
    const std::vector<std::string>& known = varied_keys();
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      throw ConfigError("--keep: " + unknown_name("key", key, known));
    }
    if (limits.given.contains(key) || (limits.kept.contains(key) && equals != std::string::npos)) {
      throw ConfigError("--keep " + key + ": asked for twice");
    }
    if (equals == std::string::npos) {
      limits.kept.insert(key);
      continue;
    }
    for (const std::string& value : split(each.substr(equals + 1), ',')) {
      check_value(key, value, limits);
      limits.given[key].insert(value);
    }
  }
  if (limits.kept.contains("placement")) {
    keep_layout(limits);
  }
}

void refuse_if_none_has(const std::vector<std::string>& asked, const CandidateLimits& limits) {
  bool any = asked.empty();
  for (const DegreesOfCandidates& degrees : degrees_of_candidates(limits)) {
    if (any) {
      return;
    }
    visit_candidates(limits, degrees, [&](const Candidate&) { any = true; });
  }
  if (!any) {
    throw ConfigError("--keep " + join(asked, " --keep ") + ": no candidate on " +
                      std::to_string(limits.devices) + " devices has that");
  }
}

}  // namespace tessera::explore
