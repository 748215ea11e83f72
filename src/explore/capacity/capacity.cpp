#include "tessera/explore/capacity.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "capacity/rate_searches.hpp"
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

// Combinations between two looks at which of them are done; of any number of ranks.
constexpr std::size_t combinations_at_a_time = 8;

// Of one combination; the first key changes fastest.
std::vector<std::string> values_at(const std::vector<OverKey>& over, std::size_t number) {
  std::vector<std::string> values;
  for (const OverKey& key : over) {
    values.push_back(key.values[number % key.values.size()]);
    number /= key.values.size();
  }
  return values;
}

}  // namespace

bool is_better(const CapacityRow& one, const CapacityRow& other) {
  return one.rate > other.rate;
}

void sort_rows(CapacityOutcome& outcome) {
  std::stable_sort(outcome.rows.begin(), outcome.rows.end(), is_better);
}

CapacityOutcome find_capacity(const CapacityRequest& given, comm::Communicator& communicator,
                              const config::TextLoader& load) {
  const CapacityRequest request = in_its_place(given, load);
  RateSearches searches(request, load, communicator);
  const double first = searches.first_rate();
  CapacityOutcome outcome;
  std::vector<OverKey> over;
  std::size_t combinations = 1;
  for (const std::string& text : request.over) {
    over.push_back(over_key_of(text));
    outcome.keys.push_back(over.back().key);
    if (over.back().key == request.key) {
      throw ConfigError("--over " + request.key + ": is the rate that is searched");
    }
    combinations *= over.back().values.size();
  }
  for (std::size_t begin = 0; begin < combinations && outcome.complete;
       begin += combinations_at_a_time) {
    const std::size_t end = std::min(combinations, begin + combinations_at_a_time);
    std::vector<RateTask> tasks;
    std::vector<std::vector<std::string>> values;
    for (std::size_t number = begin; number < end; ++number) {
      values.push_back(values_at(over, number));
      RateTask& task = tasks.emplace_back();
      task.settings = request.overrides;
      task.confirms = true;
      for (std::size_t key = 0; key < over.size(); ++key) {
        task.settings.push_back(over[key].key + "=" + values.back()[key]);
      }
    }
    std::vector<std::optional<CapacityRow>> rows = searches.run(first, tasks);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (!rows[i]) {
        outcome.complete = false;
        continue;
      }
      rows[i]->values = std::move(values[i]);
      outcome.rows.push_back(std::move(*rows[i]));
    }
    searches.note(std::to_string(outcome.rows.size()) + " of " + std::to_string(combinations) +
                  " combinations");
  }
  outcome.left = combinations - outcome.rows.size();
  sort_rows(outcome);
  return outcome;
}

}  // namespace tessera::explore
