// Files of requests that are tables: a head with names of columns, and a request a line.
#include <algorithm>
#include <map>
#include <optional>

#include "requests/trace/log_line.hpp"
#include "requests/trace/rows.hpp"
#include "tessera/config/document.hpp"
#include "tessera/serving/request_class.hpp"
#include "tessera/serving/trace_time.hpp"

namespace tessera::serving {
namespace {

struct Columns {
  const char* format;
  const char* time;
  bool is_date;  // else seconds
  const char* prompt;
  const char* generate;
};

// Each is known by its columns, whatever stands beside them and in which order.
constexpr Columns known[] = {
    {"azure", "TIMESTAMP", true, "ContextTokens", "GeneratedTokens"},
    {"burstgpt", "Timestamp", false, "Request tokens", "Response tokens"},
    {"vllm", "arrival_s", false, "input_tokens", "output_tokens"},
};

// Fields of a line (RFC 4180), without white space around them; a text in quotes stays on its line.
class Fields {
 public:
  void read(const TextReader& text, const std::string& line, int number) {
    fields_.clear();
    std::size_t at = 0;
    while (true) {
      while (at < line.size() && line[at] == ' ') {
        ++at;
      }
      at = at < line.size() && line[at] == '"' ? read_quoted(text, line, number, at)
                                               : read_plain(line, number, at);
      if (at == line.size()) {
        return;
      }
      ++at;  // the comma
    }
  }
  std::size_t size() const { return fields_.size(); }
  const TraceField& operator[](std::size_t place) const { return fields_[place]; }
  // Of a name in a head; none: it is not there.
  std::optional<std::size_t> find(std::string_view name) const { return find(name, 0); }
  // Complains of a column that is there twice.
  void need_once(const TextReader& text, std::string_view name) const {
    const auto first = find(name);
    if (const auto again = first ? find(name, *first + 1) : std::nullopt) {
      throw text.error_at(fields_[*again].line, fields_[*again].column,
                          "a column " + quoted(name) + " is there already");
    }
  }

 private:
  std::optional<std::size_t> find(std::string_view name, std::size_t from) const {
    const auto found =
        std::find_if(fields_.begin() + static_cast<std::ptrdiff_t>(from), fields_.end(),
                     [&](const TraceField& field) { return field.text == name; });
    return found == fields_.end()
               ? std::nullopt
               : std::optional(static_cast<std::size_t>(found - fields_.begin()));
  }
  std::size_t read_plain(const std::string& line, int number, std::size_t at) {
    const std::size_t end = std::min(line.find(',', at), line.size());
    std::string_view field = std::string_view(line).substr(at, end - at);
    while (!field.empty() && (field.back() == ' ' || field.back() == '\t')) {
      field.remove_suffix(1);
    }
    fields_.push_back({field, number, static_cast<int>(at) + 1});
    return end;
  }
  std::size_t read_quoted(const TextReader& text, const std::string& line, int number,
                          std::size_t at) {
    const std::size_t begin = at + 1;
    std::size_t end = line.find('"', begin);
    while (end != std::string::npos && end + 1 < line.size() && line[end + 1] == '"') {
      end = line.find('"', end + 2);
    }
    if (end == std::string::npos) {
      throw text.error_at(number, static_cast<int>(at) + 1, "a quote that nothing ends");
    }
    fields_.push_back(
        {std::string_view(line).substr(begin, end - begin), number, static_cast<int>(at) + 1});
    const std::size_t comma = line.find_first_not_of(' ', end + 1);
    if (comma != std::string::npos && line[comma] != ',') {
      throw text.error_at(number, static_cast<int>(comma) + 1, "expected a comma behind a quote");
    }
    return std::min(comma, line.size());
  }

