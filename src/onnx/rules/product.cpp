// Matrix products and recurrent cells.
#include <array>
#include <map>
#include <optional>

#include "operators.hpp"

namespace tessera::onnx {
namespace {

Shape without_last_two(const Shape& shape) {
  return {shape.begin(), shape.end() - 2};
}

// As numpy.matmul: a vector gets a side of one, which is taken away again.
Shape matmul_shape(const Operands& node, Shape left, Shape right, bool& left_vector,
                   bool& right_vector) {
  left_vector = left.size() == 1;
  right_vector = right.size() == 1;
  if (left.empty() || right.empty()) {
    node.fail("a product with a scalar");
  }
  if (left_vector) {
    left.insert(left.begin(), 1);
  }
  if (right_vector) {
    right.push_back(1);
  }
  if (left.back() != right[right.size() - 2]) {
    node.fail("the shapes " + to_string(left) + " and " + to_string(right) +
              " do not go together: " + std::to_string(left.back()) + " columns and " +
              std::to_string(right[right.size() - 2]) + " rows");
  }
  Shape shape = node.broadcast(without_last_two(left), without_last_two(right));
  shape.push_back(left[left.size() - 2]);
  shape.push_back(right.back());
  return shape;
}

void set_matmul(Operands& node, std::size_t left, std::size_t right, ElementType type) {
  bool left_vector = false;
  bool right_vector = false;
  Shape shape = matmul_shape(node, node.shape(left), node.shape(right), left_vector, right_vector);
  if (right_vector) {
    shape.pop_back();
  }
  if (left_vector) {
    shape.erase(shape.end() - (right_vector ? 1 : 2));
  }
  node.set(0, type, shape);
}

Work product_of(const Operands& node, std::size_t left, std::size_t right) {
  bool left_vector = false;
  bool right_vector = false;
  const Shape& a = node.shape(left);
  const Shape& b = node.shape(right);
  const Shape shape = matmul_shape(node, a, b, left_vector, right_vector);
  Product product;
  product.rows = count(shape[shape.size() - 2]);
  product.columns = count(shape.back());
  product.depth = count(a.back());
  product.count = elements_of(without_last_two(shape));
  product.one_right_side = b.size() <= 2 || elements_of(without_last_two(b)) == 1;
  node.times({product.operations, product.count, product.rows, product.columns, product.depth});
  return product;
}

void shape_matmul(Operands& node) {
  set_matmul(node, 0, 1, node.type(0));
}
void shape_matmul_integer(Operands& node) {
  set_matmul(node, 0, 1, ElementType::int32);
}
// a, scale, zero point, b, scale, zero point, scale, zero point
void shape_quantized_matmul(Operands& node) {
  set_matmul(node, 0, 3, node.has(7) ? node.type(7) : node.type(0));
}

Work matmul(const Operands& node, std::uint64_t) {
  return product_of(node, 0, 1);
}
Work quantized_matmul(const Operands& node, std::uint64_t) {
  return product_of(node, 0, 3);
}

struct GemmSides {
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t depth;
};

GemmSides gemm_sides(const Operands& node, std::size_t right) {
  const Shape& a = node.shape(0);
  const Shape& b = node.shape(right);
  if (a.size() != 2 || b.size() != 2) {
    node.fail("a Gemm of the shapes " + to_string(a) + " and " + to_string(b) +
              "; both should have two sides");
  }
  const bool turn_a = node.flag("transA");
  const bool turn_b = node.flag("transB");
  const GemmSides sides{a[turn_a ? 1 : 0], b[turn_b ? 0 : 1], a[turn_a ? 0 : 1]};
  if (sides.depth != b[turn_b ? 1 : 0]) {
    node.fail("the shapes " + to_string(a) + " and " + to_string(b) + " do not go together");
  }
  return sides;
}

void shape_gemm(Operands& node) {
  const GemmSides sides = gemm_sides(node, 1);
  node.set(0, node.type(0), {sides.rows, sides.columns});
}
// a, scale, zero point, b, scale, zero point, bias, and of a quantised output scale, zero point
void shape_quantized_gemm(Operands& node) {
  const GemmSides sides = gemm_sides(node, 3);
  const ElementType quantized = node.has(8) ? node.type(8) : node.type(0);
  node.set(0, node.has(7) ? quantized : node.type(1), {sides.rows, sides.columns});
}

Work gemm_of(const Operands& node, std::size_t right) {
  const GemmSides sides = gemm_sides(node, right);
  Product product{1, count(sides.rows), count(sides.columns), count(sides.depth), true, 2};
  node.times({2, product.rows, product.columns, product.depth});
  return product;
}
Work gemm(const Operands& node, std::uint64_t) {
  return gemm_of(node, 1);
}
Work quantized_gemm(const Operands& node, std::uint64_t) {
  return gemm_of(node, 3);
}

// Letters of operands and of the output; "..." becomes capital letters beyond them.
struct Equation {
  std::vector<std::string> operands;
  std::string output;
  std::map<char, std::int64_t> sides;
};

constexpr char first_hidden = '\x01';  // letters that stand for the sides of "..."

// One operand of the equation with "..." written out for so many sides.
std::string written_out(const Operands& node, const std::string& term, std::size_t rank) {
  const std::size_t dots = term.find("...");
  if (dots == std::string::npos) {
    return term;
  }
  const std::size_t letters = term.size() - 3;
  if (letters > rank || rank - letters > 20) {
    node.fail("the term '" + term + "' for a tensor with " + std::to_string(rank) + " sides");
  }
  std::string hidden;
  for (std::size_t i = rank - letters; i > 0; --i) {
    hidden += static_cast<char>(first_hidden + i - 1);
  }
  return term.substr(0, dots) + hidden + term.substr(dots + 3);
}

// Letters of a term stand for the sides of its operand; those of one side are broadcast.
void take_sides(const Operands& node, const std::string& equation_text, const std::string& term,
                const Shape& shape, Equation& equation) {
  for (std::size_t i = 0; i < term.size(); ++i) {
    std::int64_t& side = equation.sides.try_emplace(term[i], 1).first->second;
    if (side != shape[i] && side != 1 && shape[i] != 1) {
      node.fail("the equation '" + equation_text + "' with sides of " + std::to_string(side) +
                " and " + std::to_string(shape[i]));
    }
    side = side == 1 ? shape[i] : side;
  }
}

Equation equation_of(const Operands& node) {
  std::string text;
  for (const char c : node.text("equation", "")) {
    if (c != ' ') {
      text += c;
    }
  }
  const std::size_t arrow = text.find("->");
  std::string left = text.substr(0, arrow);
  Equation equation;
  std::map<char, int> seen;
  std::size_t most_hidden = 0;
  for (std::size_t at = 0; at < node.inputs(); ++at) {
    const std::size_t comma = left.find(',');
    if (at + 1 < node.inputs() && comma == std::string::npos) {
      node.fail("the equation '" + text + "' has fewer terms than there are inputs");
    }
    const Shape& shape = node.shape(at);
    const std::string raw = left.substr(0, comma);
    const std::string term = written_out(node, raw, shape.size());
    if (raw != term || raw.find("...") != std::string::npos) {
      most_hidden = std::max(most_hidden, shape.size() - (raw.size() - 3));
    }
    if (term.size() != shape.size()) {
      node.fail("the term '" + raw + "' for a tensor of the shape " + to_string(shape));
    }
    take_sides(node, text, term, shape, equation);
    for (const char letter : term) {
      ++seen[letter];
    }
    equation.operands.push_back(term);
    left = comma == std::string::npos ? "" : left.substr(comma + 1);
  }
  if (arrow != std::string::npos) {
    const std::string term = text.substr(arrow + 2);
    const bool dots = term.find("...") != std::string::npos;
    equation.output = written_out(node, term, dots ? term.size() - 3 + most_hidden : term.size());
  } else {
    // Letters that stand once, in order; hidden ones first, outermost (highest) first.
    for (std::size_t i = most_hidden; i > 0; --i) {
      equation.output += static_cast<char>(first_hidden + i - 1);
    }
    for (const auto& [letter, times] : seen) {
      if (times == 1 && letter >= 'A') {
        equation.output += letter;
      }
    }
  }
  for (const char letter : equation.output) {
    if (!equation.sides.contains(letter)) {
      node.fail("the equation '" + text + "' has an output side that no input has");
    }
  }
  return equation;
}

void shape_einsum(Operands& node) {
  const Equation equation = equation_of(node);
  Shape shape;
  for (const char letter : equation.output) {
    shape.push_back(equation.sides.at(letter));
  }
  node.set(0, node.type(0), shape);
}

bool holds(const std::string& term, char letter) {
  return term.find(letter) != std::string::npos;
}

Work einsum(const Operands& node, std::uint64_t) {
  const Equation equation = equation_of(node);
  Product product;
  product.rows = product.columns = product.depth = 1;
  std::uint64_t all = 1;
  for (const auto& [letter, side] : equation.sides) {
    all = node.times({all, count(side)});
    if (equation.operands.size() != 2) {
      continue;
    }
    const bool left = holds(equation.operands[0], letter);
    const bool right = holds(equation.operands[1], letter);
    const bool out = holds(equation.output, letter);
    std::uint64_t& part = !out            ? product.depth
                          : left && right ? product.count
                          : left          ? product.rows
                                          : product.columns;
    part = node.times({part, count(side)});
  }
  if (equation.operands.size() == 1) {
    return all == elements_of(node.output_shape(0)) ? Work(Movement{all}) : Work(Other{all});
  }
  node.times({2, all});
  return equation.operands.size() == 2 ? Work(product)
                                       : Work(Other{node.times({all, equation.operands.size()})});
}

struct Cell {
  std::int64_t steps;
  std::int64_t batch;
  std::int64_t input;
  std::int64_t hidden;
  std::int64_t directions;
};

// X is [steps, batch, input], or [batch, steps, input] with layout 1; W [directions, gates *
// hidden, input].
Cell cell_of(const Operands& node, std::int64_t gates) {
  const Shape& x = node.shape(0);
  const Shape& w = node.shape(1);
  const Shape& r = node.shape(2);
  if (x.size() != 3 || w.size() != 3 || r.size() != 3) {
    node.fail("X, W and R should have three sides; they are " + to_string(x) + ", " + to_string(w) +
              " and " + to_string(r));
  }
  const std::string direction = node.text("direction", "forward");
  const bool batch_first = node.flag("layout");
  const Cell cell{x[batch_first ? 1 : 0], x[batch_first ? 0 : 1], x[2], r[2],
                  direction == "bidirectional" ? 2 : 1};
  if (w[0] != cell.directions || r[0] != cell.directions || w[1] % gates != 0 ||
      w[1] / gates != cell.hidden || r[1] != w[1] || w[2] != cell.input) {
    node.fail("X, W and R of the shapes " + to_string(x) + ", " + to_string(w) + " and " +
              to_string(r) + " do not go together");
  }
  return cell;
}

void set_cell(Operands& node, std::int64_t gates) {
  const Cell cell = cell_of(node, gates);
  const bool batch_first = node.flag("layout");
  node.set(0, node.type(0),
           batch_first ? Shape{cell.batch, cell.steps, cell.directions, cell.hidden}
                       : Shape{cell.steps, cell.directions, cell.batch, cell.hidden});
  for (std::size_t at = 1; at < node.outputs(); ++at) {
    node.set(at, node.type(0),
             batch_first ? Shape{cell.batch, cell.directions, cell.hidden}
                         : Shape{cell.directions, cell.batch, cell.hidden});
  }
}

void shape_lstm(Operands& node) {
  set_cell(node, 4);
}
void shape_gru(Operands& node) {
  set_cell(node, 3);
}
void shape_rnn(Operands& node) {
  set_cell(node, 1);
}

// `gates` stands in the column of FLOPs.
Work recurrent(const Operands& node, std::uint64_t gates) {
  const Cell cell = cell_of(node, static_cast<std::int64_t>(gates));
  const Recurrent work{
      count(cell.steps),     count(cell.batch), count(cell.input), count(cell.hidden), gates,
      count(cell.directions)};
  node.times({2, work.steps, work.batch, work.input_width + work.hidden_width, work.hidden_width,
              gates, work.directions});
  return work;
}

constexpr std::array product_list{
    OperatorRule{"Einsum", shape_einsum, einsum, 0},
    OperatorRule{"GRU", shape_gru, recurrent, 3},
    OperatorRule{"Gemm", shape_gemm, gemm, 0},
    OperatorRule{"LSTM", shape_lstm, recurrent, 4},
    OperatorRule{"MatMul", shape_matmul, matmul, 0},
    OperatorRule{"MatMulInteger", shape_matmul_integer, matmul, 0},
    OperatorRule{"QLinearMatMul", shape_quantized_matmul, quantized_matmul, 0},
    OperatorRule{"com.microsoft.FusedGemm", shape_gemm, gemm, 0},
    OperatorRule{"com.microsoft.QGemm", shape_quantized_gemm, quantized_gemm, 0},
    OperatorRule{"RNN", shape_rnn, recurrent, 1},
};

}  // namespace

std::span<const OperatorRule> product_rules() {
  return product_list;
}

}  // namespace tessera::onnx
