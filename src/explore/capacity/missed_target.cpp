#include "capacity/missed_target.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include "tessera/core/time.hpp"

namespace tessera::explore {
namespace {

struct TargetTimes {
  const char* key;
  trace::Quantiles trace::Service::*times;
};

constexpr std::array target_times{TargetTimes{"first_token", &trace::Service::first_token},
                                  TargetTimes{"between_tokens", &trace::Service::a_token},
                                  TargetTimes{"latency", &trace::Service::latency}};

// Of times the part that is known of at least the `share`, with its name.
std::pair<const char*, std::uint64_t> known_part(const trace::Quantiles& times, double share) {
  if (share <= 0.5) {
    return {"50 %", times.p50};
  }
  if (share <= 0.9) {
    return {"90 %", times.p90};
  }
  if (share <= 0.95) {
    return {"95 %", times.p95};
  }
  return share <= 0.99 ? std::pair("99 %", times.p99) : std::pair("all", times.most);
}

std::optional<SimTime> target_in(const config::Value& part, const char* key) {
  const config::Value::Member* const target = part.find("target");
  const config::Value::Member* const time = target == nullptr ? nullptr : target->value.find(key);
  std::string problem;
  return time == nullptr ? std::nullopt : config::parse_as<SimTime>(time->value.text, problem);
}

std::string name_in(const config::Value& part) {
  const config::Value::Member* const name = part.find("name");
  return name == nullptr ? "" : name->value.text;
}

class WorstTarget {
 public:
  WorstTarget(const std::vector<trace::Service>& services, double share)
      : services_(services), share_(share) {}

  // `usual`: whose targets `part` has where it gives none; it may be the same.
  void look_at(const std::string& name, const config::Value& part, const config::Value& usual) {
    for (const trace::Service& service : services_) {
      if (service.tenant != name && !service.tenant.ends_with("/" + name)) {
        continue;
      }
      for (const TargetTimes& kind : target_times) {
        const std::optional<SimTime> own = target_in(part, kind.key);
        const std::optional<SimTime> target = own ? own : target_in(usual, kind.key);
        if (target) {
          look_at(service, kind, *target);
        }
      }
    }
  }
  const std::string& text() const { return text_; }

 private:
  void look_at(const trace::Service& service, const TargetTimes& kind, SimTime target) {
    const auto [part, ps] = known_part(service.*kind.times, share_);
    const SimTime time = SimTime::from_ps(static_cast<std::int64_t>(ps));
    const double factor =
        static_cast<double>(ps) / static_cast<double>(std::max<std::int64_t>(target.ps(), 1));
    if (time > target && factor > factor_) {
      factor_ = factor;
      text_ = "target." + std::string(kind.key) + " of " + service.tenant + " is " +
              to_string(target) + ", and " + part + " of its requests take up to " +
              to_string(time) + ", " + to_string(time - target) + " more";
    }
  }

  const std::vector<trace::Service>& services_;
  double share_;
  double factor_ = 0;
  std::string text_;
};

}  // namespace

std::string missed_target(const config::Value* tenants, const std::vector<trace::Service>& services,
                          double share) {
  WorstTarget worst(services, share);
  if (tenants == nullptr) {
    return "";
  }
  for (const config::Value& tenant : tenants->items) {
    const std::string name = name_in(tenant);
    worst.look_at(name, tenant, tenant);
    const config::Value::Member* const classes = tenant.find("classes");
    if (classes != nullptr) {
      for (const config::Value& one : classes->value.items) {
        worst.look_at(name + " [" + name_in(one) + "]", one, tenant);
      }
    }
  }
  return worst.text();
}

}  // namespace tessera::explore
