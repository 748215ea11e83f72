// What a text is made of, before the YAML parser sees it.
#pragma once

#include <string>
#include <string_view>

#include "tessera/config/document.hpp"
#include "tessera/config/plain_text.hpp"

namespace tessera::config {

std::string_view without_byte_order_mark(std::string_view text);

// Line and column, from 1, of the byte at `offset`; columns count bytes, without a byte order mark.
Place place_at(const std::string& file, std::string_view text, std::size_t offset);

// A scalar as yaml-cpp 0.7 gives it, in UTF-8: of the escapes \N (U+0085) and \_ (U+00A0) it makes
// a lone byte each.
std::string with_whole_characters(const std::string& text);

}  // namespace tessera::config
