// A recursive-descent parser; from the loosest binding to the tightest:
//   either      = both {"or" both}
//   both        = negation {"and" negation}
//   negation    = "not" negation | comparison
//   comparison  = sum [("==" | "!=" | "<" | "<=" | ">" | ">=") sum]
//   sum         = product {("+" | "-") product}
//   product     = signed {("*" | "/" | "%") signed}
//   signed      = "-" signed | primary
//   primary     = number | text | name | ("min" | "max") "(" either {"," either} ")" |
//                 "(" either ")"
#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "expression/characters.hpp"
#include "expression/expression_tree.hpp"

namespace tessera::explore {
namespace {

constexpr int most_levels = 64;

struct Token {
  enum class Kind { end, number, text, name, sign } kind = Kind::end;
  std::string_view text;  // as written; of a text without its quotes
  std::size_t offset = 0;
};

bool begins_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

class Lexer {
 public:
  Lexer(std::string_view text, const Complain& complain) : text_(text), complain_(complain) {}

  Token next() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) {
      ++at_;
    }
    const std::size_t start = at_;
    if (at_ == text_.size()) {
      return {Token::Kind::end, "", start};
    }
    const char first = text_[at_];
    if (is_digit(first)) {
      return number();
    }
    if (begins_name(first)) {
      while (at_ < text_.size() &&
             (begins_name(text_[at_]) || is_digit(text_[at_]) || text_[at_] == '.')) {
        ++at_;
      }
      return {Token::Kind::name, text_.substr(start, at_ - start), start};
    }
    if (first == '\'' || first == '"') {
      const std::size_t end = text_.find(first, at_ + 1);
      if (end == std::string_view::npos) {
        throw complain_(start, "the quote is not closed");
      }
      at_ = end + 1;
      return {Token::Kind::text, text_.substr(start + 1, end - start - 1), start};
    }
    for (const std::string_view sign : {"==", "!=", "<=", ">="}) {
      if (text_.substr(at_).starts_with(sign)) {
        at_ += 2;
        return {Token::Kind::sign, text_.substr(start, 2), start};
      }
    }
    if (std::string_view("+-*/%<>(),").find(first) == std::string_view::npos) {
      throw complain_(start, std::string("'") + first + "' means nothing here" +
                                 (first == '='   ? "; write == to compare"
                                  : first == '!' ? "; write not or !="
                                  : first == '&' ? "; write and"
                                  : first == '|' ? "; write or"
                                                 : ""));
    }
    ++at_;
    return {Token::Kind::sign, text_.substr(start, 1), start};
  }

 private:
  Token number() {
    const std::size_t start = at_;
    while (at_ < text_.size() && (is_digit(text_[at_]) || text_[at_] == '.' ||
                                  begins_name(text_[at_]) || follows_exponent())) {
      ++at_;
    }
    return {Token::Kind::number, text_.substr(start, at_ - start), start};
  }
  // The sign of "1e-3".
  bool follows_exponent() const {
    return (text_[at_] == '-' || text_[at_] == '+') &&
           (text_[at_ - 1] == 'e' || text_[at_ - 1] == 'E');
  }

  std::string_view text_;
  const Complain& complain_;
  std::size_t at_ = 0;
};

struct Binary {
  std::string_view sign;
  Operator op;
};
constexpr std::array comparisons{Binary{"==", Operator::equal},   Binary{"!=", Operator::unequal},
                                 Binary{"<=", Operator::at_most}, Binary{">=", Operator::at_least},
                                 Binary{"<", Operator::less},     Binary{">", Operator::greater}};
constexpr std::array sums{Binary{"+", Operator::add}, Binary{"-", Operator::subtract}};
constexpr std::array products{Binary{"*", Operator::multiply}, Binary{"/", Operator::divide},
                              Binary{"%", Operator::remainder}};

class Parser {
 public:
  Parser(std::string_view text, std::vector<Expression::Name>& names, const Complain& complain)
      : lexer_(text, complain), names_(names), complain_(complain), token_(lexer_.next()) {}

  NodePointer parse() {
    NodePointer root = either();
    if (token_.kind != Token::Kind::end) {
      throw unexpected("an operator");
    }
    return root;
  }

 private:
  ConfigError unexpected(const std::string& wanted) const {
    const std::string found =
        token_.kind == Token::Kind::end ? "the end" : "'" + std::string(token_.text) + "'";
    return complain_(token_.offset, "expected " + wanted + ", found " + found);
  }

  Token take() { return std::exchange(token_, lexer_.next()); }
  bool is_word(std::string_view word) const {
    return token_.kind == Token::Kind::name && token_.text == word;
  }
  bool is_sign(std::string_view sign) const {
    return token_.kind == Token::Kind::sign && token_.text == sign;
  }
  template <std::size_t count>
  std::optional<Operator> operator_of(const std::array<Binary, count>& list) const {
    for (const Binary& binary : list) {
      if (is_sign(binary.sign)) {
        return binary.op;
      }
    }
    return std::nullopt;
  }

