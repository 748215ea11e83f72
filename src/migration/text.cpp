#include "text.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <string_view>

#include "tessera/config/plain_text.hpp"
#include "tessera/core/text.hpp"

namespace tessera::migration {
namespace {

namespace fs = std::filesystem;

// Names of files and words of sources may hold anything.
std::string on_one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(),
      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }, '?');
  config::Diagnostics diagnostics;
  if (!config::check_text("", text, diagnostics)) {  // not UTF-8
    std::replace_if(
        text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x80; },
        '?');
  }
  return text;
}

// Letters, digits and a few marks, beginning with what begins no number; no word of YAML.
bool is_plain(const std::string& text) {
  constexpr std::array<std::string_view, 3> words{"null", "true", "false"};
  const auto is_letter = [](unsigned char c) { return std::isalpha(c) != 0 && c < 0x80; };
  const auto is_usual = [&](unsigned char c) {
    return is_letter(c) || std::isdigit(c) != 0 || c == '_' || c == '-' || c == '/' || c == '.';
  };
  std::string small = text;
  std::transform(small.begin(), small.end(), small.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return !text.empty() && (is_letter(text.front()) || text.starts_with("../") || text[0] == '/') &&
         std::all_of(text.begin(), text.end(), is_usual) &&
         std::find(words.begin(), words.end(), small) == words.end();
}

}  // namespace

std::string comment(const std::string& text) {
  return "# " + on_one_line(text) + "\n";
}

std::string file_name(const std::string& path) {
  return fs::path(path).filename().string();
}

std::string origin_of(const config::Place& place) {
  return file_name(place.file) + ":" + std::to_string(place.line);
}

std::string named_from(const std::string& folder, const std::string& path) {
  return fs::absolute(path)
      .lexically_normal()
      .lexically_proximate(fs::absolute(folder).lexically_normal())
      .string();
}

std::string yaml_text(const std::string& text) {
  if (is_plain(text)) {
    return text;
  }
  config::Value value;
  value.kind = config::Value::Kind::scalar;
  value.text = text;
  value.quoted = true;
  return config::to_inline_yaml(value);
}

std::string list_of(const std::vector<std::string>& items) {
  return "[" + join(items) + "]";
}

std::string list_of(const std::vector<std::int64_t>& items) {
  std::vector<std::string> texts;
  for (const std::int64_t item : items) {
    texts.push_back(std::to_string(item));
  }
  return list_of(texts);
}

void YamlLines::add(int indent, const std::string& line, const std::string& because) {
  text_ += std::string(static_cast<std::size_t>(indent), ' ') + line;
  text_ += because.empty() ? "\n" : "  " + comment(because);
}

}  // namespace tessera::migration
