#include "emit.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include "characters.hpp"

namespace tessera::config {
namespace {

// Words that some reader of YAML (1.1 or 1.2, this one included) takes for a bool or null.
bool is_reserved_word(std::string_view text) {
  constexpr std::array<std::string_view, 9> words{"true", "false", "yes", "no", "on",
                                                  "off",  "null",  "y",   "n"};
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return std::find(words.begin(), words.end(), lower) != words.end();
}

// True when `text` can stand without quotes anywhere, also in a flow list and as a key; stricter
// than YAML. It may still read as a number or bool.
bool can_stand_plain(std::string_view text) {
  if (text.empty() || text.back() == ' ' || text.starts_with("---") || text.starts_with("...")) {
    return false;
  }
  const char first = text.front();
  const bool is_signed = first == '-' || first == '+' || first == '.';
  if (!is_letter(first) && !is_digit(first) && first != '_' && first != '/' &&
      !(is_signed && text.size() > 1 && text[1] != ' ')) {
    return false;
  }
  return std::all_of(text.begin(), text.end(), [](char c) {
    return is_letter(c) || is_digit(c) ||
           std::string_view(" _-+./%()").find(c) != std::string_view::npos;
  });
}

bool may_read_as_text_only(std::string_view text) {
  return can_stand_plain(text) && (is_letter(text.front()) || text.front() == '_') &&
         !is_reserved_word(text);
}

std::string in_quotes(std::string_view text) {
  if (std::none_of(text.begin(), text.end(), is_control)) {
    std::string quoted = "'";
    for (const char c : text) {
      quoted += c;
      quoted += c == '\'' ? "'" : "";
    }
    return quoted + "'";
  }
  constexpr std::string_view hexadecimal = "0123456789abcdef";
  std::string quoted = "\"";
  for (const char c : text) {
    if (is_control(c)) {
      const auto code = static_cast<unsigned char>(c);
      quoted += {'\\', 'x', hexadecimal[code / 16], hexadecimal[code % 16]};
    } else {
      quoted += c == '"' || c == '\\' ? "\\" : "";
      quoted += c;
    }
  }
  return quoted + "\"";
}

std::string scalar_text(const Value& value) {
  if (value.kind == Value::Kind::null) {
    return "~";
  }
  return !value.quoted && can_stand_plain(value.text) ? value.text : in_quotes(value.text);
}

bool is_scalar(const Value& value) {
  return value.kind == Value::Kind::scalar || value.kind == Value::Kind::null;
}

// Stands on the line of its key.
bool fits_on_line(const Value& value) {
  return is_scalar(value) || (value.kind == Value::Kind::mapping && value.members.empty()) ||
         (value.kind == Value::Kind::sequence &&
          std::all_of(value.items.begin(), value.items.end(), is_scalar));
}

std::string key_text(const std::string& key) {
  return may_read_as_text_only(key) ? key : in_quotes(key);
}

// Levels are bounded by the parser, so that this recursion is too.
void append_block(std::string& out, const Value& value, std::size_t indentation) {
  const std::string margin(indentation, ' ');
  for (const Value::Member& member : value.members) {
    out += margin + key_text(member.key) + ":";
    if (fits_on_line(member.value)) {
      out += " " + to_inline_yaml(member.value) + "\n";
    } else {
      out += "\n";
      append_block(out, member.value, indentation + 2);
    }
  }
  for (const Value& item : value.items) {
    if (fits_on_line(item)) {
      out += margin + "- " + to_inline_yaml(item) + "\n";
    } else {
      // The first line of the item stands behind the dash.
      const std::size_t start = out.size();
      append_block(out, item, indentation + 2);
      out[start + indentation] = '-';
    }
  }
}

}  // namespace

Value plain_value(std::string text) {
  Value value;
  value.kind = Value::Kind::scalar;
  value.text = std::move(text);
  return value;
}

Value text_value(std::string text) {
  Value value = plain_value(std::move(text));
  value.quoted = !may_read_as_text_only(value.text);
  return value;
}

std::string to_inline_yaml(const Value& value) {
  if (is_scalar(value)) {
    return scalar_text(value);
  }
  const bool list = value.kind == Value::Kind::sequence;
  std::string text = list ? "[" : "{";
  for (const Value& item : value.items) {
    text += (text.size() > 1 ? ", " : "") + to_inline_yaml(item);
  }
  for (const Value::Member& member : value.members) {
    text += (text.size() > 1 ? ", " : "") + key_text(member.key) + ": ";
    text += to_inline_yaml(member.value);
  }
  return text + (list ? "]" : "}");
}

std::string to_yaml(const Value& mapping) {
  if (fits_on_line(mapping)) {
    return to_inline_yaml(mapping) + "\n";
  }
  std::string out;
  append_block(out, mapping, 0);
  return out;
}

}  // namespace tessera::config
