// Requests of the log of a server (vLLM): each arrives when it was received; its answer is what
// the log has of it, else as long as it may get (max_tokens).
#include <algorithm>
#include <array>
#include <deque>
#include <map>

#include "requests/trace/log_line.hpp"
#include "requests/trace/rows.hpp"

namespace tessera::serving {
namespace {

constexpr std::int64_t of_day = 86'400;  // [s]

// Requests that are over are kept until so many more were received: the server's front end writes
// what was generated after the engine has said that it is done, and each answer of several.
constexpr std::uint64_t held_back = 1024;

// Requests that are waited for at most, where nothing says of any that it is over, and where some
// are: those that came before these have no end in the log.
constexpr std::size_t most_without_ends = 16'384;
constexpr std::size_t most_waiting = 131'072;

// Seconds of dates, also of those without a year, which go on behind December.
class Calendar {
 public:
  std::int64_t seconds(const LogLine& line) {
    if (line.has_year) {
      return line.time.seconds;
    }
    constexpr std::array<int, 12> before{0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
    const bool is_leap_day = line.month == 2 && line.day == 29;
    std::int64_t days = years_ + before.at(static_cast<std::size_t>(line.month) - 1) + line.day;
    days += is_leap_ && line.month > 2 ? 1 : 0;
    is_leap_ = is_leap_ || is_leap_day;
    constexpr std::int64_t most_back = 300;
    if (days < latest_ - most_back) {
      last_year_ = is_leap_ ? 366 : 365;
      years_ += last_year_;
      days += last_year_;
      is_leap_ = false;
    } else if (last_year_ > 0 && days > latest_ + most_back) {
      days -= last_year_;  // a late line of the year before
    }
    latest_ = std::max(latest_, days);
    return days * of_day + line.time.seconds;
  }

 private:
  std::int64_t years_ = 0;
  std::int64_t last_year_ = 0;  // days, 0: there was none
  std::int64_t latest_ = 0;
  bool is_leap_ = false;
};

struct Waiting {
  Request request;
  int line = 0;
  int column = 0;
  std::string id;
  std::optional<std::uint64_t> most_tokens;
  std::optional<std::uint64_t> answer;  // tokens that the log has of it
  std::optional<std::uint64_t> characters;
  bool is_pooled = false;
  bool is_aborted = false;
  std::optional<std::uint64_t> over_at;  // requests received until it was over
};

class ServerLog {
 public:
  ServerLog(TextReader& text, TraceRows& rows) : text_(text), rows_(rows) {}

  void read(std::string line, int number) {
    do {
      take(parse_log_line(text_, line, number), number);
      number = text_.line();
    } while (!rows_.is_full() && text_.next_log_line(line));
    while (!waiting_.empty() && !rows_.is_full()) {
      put_first();
    }
    if (!has_requests_) {
      throw text_.error_at(std::max(1, says_none_line_), 1,
                           "the log has no line 'Received request', which vLLM writes with "
                           "--enable-log-requests; other lines do not say how long requests are");
    }
    if (2 * unknown_ > first_) {
      throw complaint_of_unknown();
    }
    rows_.finish(true);
    add_notes();
  }

 private:
  void take(const LogLine& line, int number) {
    using Kind = LogLine::Kind;
    if (line.kind == Kind::details) {
      details_[std::string(line.id)] = line.text;
    } else if (line.kind == Kind::received) {
      receive(line, number);
    } else if (line.kind == Kind::generated) {
      hear(line);
    } else if (line.kind == Kind::finished || line.kind == Kind::aborted) {
      end(line);
    } else if (line.kind == Kind::added || line.kind == Kind::throughput) {
      says_none_line_ = says_none_line_ == 0 ? number : says_none_line_;
    }
  }

  void receive(const LogLine& line, int number) {
    has_requests_ = true;
    Waiting made;
    made.id = line.id;
    made.line = number;
    made.column = line.column;
    made.request.arrival = arrival(line, number);
    made.request.prompt = prompt(line, number);
    made.most_tokens = line.most_tokens;
    made.is_pooled = line.is_pooled;
    several_ += line.answers > 1 ? 1 : 0;
    places_[made.id] = received();
    waiting_.push_back(std::move(made));
    while (waiting_.size() > (has_ends_ ? most_waiting : most_without_ends) && !rows_.is_full()) {
      put_first();
    }
  }

  SimTime arrival(const LogLine& line, int number) {
    const std::int64_t seconds = calendar_.seconds(line);
    if (!begin_) {
      begin_ = seconds - of_day;  // lines are nearly in order
      has_years_ = line.has_year;
    }
    constexpr std::int64_t most = 9'000'000;
    const std::int64_t since = seconds - *begin_;
    if (line.has_year != has_years_ || since < 0 || since > most) {
      throw text_.error_at(number, 1,
                           line.has_year != has_years_
                               ? "some lines begin with a date, and others do not"
                               : "more than 100 days behind, or a day before, the first request");
    }
    has_fractions_ = has_fractions_ || line.time.ps != 0;
    return SimTime::from_ps(since * 1'000'000'000'000 + line.time.ps);
  }

