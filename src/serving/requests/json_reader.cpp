#include "requests/json_reader.hpp"

#include <algorithm>

namespace tessera::serving {
namespace {

constexpr std::size_t most_kept_text = 256;

bool is_digit(int byte) {
  return byte >= '0' && byte <= '9';
}

}  // namespace

int JsonReader::first() {
  while (true) {
    const int byte = text_.peek();
    if (byte != ' ' && byte != '\t' && byte != '\n' && byte != '\r') {
      return byte;
    }
    text_.next();
  }
}

void JsonReader::begin(char bracket, const char* expected) {
  constexpr int deepest = 64;
  if (first() != bracket) {
    throw text_.error(expected);
  }
  if (++depth_ > deepest) {
    throw text_.error("more than 64 levels of lists and objects");
  }
  text_.next();
}

bool JsonReader::more(char bracket, bool is_first) {
  const int byte = first();
  if (byte == TextReader::end) {
    throw text_.error("the file ends inside a list or an object");
  }
  if (byte == bracket) {
    text_.next();
    return false;
  }
  if (is_first) {
    return true;
  }
  if (byte != ',') {
    throw text_.error(std::string("expected ',' or '") + bracket + "'");
  }
  text_.next();
  if (first() == bracket) {
    throw text_.error("nothing stands behind the comma");
  }
  return true;
}

template <class Visit, class Escape>
void JsonReader::text_in_quotes(Visit visit, Escape visit_escape) {
  if (first() != '"') {
    throw text_.error("expected a text in quotes");
  }
  const int line = text_.line();
  const int column = text_.column();
  text_.next();
  while (true) {
    const int byte = text_.next();
    if (byte == TextReader::end) {
      throw text_.error_at(line, column, "a text without a quote at its end");
    }
    if (byte < ' ') {
      throw text_.error_at(line, column, "a text with a control character");
    }
    if (byte == '"') {
      return;
    }
    if (byte == '\\') {
      visit_escape(escape());
    } else {
      visit(byte);
    }
  }
}

// What stands for other characters is kept as a question mark: nothing that is looked for has any.
std::string JsonReader::string() {
  std::string kept;
  const auto keep = [&](char letter) {
    if (kept.size() < most_kept_text) {
      kept.push_back(letter);
    }
  };
  text_in_quotes([&](int byte) { keep(static_cast<char>(byte)); },
                 [&](std::uint32_t) { keep('?'); });
  return kept;
}

std::uint64_t JsonReader::characters() {
  std::uint64_t count = 0;
  // Bytes of UTF-8 that go on, and second halves of pairs of UTF-16, are no characters.
  text_in_quotes([&](int byte) { count += (byte & 0xC0) == 0x80 ? 0 : 1; },
                 [&](std::uint32_t point) { count += point >= 0xDC00 && point < 0xE000 ? 0 : 1; });
  return count;
}

std::uint32_t JsonReader::escape() {
  const int byte = text_.next();
  std::uint32_t point = 0;
  if (byte == 'u') {
    for (int digit = 0; digit < 4; ++digit) {
      const int hex = text_.peek();
      const bool is_small = hex >= 'a' && hex <= 'f';
      if (!is_digit(hex) && !is_small && (hex < 'A' || hex > 'F')) {
        throw text_.error("expected four hexadecimal digits behind '\\u'");
      }
      const int value = is_digit(hex) ? hex - '0' : hex - (is_small ? 'a' : 'A') + 10;
      point = point * 16 + static_cast<std::uint32_t>(value);
      text_.next();
    }
  } else if (byte == TextReader::end ||
             std::string_view("\"\\/bfnrt").find(static_cast<char>(byte)) ==
                 std::string_view::npos) {
    throw text_.error("an unknown character behind '\\'");
  }
  return point;
}

std::string JsonReader::number() {
  std::string kept;
  const int byte = first();
  if (byte != '-' && !is_digit(byte)) {
    throw text_.error("expected a number");
  }
  while (is_digit(text_.peek()) || std::string_view("+-.eE").find(static_cast<char>(
                                       std::max(0, text_.peek()))) != std::string_view::npos) {
    kept.push_back(static_cast<char>(text_.next()));
    if (kept.size() > 64) {
      throw text_.error("a number of more than 64 digits");
    }
  }
  return kept;
}

void JsonReader::pass_over() {
  const int byte = first();
  if (byte == '{') {
    object([this](std::string_view) { pass_over(); });
  } else if (byte == '[') {
    array([this] { pass_over(); });
  } else if (byte == '"') {
    string();
  } else if (byte == 't' || byte == 'f' || byte == 'n') {
    word(byte == 't' ? "true" : byte == 'f' ? "false" : "null");
  } else if (byte == 'N' || byte == 'I') {
    word(byte == 'N' ? "NaN" : "Infinity");
  } else if (number() == "-" && text_.peek() == 'I') {
    word("Infinity");
  }
}

void JsonReader::word(std::string_view expected) {
  for (const char letter : expected) {
    if (text_.peek() != letter) {
      throw text_.error("expected '" + std::string(expected) + "'");
    }
    text_.next();
  }
}

}  // namespace tessera::serving
