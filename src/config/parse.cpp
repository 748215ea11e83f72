#include "parse.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <sstream>
#include <unordered_map>
#include <utility>

#include "check_text.hpp"
#include "tessera/config/name.hpp"

namespace tessera::config {
namespace {

constexpr std::size_t most_levels = 64;
constexpr std::size_t most_values = 1'000'000;
constexpr std::size_t most_diagnostics = 100;
constexpr std::size_t longest_key = 256;

// Thrown by the handler to leave yaml-cpp, after the diagnostic is recorded. As the parser calls
// the handler before it goes a level down, this also bounds the parser's own recursion.
struct Stop {};

// Builds a Value from the parser's events. Events are used rather than YAML::Load because a loaded
// node has lost the marks of keys and all but the first of duplicate keys.
class Builder : public YAML::EventHandler {
 public:
  Builder(const Origin& origin, Diagnostics& diagnostics)
      : origin_(origin), diagnostics_(diagnostics) {}

  Value take_root() { return std::move(root_); }
  bool failed() const { return count_of_errors_ > 0; }

  Place place(const YAML::Mark& mark) const {
    const int offset = mark.line == 0 ? origin_.column_offset : 0;
    return {origin_.file, std::max(mark.line, 0) + 1, std::max(mark.column, 0) + offset + 1};
  }

  void refuse(const Place& where, const std::string& path, const std::string& message) {
    diagnostics_.error(where, path.empty() ? message : path + ": " + message);
    if (++count_of_errors_ >= most_diagnostics) {
      diagnostics_.error(where, "too many errors");
      throw Stop{};
    }
  }

