// A number of a JSON object that has one of several names.
#pragma once

#include <optional>
#include <string_view>

#include "requests/trace/json_number.hpp"

namespace tessera::serving {

class NamedNumber {
 public:
  void forget() {
    number_.reset();
    misfit_.name.clear();
  }
  // Takes the value that comes next, or passes over one that is no number. Numbers of two names
  // must be the same.
  void take(JsonReader& json, std::string_view name) {
    if (!is_number_next(json)) {
      misfit_ = misfit_next(json, name);
      json.pass_over();
      return;
    }
    JsonNumber made = take_number(json, name);
    if (number_ && number_->text != made.text) {
      throw json.text().error_at(
          made.line, made.column,
          made.name + " is " + made.text + ", and " + number_->name + " is " + number_->text);
    }
    number_ = std::move(made);
  }
  // Whether it is there, as a number or as something else.
  bool is_named() const { return number_ || !misfit_.name.empty(); }
  const JsonNumber* operator->() const { return &*number_; }
  explicit operator bool() const { return number_.has_value(); }
  // Complains of what stands where a number should; `null` counts as nothing there.
  void refuse_misfit(const TextReader& text) const {
    if (misfit_.is_something()) {
      throw text.error_at(misfit_.line, misfit_.column, misfit_.complaint("a number"));
    }
  }
  const Misfit& misfit() const { return misfit_; }

 private:
  std::optional<JsonNumber> number_;
  Misfit misfit_;
};

}  // namespace tessera::serving
