#include "excerpt.hpp"

#include <algorithm>
#include "characters.hpp"

namespace tessera::config {
namespace {

constexpr std::size_t longest = 60;

bool continues_a_character(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}

}  // namespace

std::string excerpt(std::string_view text) {
  std::size_t length = std::min(text.size(), longest);
  while (length > 0 && length < text.size() && continues_a_character(text[length])) {
    --length;
  }
  std::string shown(text.substr(0, length));
  std::replace_if(shown.begin(), shown.end(), is_control, ' ');
  return "'" + shown + (length < text.size() ? "…'" : "'");
}

}  // namespace tessera::config
