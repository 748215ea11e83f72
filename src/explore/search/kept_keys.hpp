// Keys of a strategy that a search leaves as they are, or gives but some values.
#pragma once

#include <string>
#include <vector>

#include "tessera/explore/candidates.hpp"

namespace tessera::explore {

// Each of `asked` is "KEY", which keeps the experiment's own value (`limits.own`), or
// "KEY=VALUE,VALUE...", which leaves of the values that candidates would have these alone. Throws
// ConfigError for unknown keys, keys asked for twice, values that a key cannot have, and layouts
// that cannot be kept.
void keep_keys(const std::vector<std::string>& asked, CandidateLimits& limits);

// Throws ConfigError where no candidate has all that was asked for.
void refuse_if_none_has(const std::vector<std::string>& asked, const CandidateLimits& limits);

}  // namespace tessera::explore