  static NodePointer make(Operator op, std::size_t offset, std::vector<NodePointer> operands) {
    auto node = std::make_shared<Expression::Node>();
    node->op = op;
    node->offset = offset;
    node->operands = std::move(operands);
    return node;
  }
  static NodePointer constant(Scalar value, std::size_t offset) {
    auto node = std::make_shared<Expression::Node>();
    node->offset = offset;
    node->constant = std::move(value);
    return node;
  }

  NodePointer either() {
    if (++levels_ > most_levels) {
      throw complain_(token_.offset,
                      "more than " + std::to_string(most_levels) + " levels of brackets");
    }
    NodePointer left = both();
    while (is_word("or")) {
      const std::size_t offset = take().offset;
      left = make(Operator::logical_or, offset, {left, both()});
    }
    --levels_;
    return left;
  }

  NodePointer both() {
    NodePointer left = negation();
    while (is_word("and")) {
      const std::size_t offset = take().offset;
      left = make(Operator::logical_and, offset, {left, negation()});
    }
    return left;
  }

  NodePointer negation() {
    std::vector<std::size_t> offsets;
    while (is_word("not")) {
      offsets.push_back(take().offset);
    }
    NodePointer node = comparison();
    for (; !offsets.empty(); offsets.pop_back()) {
      node = make(Operator::logical_not, offsets.back(), {node});
    }
    return node;
  }

  NodePointer comparison() {
    NodePointer left = sum();
    if (const std::optional<Operator> op = operator_of(comparisons)) {
      const std::size_t offset = take().offset;
      left = make(*op, offset, {left, sum()});
      if (operator_of(comparisons)) {
        throw complain_(token_.offset, "comparisons do not chain; join two of them with and");
      }
    }
    return left;
  }

  NodePointer sum() {
    NodePointer left = product();
    while (const std::optional<Operator> op = operator_of(sums)) {
      const std::size_t offset = take().offset;
      left = make(*op, offset, {left, product()});
    }
    return left;
  }

  NodePointer product() {
    NodePointer left = signed_value();
    while (const std::optional<Operator> op = operator_of(products)) {
      const std::size_t offset = take().offset;
      left = make(*op, offset, {left, signed_value()});
    }
    return left;
  }

  NodePointer signed_value() {
    std::vector<std::size_t> offsets;
    while (is_sign("-")) {
      offsets.push_back(take().offset);
    }
    NodePointer node = primary();
    for (; !offsets.empty(); offsets.pop_back()) {
      node = make(Operator::negative, offsets.back(), {node});
    }
    return node;
  }

  NodePointer primary() {
    if (is_sign("(")) {
      take();
      NodePointer inner = either();
      close();
      return inner;
    }
    if (token_.kind == Token::Kind::number) {
      const Token token = take();
      const std::optional<Rational> value = Rational::parse(token.text);
      if (!value) {
        throw complain_(token.offset, "'" + std::string(token.text) +
                                          "' is no number of 64 bits; a name begins with a letter, "
                                          "and a text stands in quotes");
      }
      return constant(*value, token.offset);
    }
    if (token_.kind == Token::Kind::text) {
      const Token token = take();
      return constant(std::string(token.text), token.offset);
    }
    constexpr std::array<std::string_view, 3> words{"and", "or", "not"};
    if (token_.kind != Token::Kind::name ||
        std::find(words.begin(), words.end(), token_.text) != words.end()) {
      throw unexpected("a number, a name or a bracket");
    }
    const Token token = take();
    if (token.text == "true" || token.text == "false") {
      return constant(token.text == "true", token.offset);
    }
    return is_sign("(") ? call(token) : name(token);
  }

  NodePointer call(const Token& function) {
    if (function.text != "min" && function.text != "max") {
      throw complain_(function.offset,
                      "unknown function '" + std::string(function.text) + "'; known: max, min");
    }
    std::vector<NodePointer> operands;
    do {
      take();  // the bracket or the comma
      operands.push_back(either());
    } while (is_sign(","));
    close();
    return make(function.text == "min" ? Operator::smallest : Operator::largest, function.offset,
                std::move(operands));
  }

  NodePointer name(const Token& token) {
    if (token.text.back() == '.' || token.text.find("..") != std::string_view::npos) {
      throw complain_(token.offset, "'" + std::string(token.text) + "' is no name of a key");
    }
    const auto found = std::find_if(names_.begin(), names_.end(),
                                    [&](const auto& known) { return known.text == token.text; });
    auto node = std::make_shared<Expression::Node>();
    node->op = Operator::name;
    node->offset = token.offset;
    node->name = static_cast<std::size_t>(found - names_.begin());
    if (found == names_.end()) {
      names_.push_back({std::string(token.text), token.offset});
    }
    return node;
  }

  void close() {
    if (!is_sign(")")) {
      throw unexpected("')'");
    }
    take();
  }

  Lexer lexer_;
  std::vector<Expression::Name>& names_;
  const Complain& complain_;
  Token token_;
  int levels_ = 0;
};

}  // namespace

NodePointer parse_expression(std::string_view text, std::vector<Expression::Name>& names,
                             const Complain& complain) {
  return Parser(text, names, complain).parse();
}

}  // namespace tessera::explore
