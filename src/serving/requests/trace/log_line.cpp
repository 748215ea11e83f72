#include "requests/trace/log_line.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace tessera::serving {
namespace {

bool is_decimal(char letter) {
  return letter >= '0' && letter <= '9';
}

// Goes through a line from left to right.
class Parser {
 public:
  Parser(const TextReader& text, std::string_view line, int number)
      : text_(text), line_(line), number_(number) {}

  LogLine parse() {
    LogLine made;
    if (!take_stamp(made)) {
      return made;
    }
    made.has_stamp = true;
    take_file();
    made.column = column();
    made.kind = take_kind();
    using Kind = LogLine::Kind;
    if (made.kind == Kind::other || made.kind == Kind::throughput) {
      return made;
    }
    take_id(made);
    if (made.kind == Kind::received) {
      take_request(made);
    } else if (made.kind == Kind::details) {
      take_text(made.text, "prompt: ", "prompt_token_ids: ");
    } else if (made.kind == Kind::generated) {
      take_text(made.text, "output: ", "output_token_ids: ");
    }
    return made;
  }

 private:
  std::string_view rest() const { return line_.substr(at_); }
  int column() const { return static_cast<int>(at_) + 1; }
  bool take(std::string_view word) {
    if (!rest().starts_with(word)) {
      return false;
    }
    at_ += word.size();
    return true;
  }
  bool go_behind(std::string_view word) {
    const std::size_t found = line_.find(word, at_);
    if (found == std::string_view::npos) {
      return false;
    }
    at_ = found + word.size();
    return true;
  }
  ConfigError error(const std::string& message) const {
    return text_.error_at(number_, column(), message);
  }
  std::optional<int> two_digits(std::string_view text, std::size_t place) const {
    if (place + 2 > text.size() || !is_decimal(text[place]) || !is_decimal(text[place + 1])) {
      return std::nullopt;
    }
    return (text[place] - '0') * 10 + (text[place + 1] - '0');
  }

  // Level and time; false: there are none.
  bool take_stamp(LogLine& made) {
    constexpr std::size_t longest_head = 256;
    constexpr std::array<std::string_view, 4> levels{"INFO ", "DEBUG ", "WARNING ", "ERROR "};
    const std::string_view head = line_.substr(0, longest_head);
    std::size_t stamp = std::string_view::npos;
    for (const std::string_view level : levels) {
      const std::size_t found = head.find(level);
      if (found != std::string_view::npos) {
        stamp = std::min(stamp, found + level.size());
      }
    }
    if (stamp == std::string_view::npos) {
      return false;
    }
    stamp += length_of_colours(line_.substr(stamp));
    if (!take_time(made, line_.substr(stamp), stamp)) {
      return false;
    }
    // Whoever kept the log may have put a time of its own before each line.
    const std::string_view first = head.substr(0, head.find(' '));
    if (const auto date = date_time_from(first)) {
      made.time = *date;
      made.has_year = true;
    }
    return true;
  }

  // Of codes of colours, "[0m" without the character before, and of blanks among them.
  static std::size_t length_of_colours(std::string_view text) {
    std::size_t at = std::min(text.find_first_not_of(' '), text.size());
    while (at < text.size() && text[at] == '[') {
      const std::size_t end = text.find_first_not_of("0123456789;", at + 1);
      if (end == std::string_view::npos || text[end] != 'm') {
        break;
      }
      at = std::min(text.find_first_not_of(' ', end + 1), text.size());
    }
    return at;
  }

  // "10-01 18:43:27", as seconds of the day; a fraction may stand behind.
  bool take_time(LogLine& made, std::string_view text, std::size_t place) {
    const auto month = two_digits(text, 0);
    const auto day = two_digits(text, 3);
    constexpr std::size_t of_clock = 6;
    const std::size_t end =
        std::min(text.find_first_not_of("0123456789:.,", of_clock), text.size());
    if (!month || !day || text.size() < of_clock + 8 || text[2] != '-' || text[5] != ' ') {
      return false;
    }
    std::string clock = "2000-01-01 " + std::string(text.substr(of_clock, end - of_clock));
    std::replace(clock.begin(), clock.end(), ',', '.');
    const auto time = date_time_from(clock);
    const auto midnight = date_time_from("2000-01-01 00:00:00");
    if (!time || *month < 1 || *month > 12 || *day < 1 || *day > 31) {
      return false;
    }
    made.time = {time->seconds - midnight->seconds, time->ps};
    made.month = *month;
    made.day = *day;
    at_ = place + end;
    return true;
  }

  // "[logger.py:36] " or "async_llm_engine.py:433] ".
  void take_file() {
    constexpr std::size_t longest = 120;
    const std::size_t bracket = line_.substr(0, at_ + longest).find("] ", at_);
    at_ = bracket == std::string_view::npos ? at_ : bracket + 2;
    while (at_ < line_.size() && line_[at_] == ' ') {
      ++at_;
    }
  }

  LogLine::Kind take_kind() {
    using Kind = LogLine::Kind;
    constexpr std::array<std::pair<std::string_view, Kind>, 6> kinds{
        {{"Received request ", Kind::received},
         {"Generated response ", Kind::generated},
         {"Finished request ", Kind::finished},
         {"Aborted request ", Kind::aborted},
         {"Added request ", Kind::added},
         {"Avg prompt throughput: ", Kind::throughput}}};
    for (const auto& [word, kind] : kinds) {
      if (take(word)) {
        return kind;
      }
    }
    if (rest().starts_with("Engine ") && rest().find("Avg prompt throughput: ") < 20) {
      return Kind::throughput;
    }
    constexpr std::string_view request = "Request ";
    const std::size_t blank = rest().starts_with(request) ? line_.find(' ', at_ + request.size())
                                                          : std::string_view::npos;
    const std::string_view behind = blank == std::string_view::npos ? "" : line_.substr(blank);
    if (behind.starts_with(" details: ") || behind == " aborted.") {
      at_ += request.size();
      return behind == " aborted." ? Kind::aborted : Kind::details;
    }
    return Kind::other;
  }