  std::vector<TraceField> fields_;
};

// Calls `visit` for each line behind the head, which has as many fields.
template <class Visit>
void visit_lines(TextReader& text, const TraceRows& rows, std::size_t columns, Visit visit) {
  std::string line;
  Fields fields;
  while (!rows.is_full()) {
    const int number = text.line();
    if (!text.next_line(line)) {
      return;
    }
    if (line.empty() || line.front() == '#') {
      continue;
    }
    fields.read(text, line, number);
    if (fields.size() != columns) {
      throw text.error_at(number, 1,
                          "expected " + std::to_string(columns) + " fields as in the head, not " +
                              std::to_string(fields.size()));
    }
    visit(fields);
  }
}

// A log of a service: times from the first request on.
void read_log(TextReader& text, TraceRows& rows, const Columns& columns, const Fields& head) {
  const std::size_t time = *head.find(columns.time);
  const std::size_t prompt = *head.find(columns.prompt);
  const std::size_t generate = *head.find(columns.generate);
  std::optional<std::int64_t> first_second;
  visit_lines(text, rows, head.size(), [&](const Fields& fields) {
    Request request;
    if (columns.is_date) {
      const auto date = date_time_from(fields[time].text);
      if (!date) {
        throw rows.error(fields[time], "expected a time such as 2023-11-16 18:15:46.680590, not " +
                                           quoted(fields[time].text));
      }
      // Dates before the first one by up to a day: logs are nearly in order.
      constexpr std::int64_t before = 86'400;
      first_second = first_second.value_or(date->seconds - before);
      const std::int64_t since = date->seconds - *first_second;
      constexpr std::int64_t most = 9'000'000;
      if (since < 0 || since > most) {
        throw rows.error(fields[time], "more than 100 days behind, or a day before, the first");
      }
      request.arrival = SimTime::from_ps(since * 1'000'000'000'000 + date->ps);
    } else {
      const auto arrival = rows.time_of_log(fields[time]);
      if (!arrival) {
        return;
      }
      request.arrival = *arrival;
    }
    request.prompt = rows.tokens(fields[prompt], columns.prompt, 0);
    request.generate = rows.tokens(fields[generate], columns.generate, 0);
    rows.add_logged(fields[prompt], request);
  });
  rows.finish(true);
}

constexpr std::string_view own_columns[] = {
    "at", "at [s]", "prompt", "generate", "prefix", "prefix_tokens", "samples", "class", "adapter"};

// Our own: keys of a list, times as they stand there.
class OwnTable {
 public:
  OwnTable(TextReader& text, TraceRows& rows, const Fields& head) : text_(text), rows_(rows) {
    for (const std::string_view name : own_columns) {
      head.need_once(text, name);
      if (const auto place = head.find(name)) {
        places_[name] = *place;
      }
    }
    for (std::size_t place = 0; place < head.size(); ++place) {
      if (!places_.contains(head[place].text)) {
        throw rows.error(head[place], "unknown column " + quoted(head[place].text));
      }
    }
    if (places_.contains("at") && places_.contains("at [s]")) {
      throw rows.error(head[std::max(places_["at"], places_["at [s]"])],
                       "'at' and 'at [s]' are both times of arrival; one is needed");
    }
    note_columns_of_others();
  }