  // "; the list starts at line 3, column 5" when a flow collection is open.
  std::string innermost_start() const {
    if (open_.empty()) {
      return "";
    }
    const Value& value = open_.back().value;
    return std::string("; the ") + (value.kind == Value::Kind::sequence ? "list" : "mapping") +
           " starts at line " + std::to_string(value.place.line) + ", column " +
           std::to_string(value.place.column);
  }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++count_of_documents_ > 1) {
      refuse(place(mark), origin_.path, "only one document is allowed; it ended before this");
      throw Stop{};
    }
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    refuse_anchor(mark, anchor);
    Value value;
    value.place = place(mark);
    add(std::move(value));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override { OnNull(mark, anchor); }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    refuse_anchor(mark, anchor);
    refuse_tag(mark, tag);
    Value value;
    value.kind = Value::Kind::scalar;
    value.place = place(mark);
    value.text = with_whole_characters(text);
    refuse_controls(value);
    value.quoted = tag == "!";
    add(std::move(value));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(Value::Kind::sequence, mark, tag, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(Value::Kind::mapping, mark, tag, anchor);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Key {
    std::string text;
    Place place;
    bool good;
  };
  // A collection whose end was not seen yet.
  struct Open {
    Value value;
    std::optional<Key> key;                     // whose value comes next
    std::unordered_map<std::string, int> seen;  // line of each key
  };

  void refuse_anchor(const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (anchor != YAML::NullAnchor) {
      refuse(place(mark), path(), "anchors and aliases are not supported");
    }
  }

  // "?" and "!" are yaml-cpp's own marks of plain and quoted text; "" a value without text.
  void refuse_tag(const YAML::Mark& mark, const std::string& tag) {
    if (!tag.empty() && tag != "?" && tag != "!") {
      refuse(place(mark), path(), "tags are not supported");
    }
  }

  // Escapes of double quotes can make any character. None of these means anything here, a NUL would
  // end a path for the system, and a terminal that shows them obeys.
  void refuse_controls(const Value& value) {
    for (std::size_t at = find_control(value.text); at != std::string::npos;) {
      const char found = value.text[at];
      if (found != '\t' && found != '\n' && found != '\r') {
        refuse(value.place, path(), "a control character; a text may hold none");
        return;
      }
      const std::size_t next = find_control(std::string_view(value.text).substr(at + 1));
      at = next == std::string::npos ? next : at + 1 + next;
    }
  }

  void open(Value::Kind kind, const YAML::Mark& mark, const std::string& tag,
            YAML::anchor_t anchor) {
    refuse_anchor(mark, anchor);
    refuse_tag(mark, tag);
    if (open_.size() >= most_levels) {
      refuse(place(mark), origin_.path, "more than " + std::to_string(most_levels) + " levels");
      throw Stop{};
    }
    Open collection;
    collection.value.kind = kind;
    collection.value.place = place(mark);
    open_.push_back(std::move(collection));
  }

  void close() {
    Value value = std::move(open_.back().value);
    open_.pop_back();
    add(std::move(value));
  }

  void add(Value value) {
    if (++count_of_values_ > most_values) {
      refuse(value.place, origin_.path,
             "too big for a configuration: more than " + std::to_string(most_values) + " values");
      throw Stop{};
    }
    if (open_.empty()) {
      root_ = std::move(value);
      return;
    }
    Open& parent = open_.back();
    if (parent.value.kind == Value::Kind::sequence) {
      parent.value.items.push_back(std::move(value));
      return;
    }
    if (!parent.key) {
      add_key(parent, value);
      return;
    }
    Key key = std::move(*parent.key);
    parent.key.reset();
    if (value.kind == Value::Kind::null) {
      // The mark of a value that is not there is the next token's, possibly lines below.
      value.place = key.place;
    }
    if (key.good) {
      parent.value.members.push_back({std::move(key.text), std::move(key.place), std::move(value)});
    }
  }

  void add_key(Open& parent, const Value& key) {
    const std::string problem = problem_of_key(key);
    if (!problem.empty()) {
      refuse(key.place, path(), problem);
      parent.key = Key{"", key.place, false};
      return;
    }
    const auto [first, is_new] = parent.seen.emplace(key.text, key.place.line);
    parent.key = Key{key.text, key.place, is_new};
    if (!is_new) {
      refuse(key.place, path(),
             "duplicate key; first given at line " + std::to_string(first->second));
    }
  }

  static std::string problem_of_key(const Value& key) {
    if (key.kind == Value::Kind::null) {
      return "a key is missing, or reads as null; put it in quotes";
    }
    if (key.kind != Value::Kind::scalar) {
      return "a key must be plain text, not a list or mapping";
    }
    if (key.text.empty()) {
      return "a key must not be empty";
    }
    if (key.text.size() > longest_key) {
      return "a key has at most " + std::to_string(longest_key) + " bytes";
    }
    return find_control(key.text) != std::string::npos ? "a key must not contain control characters"
                                                       : "";
  }

  // Of the value that comes next, as in "machine.links[2].rate".
  std::string path() const {
    std::string result = origin_.path;
    for (const Open& level : open_) {
      if (level.value.kind == Value::Kind::sequence) {
        result += "[" + std::to_string(level.value.items.size()) + "]";
      } else if (level.key && !level.key->text.empty()) {
        result += (result.empty() ? "" : ".") + level.key->text;
      }
    }
    return result;
  }

  const Origin& origin_;
  Diagnostics& diagnostics_;
  Value root_;
  std::vector<Open> open_;
  std::size_t count_of_values_ = 0;
  std::size_t count_of_errors_ = 0;
  int count_of_documents_ = 0;
};

// Whether the line of `mark` begins with a tab, maybe after spaces.
bool tab_indents(const std::string& text, const YAML::Mark& mark) {
  const std::string_view body = without_byte_order_mark(text);
  const std::size_t at = std::min(static_cast<std::size_t>(std::max(mark.pos, 0)), body.size());
  const std::size_t start = at == 0 ? 0 : body.rfind('\n', at - 1) + 1;  // npos + 1 is 0
  const std::size_t first = body.find_first_not_of(' ', start);
  return first < body.size() && body[first] == '\t';
}

// yaml-cpp's message, or a plainer one for the mistakes people make.
std::string reason(const YAML::ParserException& error, const std::string& text,
                   const Builder& builder) {
  if (tab_indents(text, error.mark)) {
    return "a tab cannot indent; use spaces";
  }
  if (error.msg == YAML::ErrorMsg::END_OF_MAP || error.msg == YAML::ErrorMsg::END_OF_SEQ) {
    return "the indentation fits no line above";
  }
  if (error.msg == YAML::ErrorMsg::FLOW_END) {
    return "a closing bracket without its opening one";
  }
  if (error.msg == YAML::ErrorMsg::MAP_VALUE) {
    return "no ':' can stand here; put text that contains one in quotes";
  }
  if (error.msg == YAML::ErrorMsg::END_OF_SEQ_FLOW) {
    return "expected ',' or ']'" + builder.innermost_start();
  }
  if (error.msg == YAML::ErrorMsg::END_OF_MAP_FLOW) {
    return "expected ',' or '}'" + builder.innermost_start();
  }
  if (error.msg == YAML::ErrorMsg::EOF_IN_SCALAR) {
    return "a quote is never closed";
  }
  return error.msg;
}

// For what yaml-cpp finds missing only at the end of the text, the place after the last visible
// character rather than on the line that was added.
Place place_of(const YAML::ParserException& error, const std::string& text, const Origin& origin,
               const Builder& builder) {
  if (error.mark.pos < static_cast<int>(without_byte_order_mark(text).size())) {
    return builder.place(error.mark);
  }
  const std::size_t last = text.find_last_not_of(" \t\r\n");
  Place place = place_at(origin.file, text, last == std::string::npos ? 0 : last + 1);
  place.column += place.line == 1 ? origin.column_offset : 0;
  return place;
}

void feed(const std::string& text, Builder& builder) {
  // yaml-cpp 0.7 takes a quote that is open at the end of the last line for closed; an empty
  // comment behind it makes that an error and changes nothing else.
  std::istringstream stream(text + "\n#");
  YAML::Parser parser(stream);
  if (parser.HandleNextDocument(builder)) {
    // A second document ends in Stop, so that this never goes on.
    parser.HandleNextDocument(builder);
  }
}

}  // namespace

Value parse_at(const Origin& origin, const std::string& text, Diagnostics& diagnostics) {
  Value nothing;
  nothing.place = {origin.file, 1, origin.column_offset + 1};
  if (!check_text(origin.file, text, diagnostics)) {
    return nothing;
  }
  Builder builder(origin, diagnostics);
  try {
    feed(text, builder);
  } catch (const YAML::ParserException& error) {
    const std::string prefix = origin.path.empty() ? "" : origin.path + ": ";
    diagnostics.error(place_of(error, text, origin, builder),
                      prefix + "not valid YAML: " + reason(error, text, builder));
    return nothing;
  } catch (const Stop&) {
    return nothing;
  }
  if (builder.failed()) {
    return nothing;
  }
  Value root = builder.take_root();
  return root.kind == Value::Kind::null ? nothing : root;
}

Value parse(const std::string& file_name, const std::string& text, Diagnostics& diagnostics) {
  return parse_at({file_name, "", 0}, text, diagnostics);
}

}  // namespace tessera::config
