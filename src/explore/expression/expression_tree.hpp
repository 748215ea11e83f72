// The tree of an expression, and how a text becomes one.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/explore/expression/expression.hpp"

namespace tessera::explore {

enum class Operator {
  constant,
  name,
  negative,
  logical_not,
  logical_and,
  logical_or,
  add,
  subtract,
  multiply,
  divide,
  remainder,
  equal,
  unequal,
  less,
  at_most,
  greater,
  at_least,
  smallest,
  largest,
};

struct Expression::Node {
  Operator op = Operator::constant;
  std::size_t offset = 0;  // of the operator in the text
  Scalar constant;
  std::size_t name = 0;  // number of a name
  std::vector<std::shared_ptr<const Node>> operands;
};

using NodePointer = std::shared_ptr<const Expression::Node>;
// Makes the error for a fault at an offset.
using Complain = std::function<ConfigError(std::size_t offset, const std::string& message)>;

// Parses `text` and lists the names it mentions. Throws what `complain` makes.
NodePointer parse_expression(std::string_view text, std::vector<Expression::Name>& names,
                             const Complain& complain);

}  // namespace tessera::explore
