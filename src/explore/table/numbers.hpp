// Numbers of a sweep's rows, which are kept as exact decimals.
#pragma once

#include <optional>
#include <string>

namespace tessera::explore {

// Nothing for an empty text or one that is no number.
std::optional<double> to_double(const std::string& number);

}  // namespace tessera::explore
