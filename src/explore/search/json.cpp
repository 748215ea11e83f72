#include "search/json.hpp"

#include "tessera/core/text.hpp"

namespace tessera::explore {
namespace {

std::string quoted(const std::string& text) {
  constexpr char hex[] = "0123456789abcdef";
  std::string result = "\"";
  for (const char letter : text) {
    const auto code = static_cast<unsigned char>(letter);
    if (letter == '"' || letter == '\\') {
      result += '\\';
      result += letter;
    } else if (code < 0x20) {
      result += std::string("\\u00") + hex[code / 16] + hex[code % 16];
    } else {
      result += letter;
    }
  }
  return result + "\"";
}

}  // namespace

JsonObject& JsonObject::add(const std::string& key, const std::string& value) {
  members_ += (members_.empty() ? "" : ", ") + quoted(key) + ": " + value;
  return *this;
}

JsonObject& JsonObject::text(const std::string& key, const std::string& value) {
  return add(key, quoted(value));
}

JsonObject& JsonObject::number(const std::string& key, double value) {
  return add(key, format_number(value));
}

JsonObject& JsonObject::count(const std::string& key, std::uint64_t value) {
  return add(key, std::to_string(value));
}

JsonObject& JsonObject::truth(const std::string& key, bool value) {
  return add(key, value ? "true" : "false");
}

JsonObject& JsonObject::texts(const std::string& key, const std::vector<std::string>& values) {
  std::vector<std::string> all;
  for (const std::string& value : values) {
    all.push_back(quoted(value));
  }
  return add(key, "[" + join(all) + "]");
}

JsonObject& JsonObject::object(const std::string& key, const JsonObject& value) {
  return add(key, value.to_string());
}

JsonObject& JsonObject::objects(const std::string& key, const std::vector<JsonObject>& values) {
  std::vector<std::string> all;
  for (const JsonObject& value : values) {
    all.push_back(value.to_string());
  }
  return add(key, "[" + join(all, ",\n  ") + "]");
}

}  // namespace tessera::explore
