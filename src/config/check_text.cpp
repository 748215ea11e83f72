#include "check_text.hpp"

#include <algorithm>
#include <cstddef>

namespace tessera::config {
namespace {

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
constexpr std::size_t most_bytes = std::size_t{16} << 20;

// yaml-cpp keeps all tokens of a flow collection in memory (about 200 B for one mark) until it
// knows whether the collection is a key, so marks are counted before it starts. Where they stand
// does not matter: a count that tried to tell quotes from text could be led astray.
constexpr std::size_t most_marks = 2'000'000;
constexpr std::string_view marks = "[]{},:?&*!'\"#-";

// Length of the UTF-8 character at the front of `text`, 0 when it is malformed, overlong, a
// surrogate or beyond U+10FFFF (RFC 3629, section 4).
std::size_t character_length(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const auto continues = [&](std::size_t i) { return (byte(i) & 0xC0U) == 0x80U; };
  const unsigned lead = byte(0);
  if (lead < 0x80) {
    return 1;
  }
  if (lead >= 0xC2 && lead <= 0xDF) {
    return continues(1) ? 2 : 0;
  }
  if (lead >= 0xE0 && lead <= 0xEF) {
    const bool good = continues(1) && continues(2) && (lead != 0xE0 || byte(1) >= 0xA0) &&
                      (lead != 0xED || byte(1) < 0xA0);
    return good ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    const bool good = continues(1) && continues(2) && continues(3) &&
                      (lead != 0xF0 || byte(1) >= 0x90) && (lead != 0xF4 || byte(1) < 0x90);
    return good ? 4 : 0;
  }
  return 0;
}

bool is_forbidden_control(char c) {
  const auto code = static_cast<unsigned char>(c);
  return (code < 0x20 && c != '\t' && c != '\n' && c != '\r') || code == 0x7F;
}

}  // namespace

std::string_view without_byte_order_mark(std::string_view text) {
  return text.substr(text.starts_with(byte_order_mark) ? byte_order_mark.size() : 0);
}

Place place_at(const std::string& file, std::string_view text, std::size_t offset) {
  const std::string_view counted = without_byte_order_mark(text);
  const std::size_t skipped = text.size() - counted.size();
  const std::string_view before = counted.substr(0, offset - std::min(offset, skipped));
  const std::size_t line_break = before.rfind('\n');
  const std::size_t line_start = line_break == std::string_view::npos ? 0 : line_break + 1;
  return {file, static_cast<int>(std::count(before.begin(), before.end(), '\n')) + 1,
          static_cast<int>(before.size() - line_start) + 1};
}

bool check_text(const std::string& file, std::string_view text, Diagnostics& diagnostics) {
  const auto refuse = [&](std::size_t offset, const char* reason) {
    diagnostics.error(place_at(file, text, offset), reason);
    return false;
  };
  if (text.size() > most_bytes) {
    return refuse(most_bytes, "too big: more than 16 MiB");
  }
  std::size_t count = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = character_length(text.substr(at));
    if (length == 0) {
      return refuse(at, "not valid UTF-8");
    }
    if (text[at] == '\0') {
      return refuse(at, "a NUL byte; text in UTF-8 has none");
    }
    // The parser of YAML would take character 4 for the end of the text and drop the rest.
    if (is_forbidden_control(text[at])) {
      return refuse(at, "a control character that is neither tab nor end of line");
    }
    if (marks.find(text[at]) != std::string_view::npos && ++count > most_marks) {
      return refuse(at, "too big: more than 2000000 punctuation marks");
    }
    at += length;
  }
  return true;
}

std::string with_whole_characters(const std::string& text) {
  std::string whole;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = character_length(std::string_view(text).substr(at));
    whole += length == 0 ? "\xC2" : "";
    whole.append(text, at, std::max<std::size_t>(length, 1));
    at += std::max<std::size_t>(length, 1);
  }
  return whole;
}

}  // namespace tessera::config
