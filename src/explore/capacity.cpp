#include "tessera/explore/capacity.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>

#include "refusal.hpp"
#include "tessera/comm/communicator.hpp"
#include "tessera/core/error.hpp"
#include "tessera/sim/experiment.hpp"
#include "tessera/sim/simulation.hpp"
#include "usual_settings.hpp"

namespace tessera::explore {
namespace {

constexpr unsigned most_doublings = 24;

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

// The value that a path names; null: there is none.
const config::Value* value_at(const config::Value& root, const std::string& path) {
  const config::Value* at = &root;
  for (std::size_t begin = 0; at != nullptr && begin <= path.size();) {
    const std::size_t dot = std::min(path.find('.', begin), path.size());
    const std::string name = path.substr(begin, dot - begin);
    begin = dot + 1;
    if (at->kind == config::Value::Kind::sequence) {
      std::size_t item = 0;
      const auto read = std::from_chars(name.data(), name.data() + name.size(), item);
      at = read.ec == std::errc() && item < at->items.size() ? &at->items[item] : nullptr;
    } else {
      const config::Value::Member* const member = at->find(name);
      at = member == nullptr ? nullptr : &member->value;
    }
  }
  return at;
}

bool has_targets(const config::Value& root) {
  const config::Value* const tenants = value_at(root, "workload.tenants");
  return tenants != nullptr &&
         std::any_of(tenants->items.begin(), tenants->items.end(),
                     [](const config::Value& tenant) { return tenant.find("target") != nullptr; });
}

std::string number_text(double rate) {
  std::array<char, 32> text{};
  const auto written = std::to_chars(text.data(), text.data() + text.size(), rate);
  return {text.data(), written.ptr};
}

class RateSearch {
 public:
  RateSearch(const CapacityRequest& request, const config::TextLoader& load,
             std::vector<std::string> settings)
      : request_(request), load_(load), settings_(std::move(settings)) {}

  // Null: it was stopped.
  std::optional<CapacityRow> run(double first) {
    try {
      search(first);
    } catch (const ConfigError& error) {
      if (row_.runs == 0) {
        fail("refused", messages_of(error));
      } else {
        settle();  // the key takes no such rate, which is as far as one can go
      }
    } catch (const IoError&) {
      throw;  // not the combination's fault
    } catch (const Error& error) {
      fail("failed", error.what());
    }
    return stopped_ ? std::nullopt : std::optional(std::move(row_));
  }

 private:
  void fail(const std::string& status, std::string message) {
    std::replace(message.begin(), message.end(), '\n', ' ');
    row_.status = status;
    row_.message = std::move(message);
  }

  void search(double first) {
    bracket(first);
    while (!stopped_ && row_.rate > 0 && row_.beyond > row_.rate * (1 + request_.within)) {
      try_rate(std::sqrt(row_.rate * row_.beyond));
    }
    settle();
  }

  void settle() {
    row_.status = row_.rate > 0 ? "met" : "late";
    if (row_.rate > 0 && row_.beyond == 0) {
      row_.message = "no rate was found that is too large: more requests may be needed";
    }
  }

  void bracket(double first) {
    double rate = first;
    const bool met = try_rate(rate);
    for (unsigned i = 0; i < most_doublings && !stopped_; ++i) {
      rate = met ? rate * 2 : rate / 2;
      if (try_rate(rate) != met) {
        return;
      }
    }
  }

  bool try_rate(double rate) {
    std::vector<trace::Service> services = simulate(rate);
    if (stopped_) {
      return false;
    }
    const bool met = std::all_of(services.begin(), services.end(), [&](const auto& service) {
      return static_cast<double>(service.met) >=
             request_.share * static_cast<double>(service.served);
    });
    if (met && rate > row_.rate) {
      row_.rate = rate;
      row_.services = std::move(services);
    } else if (!met && (row_.beyond == 0 || rate < row_.beyond)) {
      row_.beyond = rate;
    }
    return met;
  }

  // How each service fared, of replicas all together.
  std::vector<trace::Service> simulate(double rate) {
    std::vector<std::string> settings = settings_;
    settings.push_back(request_.key + "=" + number_text(rate));
    settings.insert(settings.end(), usual_settings.begin(), usual_settings.end());
    const sim::Experiment experiment = sim::read_experiment(request_.experiment, settings, load_);
    const std::unique_ptr<comm::Communicator> alone = comm::make_in_process();
    sim::RunRequest run;
    run.hooks.stop_requested = [&] {
      stopped_ = stopped_ || (request_.stop_requested && request_.stop_requested());
      return stopped_;
    };
    ++row_.runs;
    const trace::Summary summary = sim::run(experiment, *alone, run);
    if (summary.status == "finished") {
      stopped_ = false;  // it came with the last events and changed nothing
    } else if (!stopped_) {
      throw ModelError(summary.message);
    }
    std::vector<trace::Service> all = summary.service_totals;
    for (const trace::Service& service : summary.services) {
      const std::size_t dot = service.tenant.rfind('.');
      const bool is_of_total = std::any_of(
          summary.service_totals.begin(), summary.service_totals.end(),
          [&](const auto& total) { return total.tenant == service.tenant.substr(0, dot); });
      if (!is_of_total) {
        all.push_back(service);
      }
    }
    return all;
  }

  const CapacityRequest& request_;
  const config::TextLoader& load_;
  std::vector<std::string> settings_;
  CapacityRow row_;
  bool stopped_ = false;
};

// What is wrong with the experiment itself is wrong at once.
double first_rate(const CapacityRequest& request, const config::TextLoader& load) {
  const config::Value root = sim::read_configuration(request.experiment, request.overrides, load);
  if (!has_targets(root)) {
    throw ConfigError("none of workload.tenants has a 'target' that could be met");
  }
  const config::Value* const rate = value_at(root, request.key);
  double first = 0;
  if (rate != nullptr) {
    std::from_chars(rate->text.data(), rate->text.data() + rate->text.size(), first);
  }
  if (!(first > 0) || !std::isfinite(first)) {
    throw ConfigError(request.key + ": the experiment has no such rate to begin with");
  }
  return first;
}

}  // namespace

CapacityOutcome find_capacity(const CapacityRequest& request, const config::TextLoader& load) {
  const double first = first_rate(request, load);
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
  std::stable_sort(outcome.rows.begin(), outcome.rows.end(),
                   [](const CapacityRow& a, const CapacityRow& b) { return a.rate > b.rate; });
  return outcome;
}

}  // namespace tessera::explore
