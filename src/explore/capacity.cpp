#include "tessera/explore/capacity.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "rate_search.hpp"
#include "tessera/core/error.hpp"
#include "tessera/sim/experiment.hpp"

namespace tessera::explore {
namespace {

struct OverKey {
  std::string key;
  std::vector<std::string> values;
};

OverKey over_key_of(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
    throw ConfigError("--over " + text + ": expected KEY=VALUE,...");
  }
  OverKey made{text.substr(0, equals), {}};
  for (std::size_t begin = equals + 1; begin <= text.size();) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    if (comma == begin) {
      throw ConfigError("--over " + text + ": a value is missing");
    }
    made.values.push_back(text.substr(begin, comma - begin));
    begin = comma + 1;
  }
  return made;
}

}  // namespace

void sort_rows(CapacityOutcome& outcome) {
  std::stable_sort(outcome.rows.begin(), outcome.rows.end(),
                   [](const CapacityRow& a, const CapacityRow& b) { return a.rate > b.rate; });
}

CapacityOutcome find_capacity(const CapacityRequest& request, const config::TextLoader& load) {
  const double first =
      first_rate(request, sim::read_configuration(request.experiment, request.overrides, load));
  CapacityOutcome outcome;
  std::vector<OverKey> over;
  std::size_t combinations = 1;
  for (const std::string& text : request.over) {
    over.push_back(over_key_of(text));
    outcome.keys.push_back(over.back().key);
    combinations *= over.back().values.size();
  }
  for (std::size_t number = 0; number < combinations; ++number) {
    std::vector<std::string> settings = request.overrides;
    std::vector<std::string> values;
    std::size_t left = number;
    for (const OverKey& key : over) {
      values.push_back(key.values[left % key.values.size()]);
      left /= key.values.size();
      settings.push_back(key.key + "=" + values.back());
    }
    std::optional<CapacityRow> row = RateSearch(request, load, settings).run(first);
    if (!row) {
      outcome.complete = false;
      break;
    }
    row->values = std::move(values);
    outcome.rows.push_back(std::move(*row));
    if (request.on_note) {
      request.on_note(std::to_string(number + 1) + " of " + std::to_string(combinations) +
                      " combinations");
    }
  }
  sort_rows(outcome);
  return outcome;
}

}  // namespace tessera::explore
