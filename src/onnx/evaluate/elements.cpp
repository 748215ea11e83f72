#include "evaluate/elements.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string_view>

#include "indices.hpp"

namespace tessera::onnx {
namespace {

using Result = std::optional<Values>;
using Whole = std::int64_t;
using RealOf2 = double (*)(double, double);
using WholeOf2 = std::optional<Whole> (*)(Whole, Whole);

Whole wrapped(std::uint64_t bits) {
  return static_cast<Whole>(bits);
}
std::uint64_t bits(Whole value) {
  return static_cast<std::uint64_t>(value);
}
bool divides(Whole a, Whole b) {
  return b != 0 && !(b == -1 && a == std::numeric_limits<Whole>::min());
}

// The sign of the divisor, as Python has it.
double modulo(double a, double b) {
  const double rest = std::fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

struct Arithmetic {
  RealOf2 real;
  WholeOf2 whole;
};

const std::map<std::string_view, Arithmetic>& arithmetic() {
  static const std::map<std::string_view, Arithmetic> table{
      {"Add",
       {[](double a, double b) { return a + b; },
        [](Whole a, Whole b) -> std::optional<Whole> { return wrapped(bits(a) + bits(b)); }}},
      {"Sub",
       {[](double a, double b) { return a - b; },
        [](Whole a, Whole b) -> std::optional<Whole> { return wrapped(bits(a) - bits(b)); }}},
      {"Mul",
       {[](double a, double b) { return a * b; },
        [](Whole a, Whole b) -> std::optional<Whole> { return wrapped(bits(a) * bits(b)); }}},
      {"Div",
       {[](double a, double b) { return a / b; },
        [](Whole a, Whole b) -> std::optional<Whole> {
          return divides(a, b) ? std::optional(a / b) : std::nullopt;
        }}},
      {"Mod",
       {modulo,
        [](Whole a, Whole b) -> std::optional<Whole> {
          if (!divides(a, b)) {
            return std::nullopt;
          }
          const Whole rest = a % b;
          return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
        }}},
      {"Pow",
       {[](double a, double b) { return std::pow(a, b); },
        [](Whole a, Whole b) -> std::optional<Whole> {
          const double power = std::pow(static_cast<double>(a), static_cast<double>(b));
          return std::abs(power) < 9e15 ? std::optional(static_cast<Whole>(power)) : std::nullopt;
        }}},
      {"Min",
       {[](double a, double b) { return std::min(a, b); },
        [](Whole a, Whole b) -> std::optional<Whole> { return std::min(a, b); }}},
      {"Max",
       {[](double a, double b) { return std::max(a, b); },
        [](Whole a, Whole b) -> std::optional<Whole> { return std::max(a, b); }}},
      {"And", {nullptr, [](Whole a, Whole b) -> std::optional<Whole> { return a != 0 && b != 0; }}},
      {"Or", {nullptr, [](Whole a, Whole b) -> std::optional<Whole> { return a != 0 || b != 0; }}},
      {"Xor",
       {nullptr, [](Whole a, Whole b) -> std::optional<Whole> { return (a != 0) != (b != 0); }}}};
  return table;
}

const std::map<std::string_view, bool (*)(double, double)>& comparisons() {
  static const std::map<std::string_view, bool (*)(double, double)> table{
      {"Equal", [](double a, double b) { return a == b; }},
      {"Greater", [](double a, double b) { return a > b; }},
      {"GreaterOrEqual", [](double a, double b) { return a >= b; }},
      {"Less", [](double a, double b) { return a < b; }},
      {"LessOrEqual", [](double a, double b) { return a <= b; }}};
  return table;
}

const std::map<std::string_view, double (*)(double)>& functions() {
  static const std::map<std::string_view, double (*)(double)> table{
      {"Abs", [](double x) { return std::abs(x); }},
      {"Ceil", [](double x) { return std::ceil(x); }},
      {"Exp", [](double x) { return std::exp(x); }},
      {"Floor", [](double x) { return std::floor(x); }},
      {"Log", [](double x) { return std::log(x); }},
      {"Neg", [](double x) { return -x; }},
      {"Reciprocal", [](double x) { return 1 / x; }},
      {"Relu", [](double x) { return std::max(0.0, x); }},
      {"Round", [](double x) { return std::nearbyint(x); }},
      {"Sqrt", [](double x) { return std::sqrt(x); }}};
  return table;
}

// Two operands, broadcast to the shape of both.
Result combine(const Values& a, const Shape& a_shape, const Values& b, const Shape& b_shape,
               const Shape& shape, const Arithmetic& with) {
  Values result;
  result.real = a.real || b.real;
  const BroadcastIndex left(a_shape, shape);
  const BroadcastIndex right(b_shape, shape);
  const std::size_t count = elements_of(shape);
  for (std::size_t i = 0; i < count; ++i) {
    if (result.real) {
      if (with.real == nullptr) {
        return std::nullopt;
      }
      result.reals.push_back(with.real(a.as_real(left.at(i)), b.as_real(right.at(i))));
      continue;
    }
    const auto value = with.whole(a.integers[left.at(i)], b.integers[right.at(i)]);
    if (!value) {
      return std::nullopt;
    }
    result.integers.push_back(*value);
  }
  return result;
}

Result arithmetic_of(const Operands& node, const Arithmetic& with) {
  Result result = *node.values(0);
  Shape shape = node.shape(0);
  for (std::size_t at = 1; at < node.inputs() && result; ++at) {
    const Shape next = node.broadcast(shape, node.shape(at));
    result = combine(*result, shape, *node.values(at), node.shape(at), next, with);
    shape = next;
  }
  return result;
}

Result comparison_of(const Operands& node, bool (*holds)(double, double)) {
  const Values& a = *node.values(0);
  const Values& b = *node.values(1);
  const Shape& shape = node.output_shape(0);
  const BroadcastIndex left(node.shape(0), shape);
  const BroadcastIndex right(node.shape(1), shape);
  Values result;
  const std::size_t count = elements_of(shape);
  for (std::size_t i = 0; i < count; ++i) {
    result.integers.push_back(holds(a.as_real(left.at(i)), b.as_real(right.at(i))) ? 1 : 0);
  }
  return result;
}

Result function_of(const Values& input, double (*function)(double)) {
  Values result;
  result.real = input.real;
  for (std::size_t i = 0; i < input.size(); ++i) {
    const double value = function(input.as_real(i));
    if (input.real) {
      result.reals.push_back(value);
    } else if (std::abs(value) < 9e15) {
      result.integers.push_back(static_cast<Whole>(value));
    } else {
      return std::nullopt;
    }
  }
  return result;
}

Result cast_of(const Operands& node) {
  const Values& input = *node.values(0);
  const ElementType type = node.output(0).type;
  Values result;
  result.real = is_real(type);
  for (std::size_t i = 0; i < input.size(); ++i) {
    if (result.real) {
      result.reals.push_back(input.as_real(i));
    } else if (type == ElementType::boolean) {
      result.integers.push_back(input.as_real(i) != 0 ? 1 : 0);
    } else if (!input.real) {
      result.integers.push_back(input.integers[i]);
    } else if (std::abs(input.reals[i]) < 9e18) {
      result.integers.push_back(static_cast<Whole>(input.reals[i]));
    } else {
      return std::nullopt;
    }
  }
  return result;
}

Result choice_of(const Operands& node) {
  const Shape& shape = node.output_shape(0);
  const Values& chosen = *node.values(0);
  const Values& yes = *node.values(1);
  const Values& no = *node.values(2);
  if (yes.real != no.real) {
    return std::nullopt;
  }
  const BroadcastIndex by(node.shape(0), shape);
  const BroadcastIndex left(node.shape(1), shape);
  const BroadcastIndex right(node.shape(2), shape);
  Values result;
  result.real = yes.real;
  const std::size_t count = elements_of(shape);
  for (std::size_t i = 0; i < count; ++i) {
    const bool first = chosen.as_real(by.at(i)) != 0;
    const Values& from = first ? yes : no;
    const std::size_t at = first ? left.at(i) : right.at(i);
    if (result.real) {
      result.reals.push_back(from.reals[at]);
    } else {
      result.integers.push_back(from.integers[at]);
    }
  }
  return result;
}

Result negation_of(const Values& input) {
  Values result;
  for (std::size_t i = 0; i < input.size(); ++i) {
    result.integers.push_back(input.as_real(i) == 0 ? 1 : 0);
  }
  return result;
}

// All elements into one: what shapes are made with.
Result reduction_of(const Operands& node, std::string_view op) {
  const Values& input = *node.values(0);
  if (elements_of(node.output_shape(0)) != 1 || input.size() == 0 ||
      (input.size() == 1 && node.output_shape(0) == node.shape(0))) {
    return elements_of(node.output_shape(0)) == 1 && input.size() == 1 ? Result(input)
                                                                       : std::nullopt;
  }
  const Arithmetic& with = arithmetic().at(op == "ReduceProd"  ? "Mul"
                                           : op == "ReduceMax" ? "Max"
                                           : op == "ReduceMin" ? "Min"
                                                               : "Add");
  Values result;
  result.real = input.real;
  double real = input.as_real(0);
  Whole whole = input.real ? 0 : input.integers[0];
  for (std::size_t i = 1; i < input.size(); ++i) {
    if (input.real) {
      real = with.real(real, input.reals[i]);
    } else {
      whole = with.whole(whole, input.integers[i]).value_or(0);
    }
  }
  const auto count = static_cast<Whole>(input.size());
  if (input.real) {
    result.reals = {op == "ReduceMean" ? real / static_cast<double>(count) : real};
  } else {
    result.integers = {op == "ReduceMean" ? whole / count : whole};
  }
  return result;
}

}  // namespace

std::optional<Values> evaluate_elements(const Operands& node) {
  const std::string_view op = node.node().op;
  if (const auto found = arithmetic().find(op); found != arithmetic().end()) {
    return arithmetic_of(node, found->second);
  }
  if (const auto found = comparisons().find(op); found != comparisons().end()) {
    return comparison_of(node, found->second);
  }
  if (const auto found = functions().find(op); found != functions().end()) {
    return function_of(*node.values(0), found->second);
  }
  if (op == "Cast" || op == "CastLike") {
    return cast_of(node);
  }
  if (op == "Where") {
    return choice_of(node);
  }
  if (op == "Not") {
    return negation_of(*node.values(0));
  }
  if (op == "ReduceProd" || op == "ReduceSum" || op == "ReduceMax" || op == "ReduceMin" ||
      op == "ReduceMean") {
    return reduction_of(node, op);
  }
  return std::nullopt;
}

}  // namespace tessera::onnx
