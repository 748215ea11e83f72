#include "tessera/config/name.hpp"

#include <utility>

#include "characters.hpp"

namespace tessera::config {
namespace {

constexpr std::size_t longest_name = 200;

}  // namespace

std::size_t find_control(std::string_view text) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto next = at + 1 < text.size() ? static_cast<unsigned char>(text[at + 1]) : 0U;
    const bool is_c1 = text[at] == '\xC2' && next >= 0x80 && next <= 0x9F;
    if (is_control(text[at]) || is_c1) {
      return at;
    }
  }
  return std::string_view::npos;
}

std::string objection_to_name(std::string_view name) {
  if (name.empty()) {
    return "a name must not be empty";
  }
  if (name.size() > longest_name) {
    return "a name has at most " + std::to_string(longest_name) + " bytes";
  }
  if (find_control(name) != std::string_view::npos) {
    return "a name has no line breaks, tabs or other control characters";
  }
  if (name.find('/') != std::string_view::npos) {
    return "a name has no slash";
  }
  if (name.front() == '.' || name.front() == ' ') {
    return "a name begins with no dot and no space";
  }
  return "";
}

std::string checked_name(Section& section, std::string_view key, std::string name) {
  const std::string objection = objection_to_name(name);
  if (!objection.empty()) {
    section.error(key, objection);
  }
  return name;
}

}  // namespace tessera::config
