// How requests of a configuration's tenants arrive: of which services it counts whether they keep
// up, and how more requests are asked for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "capacity/keeping_up.hpp"
#include "tessera/config/document.hpp"
#include "tessera/trace/summary.hpp"

namespace tessera::explore {

// The value that a path names; null: there is none.
const config::Value* value_at(const config::Value& root, const std::string& path);

// Of a tenant, or of a class of its requests.
bool has_target(const config::Value& tenant);

class Arrivals {
 public:
  // `rate`: the key whose value is searched. `job`: as in CapacityRequest.
  Arrivals(const config::Value& root, const std::string& rate, const std::string& job);

  // The worst of all services that have targets. Of tenants with a list or a file of requests those
  // alone whose rate is searched: others have the bursts that they are given. Clients of closed
  // arrivals wait for their answers, so that no queue grows.
  Pace pace_of_all(const std::vector<trace::Service>& services) const;
  // With which times the configuration's requests to try next, after `times` have not shown whether
  // services keep up; none: there are no more.
  std::optional<std::uint32_t> times_to_try(std::uint32_t times,
                                            const std::vector<trace::Service>& services) const;
  // With which times them to confirm a rate that `times` them have shown; none: there are no more.
  std::optional<std::uint32_t> times_to_confirm(std::uint32_t times) const;
  // Whether those whose rate is searched are of a list or a file.
  bool are_given() const { return are_given_; }
  // KEY=VALUE, of each tenant whose arrivals are drawn.
  std::vector<std::string> settings(std::uint32_t times) const;

 private:
  bool fit(std::uint32_t times) const;

  struct Count {
    std::string key;
    std::uint64_t requests = 0;
  };
  std::vector<Count> counts_;
  std::vector<std::string> left_out_;  // names of tenants
  bool are_given_ = false;
};

}  // namespace tessera::explore
