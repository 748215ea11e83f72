// The user's own text inside a message.
#pragma once

#include <string>
#include <string_view>

namespace tessera::config {

// `text` in single quotes, on one line: control characters become spaces, and what is longer than
// 60 bytes is cut.
std::string excerpt(std::string_view text);

}  // namespace tessera::config
