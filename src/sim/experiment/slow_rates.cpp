#include "tessera/sim/slow_rates.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>

namespace tessera::sim {
namespace {

using config::Value;

// A rate or a latency that stands in the configuration.
struct RateKey {
  std::string path;
  config::Place place;
  std::string text;
  std::string unit;         // of an amount; empty: a time
  std::uint64_t value = 0;  // a second, or [ps]
};

template <class T, class Count>
bool take_rate_as(const Value& value, const char* unit, Count count, RateKey& found) {
  std::string problem;
  const std::optional<T> read = config::parse_as<T>(value.text, problem);
  if (read) {
    found.unit = unit;
    found.value = count(*read);
  }
  return read.has_value();
}

bool take_rate(const Value& value, RateKey& found) {
  return take_rate_as<FlopRate>(
             value, "FLOP", [](FlopRate rate) { return rate.flops_per_second(); }, found) ||
         take_rate_as<Bandwidth>(
             value, "B", [](Bandwidth rate) { return rate.bytes_per_second(); }, found) ||
         take_rate_as<Clock>(
             value, "cycles", [](Clock rate) { return rate.frequency_hz(); }, found) ||
         take_rate_as<SimTime>(
             value, "",
             [](SimTime time) {
               return time.ps() > 0 ? static_cast<std::uint64_t>(time.ps()) : std::uint64_t{0};
             },
             found);
}

void gather_rates(const Value& value, const std::string& path, std::vector<RateKey>& rates) {
  if (value.kind == Value::Kind::scalar) {
    RateKey found{path, value.place, value.text, "", 0};
    if (take_rate(value, found) && found.value > 0) {
      rates.push_back(std::move(found));
    }
  }
  const std::string before = path.empty() ? "" : path + ".";
  for (std::size_t i = 0; i < value.items.size(); ++i) {
    gather_rates(value.items[i], before + std::to_string(i), rates);
  }
  for (const Value::Member& member : value.members) {
    gather_rates(member.value, before + member.key, rates);
  }
}

std::vector<RateKey> rates_of(const Value& root) {
  std::vector<RateKey> rates;
  if (const Value::Member* const machine = root.find("machine")) {
    gather_rates(machine->value, "machine", rates);
  }
  std::vector<RateKey> times;
  for (const char* const section : {"workload", "execution"}) {
    if (const Value::Member* const found = root.find(section)) {
      gather_rates(found->value, section, times);
    }
  }
  std::ranges::copy_if(times, std::back_inserter(rates),
                       [](const RateKey& key) { return key.unit.empty(); });
  return rates;
}

// The lowest rate from `rate` on.
const RateKey* nearest_rate(const std::vector<RateKey>& rates, std::uint64_t rate) {
  const RateKey* best = nullptr;
  for (const RateKey& found : rates) {
    if (!found.unit.empty() && found.value >= rate &&
        (best == nullptr || found.value < best->value)) {
      best = &found;
    }
  }
  return best;
}

// A latency of an hour is no latency.
const RateKey* longest_latency(const std::vector<RateKey>& rates) {
  constexpr std::uint64_t hour_ps = 3'600'000'000'000'000;
  const RateKey* best = nullptr;
  for (const RateKey& found : rates) {
    if (found.unit.empty() && found.value >= hour_ps &&
        (best == nullptr || found.value > best->value)) {
      best = &found;
    }
  }
  return best;
}

const RateKey* worst_rate(const std::vector<RateKey>& rates) {
  const RateKey* const latency = longest_latency(rates);
  return latency != nullptr ? latency : nearest_rate(rates, 1);
}

std::string range_text_of(const TimeTooLong& error) {
  constexpr std::string_view kind = "error: ";
  const std::string_view what = error.what();
  return std::string(what.substr(what.starts_with(kind) ? kind.size() : 0));
}

std::string amount_in(std::uint64_t amount, const std::string& unit) {
  return unit == "B"      ? to_string(Bytes(amount))
         : unit == "FLOP" ? to_string(Flops(amount))
                          : std::to_string(amount) + " " + unit;
}

std::string rate_in(std::uint64_t rate, const std::string& unit) {
  return unit == "B"      ? to_string(Bandwidth::bytes_per_second(rate))
         : unit == "FLOP" ? to_string(FlopRate::flops_per_second(rate))
                          : to_string(Clock::hertz(rate));
}

}  // namespace

Diagnostic slow_rate(const TimeTooLong& error, const Value& root) {
  const std::vector<RateKey> rates = rates_of(root);
  const auto* const duration = dynamic_cast<const DurationTooLong*>(&error);
  const RateKey* const found = duration != nullptr && duration->rate() > 0
                                   ? nearest_rate(rates, duration->rate())
                                   : worst_rate(rates);
  if (found == nullptr) {
    return {"", 0, 0, range_text_of(error)};
  }
  std::string message = found->path + ": ";
  if (duration == nullptr || found->unit.empty() || duration->rate() == 0) {
    message += std::string("with ") + found->text + ", " + range_text_of(error);
  } else {
    message += found->value == duration->rate()
                   ? "at " + found->text
                   : "of " + found->text + " " + rate_in(duration->rate(), found->unit) +
                         " are left, at which";
    message += " an operation of " + amount_in(duration->amount(), found->unit) +
               " takes longer than simulated time goes, " + range_of_time;
  }
  return {found->place.file, found->place.line, found->place.column, message};
}

std::string slowest_rate(const Value& root) {
  const std::vector<RateKey> rates = rates_of(root);
  const RateKey* const found = worst_rate(rates);
  return found == nullptr ? ""
                          : "; " + found->path + " is " + found->text + " (" + found->place.file +
                                ":" + std::to_string(found->place.line) + ":" +
                                std::to_string(found->place.column) + ")";
}

}  // namespace tessera::sim