  std::uint32_t prompt(const LogLine& line, int number) {
    LoggedText text = line.text;
    const auto found = details_.find(std::string(line.id));
    if (found != details_.end()) {
      text = found->second;
      text.column = line.text.column;
      details_.erase(found);
    }
    const TraceField place{{}, number, text.column};
    if (text.tokens) {
      return rows_.counted(place, "prompt_token_ids", *text.tokens);
    }
    if (!text.characters) {
      throw rows_.error(place,
                        "a request without its prompt: neither text nor 'prompt_token_ids' (vLLM "
                        "of 2026 writes them with VLLM_LOGGING_LEVEL=DEBUG alone)");
    }
    return rows_.tokens_of_text(place, *text.characters);
  }

  Waiting* find(std::string_view id) {
    auto found = places_.find(id);
    if (found == places_.end()) {
      found = places_.find(std::string(id) + "-0");  // requests of `completions` have a number
    }
    return found == places_.end() ? nullptr : &waiting_[found->second - first_];
  }

  void hear(const LogLine& line) {
    Waiting* const one = find(line.id);
    if (one == nullptr) {
      return;
    }
    if (line.is_part) {
      one->answer = line.text.tokens ? one->answer.value_or(0) + *line.text.tokens : one->answer;
      return;
    }
    if (line.text.tokens) {
      one->answer = std::max(one->answer.value_or(0), *line.text.tokens);
    } else if (line.text.characters) {
      one->characters = line.text.characters;
    }
    is_over(*one);
  }

  void end(const LogLine& line) {
    Waiting* const one = find(line.id);
    if (one == nullptr) {
      return;
    }
    one->is_aborted = one->is_aborted || line.kind == LogLine::Kind::aborted;
    is_over(*one);
  }

  void is_over(Waiting& one) {
    has_ends_ = true;
    one.over_at = one.over_at.value_or(received());
    while (!waiting_.empty() && waiting_.front().over_at &&
           received() - *waiting_.front().over_at >= held_back && !rows_.is_full()) {
      put_first();
    }
  }

  std::uint64_t received() const { return first_ + waiting_.size(); }

  void put_first() {
    Waiting& one = waiting_.front();
    const auto found = places_.find(one.id);
    if (found != places_.end() && found->second == first_) {
      places_.erase(found);
    }
    add(one);
    waiting_.pop_front();
    ++first_;
  }

  void add(Waiting& one) {
    const TraceField place{{}, one.line, one.column};
    const std::optional<std::uint32_t> generate =
        one.is_pooled ? std::optional<std::uint32_t>(0) : answer(one, place);
    if (!generate) {
      first_unknown_ = unknown_ == 0 ? place : first_unknown_;
      ++unknown_;
      return;
    }
    one.request.generate = *generate;
    aborted_ += one.is_aborted ? 1 : 0;
    rows_.add_logged(place, one.request);
  }

  // None: it is not known.
  std::optional<std::uint32_t> answer(const Waiting& one, const TraceField& place) {
    if (one.answer) {
      return rows_.counted(place, "output_token_ids", *one.answer);
    }
    if (one.characters && rows_.options().characters_per_token > 0) {
      return rows_.tokens_of_text(place, *one.characters);
    }
    if (!one.most_tokens) {
      return std::nullopt;
    }
    ++as_long_as_may_be_;
    return rows_.counted(place, "max_tokens", *one.most_tokens);
  }

  ConfigError complaint_of_unknown() const {
    return rows_.error(first_unknown_,
                       "a request whose answer is not known: the log has neither 'max_tokens' nor "
                       "what was generated (vLLM's --enable-log-outputs); so it is with " +
                           std::to_string(unknown_) + " of " + std::to_string(first_) +
                           " requests");
  }

  void add_note(const std::string& what) {
    rows_.trace().notes.push_back(text_.path() + ": " + what);
  }
  void add_notes() {
    if (as_long_as_may_be_ > 0) {
      add_note("answers of " + std::to_string(as_long_as_may_be_) +
               " requests are not in the log and are as long as 'max_tokens' allows");
    }
    if (unknown_ > 0) {
      add_note(std::to_string(unknown_) +
               " requests are left out, as the log has neither 'max_tokens' nor their answers");
    }
    if (aborted_ > 0) {
      add_note(std::to_string(aborted_) + " requests were aborted and are served to completion");
    }
    if (several_ > 0) {
      add_note(std::to_string(several_) + " requests for several answers (n) get only one");
    }
    if (!has_fractions_) {
      add_note("times are whole seconds: requests of the same second arrive together");
    }
  }

  TextReader& text_;
  TraceRows& rows_;
  Calendar calendar_;
  std::optional<std::int64_t> begin_;
  bool has_years_ = false;
  bool has_fractions_ = false;
  bool has_requests_ = false;
  bool has_ends_ = false;
  int says_none_line_ = 0;
  std::deque<Waiting> waiting_;
  std::uint64_t first_ = 0;  // of waiting_, among all
  std::map<std::string, std::uint64_t, std::less<>> places_;
  std::map<std::string, LoggedText, std::less<>> details_;
  std::uint64_t as_long_as_may_be_ = 0;
  std::uint64_t unknown_ = 0;
  TraceField first_unknown_;
  std::uint64_t several_ = 0;
  std::uint64_t aborted_ = 0;
};

}  // namespace

void read_server_log(TextReader& text, TraceRows& rows, const std::string& first_line, int number) {
  if (!rows.options().of_language) {
    throw text.error_at(number, 1, "requests with prompts, of a model that is no language model");
  }
  ServerLog(text, rows).read(first_line, number);
}

}  // namespace tessera::serving
