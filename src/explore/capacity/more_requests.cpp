#include "capacity/more_requests.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <system_error>

#include "whole_number.hpp"

namespace tessera::explore {
namespace {

constexpr std::uint32_t most_times = 64;
constexpr std::uint32_t times_of_confirmation = 8;
constexpr std::uint64_t most_requests = 10'000'000;  // that the key takes
// Arrivals are to last so many latencies, of the mean: a quarter of them lets a service fill.
constexpr double least_latencies = 4;

bool has_own_target(const config::Value& part) {
  const config::Value::Member* const target = part.find("target");
  return target != nullptr && !target->value.members.empty();
}

std::string text_at(const config::Value& root, const std::string& path) {
  const config::Value* const value = value_at(root, path);
  return value == nullptr ? "" : value->text;
}

// The tenant of a class of requests, NAME [CLASS]; else its own name.
std::string tenant_of(const std::string& service) {
  return service.ends_with("]") ? service.substr(0, service.rfind(" [")) : service;
}

}  // namespace

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

bool has_target(const config::Value& tenant) {
  const config::Value::Member* const classes = tenant.find("classes");
  return has_own_target(tenant) ||
         (classes != nullptr &&
          std::any_of(classes->value.items.begin(), classes->value.items.end(), has_own_target));
}

Arrivals::Arrivals(const config::Value& root, const std::string& rate, const std::string& job) {
  const config::Value* const tenants = value_at(root, job + "workload.tenants");
  const std::string owner = job.empty() ? "" : text_at(root, job + "name") + "/";
  const std::size_t count = tenants == nullptr ? 0 : tenants->items.size();
  for (std::size_t number = 0; number < count; ++number) {
    const config::Value& tenant = tenants->items[number];
    const std::string path = job + "workload.tenants." + std::to_string(number) + ".";
    const std::string arrivals = text_at(tenant, "requests.arrivals");
    const bool is_given = arrivals == "list" || arrivals == "trace";
    const std::optional<std::uint64_t> requests = whole_number(text_at(tenant, "requests.count"));
    if (!is_given && requests) {
      counts_.push_back({path + "requests.count", *requests});
    }
    const bool counts = !is_given || rate.starts_with(path);
    are_given_ = are_given_ || (is_given && counts);
    if (!has_target(tenant) || arrivals == "closed" || !counts) {
      left_out_.push_back(owner + text_at(tenant, "name"));
    }
  }
}

Pace Arrivals::pace_of_all(const std::vector<trace::Service>& services) const {
  Pace worst = Pace::kept;
  for (const trace::Service& service : services) {
    if (std::ranges::find(left_out_, tenant_of(service.tenant)) == left_out_.end()) {
      worst = std::max(worst, pace_of(service));
    }
  }
  return worst;
}

std::optional<std::uint32_t> Arrivals::times_to_try(
    std::uint32_t times, const std::vector<trace::Service>& services) const {
  double longest = 2;  // times as long
  for (const trace::Service& service : services) {
    const auto latency = static_cast<double>(service.latency.mean);
    if (const double time = arrival_time_of(service); time > 0) {
      longest = std::max(longest, least_latencies * latency / time);
    }
  }
  std::uint32_t next = 2 * times;
  while (next < most_times && next < longest * times) {
    next *= 2;
  }
  return fit(next) ? std::optional(next) : std::nullopt;
}

bool Arrivals::fit(std::uint32_t times) const {
  return !counts_.empty() && times <= most_times &&
         std::ranges::all_of(
             counts_, [&](const Count& count) { return count.requests * times <= most_requests; });
}

std::optional<std::uint32_t> Arrivals::times_to_confirm(std::uint32_t times) const {
  std::uint32_t next = times_of_confirmation * times;
  while (next > times && !fit(next)) {
    next /= 2;
  }
  return are_given_ || next <= times ? std::nullopt : std::optional(next);
}

std::vector<std::string> Arrivals::settings(std::uint32_t times) const {
  std::vector<std::string> settings;
  for (const Count& count : counts_) {
    if (times > 1) {
      settings.push_back(count.key + "=" + std::to_string(count.requests * times));
    }
  }
  return settings;
}

}  // namespace tessera::explore