  void read(std::size_t columns) {
    visit_lines(text_, rows_, columns, [this](const Fields& fields) {
      Request request;
      request.arrival = time(fields);
      if (!rows_.options().of_language) {
        request.samples = number(fields, "samples", 1, 65'536).value_or(1);
        rows_.add(fields[0], request);
        return;
      }
      request.prompt = number(fields, "prompt", 1).value_or(0);
      request.generate = number(fields, "generate", 1).value_or(0);
      read_prefix(fields, request);
      read_class(fields, request);
      read_adapter(fields, request);
      rows_.add(*field(fields, "prompt"), request);
    });
    rows_.finish(false);
  }

 private:
  // Of models of the other kind.
  void note_columns_of_others() {
    const bool of_language = rows_.options().of_language;
    for (const auto& [name, place] : places_) {
      if (name != "at" && name != "at [s]" && (name == "samples") == of_language) {
        rows_.trace().notes.push_back(text_.path() + ": the column '" + std::string(name) +
                                      "' has no effect with a model that is " +
                                      (of_language ? "a language model" : "not a language model"));
      }
    }
  }
  const TraceField* field(const Fields& fields, std::string_view name) const {
    const auto place = places_.find(name);
    return place == places_.end() || fields[place->second].text.empty() ? nullptr
                                                                        : &fields[place->second];
  }
  std::optional<std::uint32_t> number(const Fields& fields, std::string_view name,
                                      std::uint32_t least, std::uint32_t most = 524'287) const {
    const TraceField* const one = field(fields, name);
    if (one == nullptr) {
      const bool is_needed = name != "samples";
      if (is_needed) {
        throw rows_.error(fields[0], "no " + std::string(name) + " on this line");
      }
      return std::nullopt;
    }
    rows_.whole(*one, name, most);
    return rows_.tokens(*one, name, least);
  }
  SimTime time(const Fields& fields) const {
    if (const TraceField* const seconds = field(fields, "at [s]")) {
      return rows_.time(*seconds, 1);
    }
    const TraceField* const at = field(fields, "at");
    if (at == nullptr) {
      throw rows_.error(fields[0], "no arrival on this line");
    }
    // "1.5 ms", rounded as all others.
    std::string_view digits = at->text;
    const auto parts = take_unit(digits);
    if (!parts) {
      throw rows_.error(*at, "a time needs its unit, e.g. '12 ms', or the column 'at [s]'");
    }
    return rows_.time({digits, at->line, at->column}, *parts);
  }
  void read_prefix(const Fields& fields, Request& request) {
    const TraceField* const name = field(fields, "prefix");
    if (name == nullptr) {
      if (const TraceField* const tokens = field(fields, "prefix_tokens")) {
        throw rows_.error(*tokens, "prefix_tokens: no prefix on this line");
      }
      return;
    }
    request.prefix = prefixes_.emplace(name->text, static_cast<std::uint32_t>(prefixes_.size() + 1))
                         .first->second;
    request.prefix_tokens = number(fields, "prefix_tokens", 1).value_or(1);
    if (request.prefix_tokens > request.prompt) {
      throw rows_.error(*field(fields, "prefix_tokens"), "prefix_tokens: more than the prompt has");
    }
  }

  void read_adapter(const Fields& fields, Request& request) const {
    if (const TraceField* const one = field(fields, "adapter")) {
      request.adapter =
          static_cast<std::uint32_t>(rows_.whole(*one, "adapter", rows_.options().adapters));
      if (request.adapter == 0) {
        throw rows_.error(*one, "adapter: must be at least 1; an empty field draws one");
      }
    }
  }
  void read_class(const Fields& fields, Request& request) const {
    const TraceField* const name = field(fields, "class");
    if (name == nullptr) {
      return;
    }
    request.of_class = class_number(rows_.options().classes, std::string(name->text));
    if (request.of_class == 0) {
      throw rows_.error(*name, "class: " + quoted(name->text) + " is none of the tenant's classes");
    }
  }

  TextReader& text_;
  TraceRows& rows_;
  std::map<std::string_view, std::size_t> places_;
  std::map<std::string, std::uint32_t> prefixes_;
};

void read_own(TextReader& text, TraceRows& rows, const Fields& head) {
  OwnTable(text, rows, head).read(head.size());
}

bool has_columns(const Fields& head, const Columns& columns) {
  return head.find(columns.time) && head.find(columns.prompt) && head.find(columns.generate);
}

}  // namespace

void read_csv(TextReader& text, TraceRows& rows) {
  std::string line;
  int number = text.line();
  bool is_there = text.next_line(line);
  while (is_there && (line.empty() || line.front() == '#')) {
    number = text.line();
    is_there = text.next_line(line);
  }
  Fields head;
  head.read(text, line, number);
  const std::string& format = rows.options().format;
  for (const Columns& columns : known) {
    if (format.empty() ? has_columns(head, columns) : format == columns.format) {
      for (const char* const name : {columns.time, columns.prompt, columns.generate}) {
        if (!head.find(name)) {
          throw text.error_at(number, 1, std::string("no column '") + name + "'");
        }
        head.need_once(text, name);
      }
      if (!rows.options().of_language) {
        throw text.error_at(number, 1,
                            "requests with prompts, of a model that is no language model");
      }
      read_log(text, rows, columns, head);
      return;
    }
  }
  const bool is_own = head.find("at").has_value() || head.find("at [s]").has_value();
  if (format.empty() ? is_own : format == "tessera") {
    if (!is_own) {
      throw text.error_at(number, 1, "no column 'at [s]'");
    }
    read_own(text, rows, head);
    return;
  }
  if (format.empty() && parse_log_line(text, line, number).has_stamp) {
    read_server_log(text, rows, line, number);
    return;
  }
  throw text.error_at(
      number, 1,
      format.empty()
          ? "the columns are of no known format (azure: TIMESTAMP,ContextTokens,GeneratedTokens; "
            "burstgpt: Timestamp,Request tokens,Response tokens; vllm: "
            "arrival_s,input_tokens,output_tokens; tessera: at [s],prompt,generate), and a log of "
            "vLLM that begins otherwise needs 'format: vllm-log'"
          : "a file of the format '" + format + "' has an object a line, or a list of them");
}

}  // namespace tessera::serving
