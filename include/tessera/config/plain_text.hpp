// What a text must be before anything in it is read.
#pragma once

#include <string>
#include <string_view>

#include "tessera/config/document.hpp"

namespace tessera::config {

// False, with one diagnostic, for a text in whatever format that is too big (more than 16 MiB, or
// two million punctuation marks), not UTF-8, or holds control characters but tabs and ends of
// lines. Columns count bytes.
bool check_text(const std::string& file, std::string_view text, Diagnostics& diagnostics);

}  // namespace tessera::config
