#include "tessera/explore/expression/expression.hpp"

#include <optional>
#include <utility>

#include "expression/expression_tree.hpp"

namespace tessera::explore {
namespace {

constexpr std::size_t most_bytes = 4096;

std::string kind_of(const Scalar& value) {
  return std::holds_alternative<bool>(value) ? "a condition"
         : std::holds_alternative<Rational>(value)
             ? "a number"
             : "the text '" + std::get<std::string>(value) + "'";
}

// Evaluates one expression with one set of values.
class Evaluation {
 public:
  Evaluation(const Expression& expression, std::span<const Scalar> values)
      : expression_(expression), values_(values) {}

  Scalar value_of(const Expression::Node& node) const {
    switch (node.op) {
      case Operator::constant:
        return node.constant;
      case Operator::name:
        return values_[node.name];
      case Operator::negative:
        return exact(node, subtract(Rational(), number(node, 0)));
      case Operator::logical_not:
        return !condition(node, 0);
      case Operator::logical_and:
        return condition(node, 0) && condition(node, 1);
      case Operator::logical_or:
        return condition(node, 0) || condition(node, 1);
      case Operator::add:
        return exact(node, add(number(node, 0), number(node, 1)));
      case Operator::subtract:
        return exact(node, subtract(number(node, 0), number(node, 1)));
      case Operator::multiply:
        return exact(node, multiply(number(node, 0), number(node, 1)));
      case Operator::divide:
        return divided(node);
      case Operator::remainder:
        return remainder(node);
      case Operator::equal:
        return equal(node);
      case Operator::unequal:
        return !equal(node);
      case Operator::less:
        return number(node, 0) < number(node, 1);
      case Operator::at_most:
        return !(number(node, 1) < number(node, 0));
      case Operator::greater:
        return number(node, 1) < number(node, 0);
      case Operator::at_least:
        return !(number(node, 0) < number(node, 1));
      case Operator::smallest:
      case Operator::largest:
        return extreme(node);
    }
    throw InternalError("an operator outside its list");
  }

 private:
  Scalar operand(const Expression::Node& node, std::size_t index) const {
    return value_of(*node.operands[index]);
  }

  Rational number(const Expression::Node& node, std::size_t index) const {
    const Scalar value = operand(node, index);
    if (const auto* number = std::get_if<Rational>(&value)) {
      return *number;
    }
    throw expression_.complaint(node.offset, "takes numbers, not " + kind_of(value));
  }

  bool condition(const Expression::Node& node, std::size_t index) const {
    const Scalar value = operand(node, index);
    if (const auto* condition = std::get_if<bool>(&value)) {
      return *condition;
    }
    throw expression_.complaint(node.offset, "takes conditions, not " + kind_of(value));
  }

  Scalar exact(const Expression::Node& node, const std::optional<Rational>& result) const {
    if (!result) {
      throw expression_.complaint(node.offset, "the result leaves 64 bits");
    }
    return *result;
  }

  Scalar divided(const Expression::Node& node) const {
    const Rational divisor = number(node, 1);
    if (divisor == Rational()) {
      throw expression_.complaint(node.offset, "divides by zero");
    }
    return exact(node, divide(number(node, 0), divisor));
  }

  Scalar remainder(const Expression::Node& node) const {
    const Rational left = number(node, 0);
    const Rational right = number(node, 1);
    if (!left.is_integer() || !right.is_integer()) {
      throw expression_.complaint(node.offset, "takes whole numbers, not " + left.to_string() +
                                                   " and " + right.to_string());
    }
    if (right == Rational()) {
      throw expression_.complaint(node.offset, "divides by zero");
    }
    const std::int64_t rest = left.numerator() % right.numerator();
    const bool other_sign = rest != 0 && (rest < 0) != (right.numerator() < 0);
    return Rational(other_sign ? rest + right.numerator() : rest);
  }

  bool equal(const Expression::Node& node) const {
    const Scalar left = operand(node, 0);
    const Scalar right = operand(node, 1);
    if (left.index() != right.index()) {
      throw expression_.complaint(node.offset,
                                  "compares " + kind_of(left) + " with " + kind_of(right));
    }
    return left == right;
  }

  Scalar extreme(const Expression::Node& node) const {
    Rational best = number(node, 0);
    for (std::size_t index = 1; index < node.operands.size(); ++index) {
      const Rational value = number(node, index);
      if (node.op == Operator::smallest ? value < best : best < value) {
        best = value;
      }
    }
    return best;
  }

  const Expression& expression_;
  std::span<const Scalar> values_;
};

}  // namespace

Scalar scalar_from(const config::Value& value) {
  if (!value.quoted) {
    if (value.text == "true" || value.text == "false") {
      return value.text == "true";
    }
    if (const std::optional<Rational> number = Rational::parse(value.text)) {
      return *number;
    }
  }
  return value.text;
}

Expression::Expression(std::string text, config::Place place)
    : text_(std::move(text)), place_(std::move(place)) {
  if (text_.size() > most_bytes) {
    throw complaint(0, "longer than " + std::to_string(most_bytes) + " bytes");
  }
  root_ = parse_expression(text_, names_, [this](std::size_t offset, const std::string& message) {
    return complaint(offset, message);
  });
}

Scalar Expression::evaluate(std::span<const Scalar> values) const {
  ensure(values.size() == names_.size(), "a value for each name of the expression");
  return Evaluation(*this, values).value_of(*root_);
}

bool Expression::holds(std::span<const Scalar> values) const {
  const Scalar value = evaluate(values);
  if (const auto* condition = std::get_if<bool>(&value)) {
    return *condition;
  }
  throw complaint(0, "is no condition but " + kind_of(value) + "; compare it with something");
}

ConfigError Expression::complaint(std::size_t offset, const std::string& message) const {
  return ConfigError(
      Diagnostic{place_.file, place_.line, place_.column + static_cast<int>(offset),
                 "'" + text_.substr(0, 60) + (text_.size() > 60 ? "…" : "") + "': " + message});
}

}  // namespace tessera::explore