  void take_id(LogLine& made) {
    const std::size_t end = std::min(line_.find_first_of(" :", at_), line_.size());
    made.id = line_.substr(at_, end - at_);
    at_ = end;
    if (made.kind == LogLine::Kind::generated) {
      made.is_part = take(" (streaming delta)");
      if (!made.is_part) {
        take(" (streaming complete)");
      }
    }
    if (made.kind == LogLine::Kind::details || made.kind == LogLine::Kind::generated) {
      take(" details");
    }
    if (made.kind == LogLine::Kind::finished || made.kind == LogLine::Kind::aborted ||
        made.kind == LogLine::Kind::added) {
      while (made.id.ends_with('.')) {
        made.id.remove_suffix(1);
      }
      return;
    }
    if (made.id.empty() || !take(": ")) {
      throw error("expected a request's name and ':'");
    }
  }

  // `text: '…'`, and the ids behind it; either may be missing.
  void take_text(LoggedText& made, std::string_view text, std::string_view ids) {
    made.column = column();
    if (take(text)) {
      take_characters(made);
    }
    take_ids(made, ids);
  }
  void take_characters(LoggedText& made) {
    made.column = column();
    if (take("None")) {
      return;
    }
    constexpr std::string_view complete = "'<streaming_complete: ";
    if (rest().starts_with(complete)) {
      at_ += complete.size();
      made.tokens = take_number();
      at_ = std::min(line_.find('\'', at_), line_.size());
    } else {
      made.characters = take_quoted();
    }
  }
  void take_ids(LoggedText& made, std::string_view ids) {
    if (!go_behind(ids)) {
      return;
    }
    if (rest().starts_with('[')) {
      made.column = column();
      const std::uint64_t count = count_ids();
      made.tokens = count > 0 ? std::optional(count) : made.tokens;
    }
  }

  void take_request(LogLine& made) {
    made.text.column = column();
    if (take("prompt: ")) {
      take_characters(made.text);
    }
    constexpr std::string_view params = "params: ";
    const std::size_t found = line_.find(params, at_);
    if (found != std::string_view::npos &&
        line_.substr(found + params.size()).starts_with("PoolingParams(")) {
      made.is_pooled = true;
    } else if (go_behind("SamplingParams(")) {
      if (take("n=")) {
        made.answers = take_parameter("n").value_or(1);
      }
      // Behind texts that end an answer, which may be anything.
      const std::size_t stops = line_.find("include_stop_str_in_output=", at_);
      at_ = stops == std::string_view::npos ? at_ : stops;
      if (go_behind("max_tokens=")) {
        made.most_tokens = take_parameter("max_tokens");
      }
    } else {
      throw error("a request without its parameters (SamplingParams)");
    }
    take_ids(made.text, "prompt_token_ids: ");
  }

  // A whole number or None, and nothing else before the next one.
  std::optional<std::uint64_t> take_parameter(const std::string& name) {
    const std::size_t begin = at_;
    const auto number = take("None") ? std::nullopt : take_number();
    if (at_ == begin || (at_ < line_.size() && line_[at_] != ',' && line_[at_] != ')')) {
      at_ = begin;
      throw error(name + ": expected a whole number, or None");
    }
    return number;
  }

  std::optional<std::uint64_t> take_number() {
    std::uint64_t value = 0;
    const char* const begin = line_.data() + at_;
    const auto read = std::from_chars(begin, line_.data() + line_.size(), value);
    if (read.ec != std::errc()) {
      return std::nullopt;
    }
    at_ += static_cast<std::size_t>(read.ptr - begin);
    return value;
  }

  // Code points of a text as Python writes it: escapes stand for one.
  std::uint64_t take_quoted() {
    const char quote = at_ < line_.size() ? line_[at_] : ' ';
    if (quote != '\'' && quote != '"') {
      throw error("expected a text in quotes, or None");
    }
    std::uint64_t count = 0;
    for (std::size_t at = at_ + 1; at < line_.size(); ++at) {
      const char letter = line_[at];
      if (letter == quote) {
        at_ = at + 1;
        return count;
      }
      if (letter == '\\' && at + 1 < line_.size()) {
        ++at;
        at += line_[at] == 'x' ? 2 : line_[at] == 'u' ? 4 : line_[at] == 'U' ? 8 : 0;
      }
      const bool goes_on = (static_cast<unsigned char>(letter) & 0xC0U) == 0x80U;
      count += goes_on ? 0 : 1;
    }
    throw error("a text without a quote at its end");
  }

  std::uint64_t count_ids() {
    const std::size_t end = line_.find(']', at_);
    if (end == std::string_view::npos) {
      throw error("a list of tokens without ']' at its end");
    }
    std::uint64_t count = 0;
    for (std::size_t at = at_ + 1; at < end; ++at) {
      const char letter = line_[at];
      if (!is_decimal(letter) && letter != ',' && letter != ' ' && letter != '-') {
        at_ = at;
        throw error("expected numbers of tokens, or ']'");
      }
      count += is_decimal(letter) && !is_decimal(line_[at - 1]) ? 1 : 0;
    }
    at_ = end + 1;
    return count;
  }

  const TextReader& text_;
  std::string_view line_;
  int number_;
  std::size_t at_ = 0;
};

}  // namespace

LogLine parse_log_line(const TextReader& text, std::string_view line, int number) {
  return Parser(text, line, number).parse();
}

}  // namespace tessera::serving
