// JSON as text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::explore {

// One mapping; values are added in order. Texts are escaped.
class JsonObject {
 public:
  JsonObject& text(const std::string& key, const std::string& value);
  JsonObject& number(const std::string& key, double value);
  JsonObject& count(const std::string& key, std::uint64_t value);
  JsonObject& truth(const std::string& key, bool value);
  JsonObject& texts(const std::string& key, const std::vector<std::string>& values);
  JsonObject& object(const std::string& key, const JsonObject& value);
  JsonObject& objects(const std::string& key, const std::vector<JsonObject>& values);
  // On one line.
  std::string to_string() const { return "{" + members_ + "}"; }

 private:
  JsonObject& add(const std::string& key, const std::string& value);
  std::string members_;
};

}  // namespace tessera::explore
