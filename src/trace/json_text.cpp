#include "tessera/trace/json_text.hpp"

#include <cmath>
#include <utility>

#include "tessera/trace/store/json.hpp"

namespace tessera::trace {

struct JsonText::Value {
  Json json;
};

JsonText::JsonText(std::unique_ptr<Value> value) : value_(std::move(value)) {}
JsonText::JsonText(const std::string& text) : value_(std::make_unique<Value>(Value{text})) {}
JsonText::JsonText(double number)
    : value_(std::make_unique<Value>(Value{std::isfinite(number) ? Json(number) : Json()})) {}
JsonText::JsonText(Truth truth) : value_(std::make_unique<Value>(Value{truth.value})) {}
JsonText::JsonText(Signed number) : value_(std::make_unique<Value>(Value{number.value})) {}
JsonText::JsonText(Unsigned number) : value_(std::make_unique<Value>(Value{number.value})) {}
JsonText::JsonText(const JsonText& other) : value_(std::make_unique<Value>(*other.value_)) {}
JsonText::JsonText(JsonText&& other) noexcept = default;
JsonText& JsonText::operator=(const JsonText& other) {
  value_ = std::make_unique<Value>(*other.value_);
  return *this;
}
JsonText& JsonText::operator=(JsonText&& other) noexcept = default;
JsonText::~JsonText() = default;

JsonText JsonText::object() {
  return JsonText(std::make_unique<Value>(Value{Json::object()}));
}

JsonText JsonText::list() {
  return JsonText(std::make_unique<Value>(Value{Json::list()}));
}

JsonText JsonText::list(const std::vector<std::string>& texts) {
  JsonText list = JsonText::list();
  for (const std::string& text : texts) {
    list.add(text);
  }
  return list;
}

JsonText JsonText::null() {
  return JsonText(std::make_unique<Value>(Value{Json()}));
}

JsonText& JsonText::put(std::string_view key, const JsonText& value) {
  value_->json[key] = value.value_->json;
  return *this;
}

JsonText& JsonText::add(const JsonText& value) {
  value_->json.push_back(value.value_->json);
  return *this;
}

std::string JsonText::to_string() const {
  return value_->json.text(2) + "\n";
}

std::string JsonText::to_line() const {
  return value_->json.text();
}

}  // namespace tessera::trace
