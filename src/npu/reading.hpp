// What readers of operators share.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

#include "tessera/config/document.hpp"
#include "tessera/config/key.hpp"
#include "tessera/npu/vector_work.hpp"

namespace tessera::npu {

// Elements in one direction: must be given, have a default, or one that follows from others.
config::RequiredKey<std::uint64_t> extent_key(std::string_view name, std::string_view help);
config::Key<std::uint64_t> extent_key(std::string_view name, std::uint64_t usual,
                                      std::string_view help);
config::DerivedKey<std::uint64_t> derived_extent_key(std::string_view name, std::string_view words,
                                                     std::string_view help);
// Whether all extents were read and their product can be counted; complains if not.
bool is_countable(config::Section& section, std::initializer_list<std::uint64_t> extents);
// Key `then`: a vector operation on the output; none by default.
std::optional<VectorWork> read_then(config::Section& section);
ParameterInfo then_parameter();
// Parameters of an operator whose weights may be of few bits.
std::vector<ParameterInfo> with_stored_weights(std::vector<ParameterInfo> own);

}  // namespace tessera::npu
