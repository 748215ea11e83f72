// Values of attributes, whatever kind of number they were written as.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "chakra.pb.h"

namespace tessera::workload {

// Null when the node has no such attribute.
const chakra::Attribute* find_attribute(const chakra::Node& node, const std::string& name);

// Nullopt when it is negative, no whole number, or none at all.
std::optional<std::uint64_t> as_count(const chakra::Attribute& attribute);
// A text, or a number as it would be written.
std::optional<std::string> as_text(const chakra::Attribute& attribute);
// A list of numbers of any integer kind.
std::optional<std::vector<std::uint64_t>> as_counts(const chakra::Attribute& attribute);
// A list of bools or numbers, or one of them.
std::optional<std::vector<bool>> as_flags(const chakra::Attribute& attribute);

}  // namespace tessera::workload
