#include "source.hpp"

#include <utility>

#include "tessera/config/plain_text.hpp"
#include "tessera/core/text.hpp"
#include "text.hpp"

namespace tessera::migration {
namespace {

constexpr std::size_t longest_shown = 60;

std::string shown(const std::string& path, const config::Value& value) {
  std::string text = value.kind == config::Value::Kind::null     ? ""
                     : value.kind == config::Value::Kind::scalar ? value.text
                                                                 : config::to_inline_yaml(value);
  if (text.size() > longest_shown) {
    std::size_t end = longest_shown;
    // Not inside a character.
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) {
      --end;
    }
    text = text.substr(0, end) + "…";
  }
  return path + (text.empty() ? "" : ": " + text);
}

}  // namespace

std::string read_text(const std::string& path, Request& request, Migrated& migrated) {
  migrated.sources.push_back(path);
  std::string text = config::load_named(path, request.load);
  // Words of it go into what is written.
  config::Diagnostics own;
  config::check_text(path, text, own);
  own.throw_if_any();
  return text;
}

config::Value read_yaml(const std::string& path, Request& request, Migrated& migrated) {
  return config::parse(path, read_text(path, request, migrated), request.diagnostics);
}

config::Value read_json(const std::string& path, Request& request, Migrated& migrated) {
  const std::string text = read_text(path, request, migrated);
  config::Diagnostics own;
  config::Value value = config::parse(path, text, own);
  const std::string yaml = "not valid YAML";
  for (const Diagnostic& diagnostic : own.list()) {
    std::string message = diagnostic.message;
    if (const std::size_t at = message.find(yaml); at != std::string::npos) {
      message.replace(at, yaml.size(), "not valid JSON");
    }
    request.diagnostics.error({diagnostic.file, diagnostic.line, diagnostic.column}, message);
  }
  if (own.empty() && value.kind != config::Value::Kind::mapping) {
    request.diagnostics.error({path, 1, 1}, "expected a JSON object");
  }
  return value;
}

Source::Source(config::Section section, Migrated& migrated)
    : section_(std::move(section)), migrated_(migrated) {}

Source::Source(const config::Value& root, Request& request, Migrated& migrated)
    : Source(config::Section(root, "", request.diagnostics), migrated) {}

std::string Source::name(std::string_view key, const std::vector<std::string>& names,
                         std::string_view usual) {
  ask(key, usual.empty());
  const std::string chosen = section_.get_name(key, names, usual);
  return chosen.empty() ? names.front() : chosen;
}

bool Source::is_empty_list(std::string_view key) {
  const config::Value value = section_.raw(key);
  return value.kind == config::Value::Kind::sequence && value.items.empty();
}

bool Source::truth(std::string_view key) {
  ask(key);
  if (!section_.has(key)) {
    return false;
  }
  const config::Value value = section_.raw(key);
  std::string problem;
  if (const auto truth = config::parse_as<bool>(value.text, problem)) {
    return *truth;
  }
  const auto number = config::parse_as<double>(value.text, problem);
  if (value.kind != config::Value::Kind::scalar || !number) {
    section_.error(key, value, "expected true, false or a number");
  }
  return number.value_or(0) != 0;
}

Source Source::section(std::string_view key, bool is_needed) {
  ask(key, is_needed);
  return {section_.section(key), migrated_};
}

void Source::error(std::string_view key, std::size_t item, const std::string& message) {
  section_.error(key, section_.raw(key).items.at(item), message);
}

void Source::error(std::string_view key, const std::string& message) {
  if (refused_.find(key) == refused_.end()) {
    section_.error(key, message);
  }
}

std::string Source::origin(std::string_view key) const {
  return origin_of(section_.place_of(key));
}

void Source::leave(std::string_view key, const std::string& because) {
  taken_.insert(std::string(key));
  if (!section_.has(key)) {
    return;
  }
  const std::string path =
      section_.path().empty() ? std::string(key) : section_.path() + "." + std::string(key);
  migrated_.left_out.push_back({section_.place_of(key), shown(path, section_.raw(key)), because});
}

void Source::leave_rest() {
  for (const std::string& key : section_.keys()) {
    if (taken_.find(key) != taken_.end()) {
      continue;
    }
    const std::string meant = nearest_match(key, missing_);
    if (!meant.empty()) {
      section_.error(key, "unknown key; did you mean '" + meant + "'?");
      continue;
    }
    const std::string near = nearest_match(key, absent_);
    leave(key, "not known to this import" +
                   (near.empty() ? std::string() : "; did you mean '" + near + "'?"));
  }
}

void Source::ask(std::string_view key, bool is_needed) {
  taken_.insert(std::string(key));
  if (!section_.has(key)) {
    (is_needed ? missing_ : absent_).emplace_back(key);
  }
}

}  // namespace tessera::migration
