// What readers of operators share.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "tessera/config/document.hpp"
#include "tessera/npu/vector_work.hpp"

namespace tessera::npu {

// Elements in one direction.
std::uint64_t read_extent(config::Section& section, const char* key);
std::uint64_t read_extent_or(config::Section& section, const char* key, std::uint64_t usual);
// Whether all extents were read and their product can be counted; complains if not.
bool is_countable(config::Section& section, std::initializer_list<std::uint64_t> extents);
// Key `then`: a vector operation on the output; none by default.
std::optional<VectorWork> read_then(config::Section& section);
// Parameters of an operator whose weights may be of few bits.
std::vector<ParameterInfo> with_stored_weights(std::vector<ParameterInfo> own);

}  // namespace tessera::npu
