// Which key of an experiment makes times leave their range.
#pragma once

#include <string>
#include <vector>

#include "tessera/config/document.hpp"
#include "tessera/core/range_error.hpp"

namespace tessera::sim {

// Of the values in `root`: the key with the rate at which the duration is so long, or the one that
// is nearest above it (a rate may be shared, or lose to an efficiency); of times that are too long
// together, the longest latency or else the slowest rate. Only the message, without a place, where
// there is none.
Diagnostic slow_rate(const TimeTooLong& error, const config::Value& root);

// As it stands behind an error of a simulation: "; machine.dram.bandwidth is 1 B/s
// (FILE:LINE:COLUMN)"; or "".
std::string slowest_rate(const config::Value& root);

// A ConfigError that one rank alone may have.
class RateTooLow : public ConfigError {
 public:
  using ConfigError::ConfigError;
};

}  // namespace tessera::sim
