// Times of requests, which are rounded to picoseconds where they have too many digits.
#pragma once

#include "tessera/config/document.hpp"
#include "tessera/serving/trace_time.hpp"

namespace tessera::serving {

// As `key.read(section)`, but a time between picoseconds is the nearest one, from `least` to
// `most`.
template <class TimeKey>
SimTime read_rounded(config::Section& section, const TimeKey& key,
                     SimTime most = SimTime::from_ps(9'200'000'000'000'000'000),
                     SimTime least = SimTime::zero()) {
  if (section.has(key.key())) {
    const config::Value value = section.raw(key.key());
    std::string problem;
    if (value.kind == config::Value::Kind::scalar &&
        !config::parse_as<SimTime>(value.text, problem)) {
      const auto ps = ps_with_unit(value.text);
      if (ps && *ps >= least.ps() && *ps <= most.ps()) {
        return SimTime::from_ps(*ps);
      }
    }
  }
  return key.read(section);
}

}  // namespace tessera::serving
