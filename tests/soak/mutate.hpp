// Damages files at random, the same way for the same generator.
#pragma once

#include <random>
#include <string>
#include <vector>

namespace tessera::soak {

using Random = std::mt19937_64;

// Uniform in 0 … count - 1.
std::size_t pick(Random& random, std::size_t count);

// Bits turned, bytes overwritten, ranges cut out, doubled, swapped or taken from `other`, the end
// cut off: one to eight of these.
std::string damage_bytes(std::string bytes, const std::string& other, Random& random);

// A model that parses, with wrong content: other operators, attributes, names, sides, types and
// values. The same bytes when it does not parse.
std::string damage_model(const std::string& bytes, Random& random);

}  // namespace tessera::soak
