// Conditions and formulas that a user writes over names, such as
// `tensor * pipeline * data == devices`.
//
//   or, and, not                      conditions; `and` and `or` stop as soon as they are decided
//   == != < <= > >=                   numbers; the first two also texts and conditions
//   + - * / % and a sign              exact fractions; % takes whole numbers and has the sign of
//                                     its right side
//   min(a, …), max(a, …), ( … )
//   12, 0.5, 'text', true, false      constants
//   strategy.tensor, tensor           names: letters, digits, `_` and `.`; not starting with a
//   digit
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "tessera/config/document.hpp"
#include "tessera/explore/expression/rational.hpp"

namespace tessera::explore {

// What a name can stand for, and what an expression gives.
using Scalar = std::variant<bool, Rational, std::string>;

// The scalar that a text of a configuration is: true and false, a number, else the text.
Scalar scalar_from(const config::Value& value);

// Immutable after parsing; copies share the same tree.
class Expression {
 public:
  struct Name {
    std::string text;
    std::size_t offset = 0;  // of its first mention, in bytes
  };

  // `place` is that of the first character. Throws ConfigError with file, line and column of what
  // is wrong; text of more than 4096 bytes or 64 levels is.
  Expression(std::string text, config::Place place);

  const std::string& text() const { return text_; }
  // Names that it mentions, each once, in order of their first mention.
  const std::vector<Name>& names() const { return names_; }

  // Its value where name i stands for values[i]. Throws ConfigError with the place of an operator
  // whose operands do not suit it, of a division by zero, and of a number that leaves 64 bits.
  Scalar evaluate(std::span<const Scalar> values) const;
  // The same for a condition; throws ConfigError when it is none.
  bool holds(std::span<const Scalar> values) const;

  // The complaint, at the place of the character at `offset`.
  ConfigError complaint(std::size_t offset, const std::string& message) const;

  struct Node;  // of the tree; known to the sources alone

 private:
  std::string text_;
  config::Place place_;
  std::vector<Name> names_;
  std::shared_ptr<const Node> root_;
};

}  // namespace tessera::explore
