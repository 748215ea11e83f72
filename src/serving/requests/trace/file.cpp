#include "requests/trace/file.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <sstream>

#include "requests/trace/rows.hpp"
#include "tessera/serving/language_model.hpp"
#include "tessera/serving/trace_time.hpp"

namespace tessera::serving {

std::vector<std::string> trace_formats() {
  return {"azure", "burstgpt", "mooncake", "sharegpt", "vllm", "vllm-bench", "vllm-log", "tessera"};
}

std::string quoted(std::string_view text) {
  constexpr std::size_t most = 40;
  return "'" + std::string(text.substr(0, most)) + (text.size() > most ? "…'" : "'");
}

namespace {

void keep_first(TraceField& first, const TraceField& place) {
  if (first.line == 0) {
    first = {{}, place.line, place.column};
  }
}

}  // namespace

TraceRows::TraceRows(const TextReader& text, const TraceOptions& options, Trace& trace)
    : text_(text), options_(options), trace_(trace), limit_(options.limit) {}

std::uint64_t TraceRows::whole(const TraceField& field, std::string_view name,
                               std::uint64_t most) const {
  std::uint64_t value = 0;
  const char* const end = field.text.data() + field.text.size();
  const std::from_chars_result read = std::from_chars(field.text.data(), end, value);
  // Tables that were written as floating numbers have ".0" behind whole ones.
  const std::string_view rest(read.ptr, static_cast<std::size_t>(end - read.ptr));
  if (read.ec == std::errc::invalid_argument || (!rest.empty() && rest != ".0")) {
    throw error(field, std::string(name) + ": " + quoted(field.text) + " is no whole number");
  }
  if (read.ec != std::errc() || value > most) {
    throw error(field, std::string(name) + ": " + quoted(field.text) + " is more than " +
                           std::to_string(most));
  }
  return value;
}

std::uint32_t TraceRows::tokens(const TraceField& field, std::string_view name,
                                std::uint32_t least) const {
  const auto value = static_cast<std::uint32_t>(whole(field, name, most_keys));
  if (value < least) {
    throw error(field, std::string(name) + ": must be at least " + std::to_string(least));
  }
  return value;
}

std::uint32_t TraceRows::counted(const TraceField& place, std::string_view name,
                                 std::uint64_t count) const {
  if (count > most_keys) {
    throw error(place, std::string(name) + ": " + std::to_string(count) + " is more than " +
                           std::to_string(most_keys));
  }
  return static_cast<std::uint32_t>(count);
}

ConfigError TraceRows::error_of_text(const TraceField& place) const {
  return error(place,
               "a text without its number of tokens, which depends on the model's tokenizer: "
               "'characters_per_token' says how many characters a token has in the mean");
}

std::uint32_t TraceRows::tokens_of_turn(const TraceField& place, std::uint64_t characters) {
  if (options_.characters_per_token > 0) {
    return tokens_of_text(place, characters);
  }
  keep_first(first_uncounted_text_, place);
  return characters > 0 ? 1 : 0;  // so that as many requests are read
}

std::uint32_t TraceRows::tokens_of_text(const TraceField& place, std::uint64_t characters) {
  if (options_.characters_per_token <= 0) {
    throw error_of_text(place);
  }
  ++texts_;
  return counted(place, "tokens of a text",
                 static_cast<std::uint64_t>(
                     std::ceil(static_cast<double>(characters) / options_.characters_per_token)));
}

SimTime TraceRows::time(const TraceField& field, std::int64_t parts) const {
  const auto ps = ps_from(field.text, parts);
  if (!ps) {
    throw error(field, "a time must be a number below 9.2e6 s, not " + quoted(field.text));
  }
  if (*ps < 0) {
    throw error(field, "a time must not be negative");
  }
  return SimTime::from_ps(*ps);
}

std::optional<SimTime> TraceRows::time_of_log(const TraceField& field) {
  constexpr std::int64_t second = 1'000'000'000'000;
  constexpr std::int64_t before = 1'000'000;  // logs are nearly in order
  constexpr std::int64_t most = 9'199'999;
  auto found = seconds_from(field.text);
  if (!found) {
    const std::int64_t ps = time(field, 1).ps();  // with an exponent, or none
    found = DateTime{ps / second, ps % second};
  }
  log_begin_ = log_begin_.value_or(std::max<std::int64_t>(0, found->seconds - before));
  const std::int64_t since = found->seconds - *log_begin_;
  if (since < 0) {
    throw error(field, "more than 11 days before the first request");
  }
  if (since > most) {
    ++late_;
    return std::nullopt;
  }
  return SimTime::from_ps(since * second + found->ps);
}

void TraceRows::count_silent_turn(const TraceField& place) {
  keep_first(first_silent_turn_, place);
  ++silent_turns_;
}

void TraceRows::add(const TraceField& place, Request request, std::span<const std::uint32_t> pieces,
                    std::uint32_t piece_tokens) {
  if (const auto complaint = limit_.complaint(request)) {
    throw error(place, *complaint);
  }
  const std::uint32_t prompt = request.prompt;
  if (!limit_.take(request)) {
    keep_first(first_left_out_, place);
    return;
  }
  if (request.prompt < prompt) {
    pieces = pieces.first(std::min<std::size_t>(pieces.size(), request.prompt / piece_tokens));
  }
  ++added_;
  trace_.requests->add(request, pieces);
}

void TraceRows::add_logged(const TraceField& place, const Request& request,
                           std::span<const std::uint32_t> pieces, std::uint32_t piece_tokens) {
  if (request.prompt == 0 || request.generate == 0) {
    keep_first(first_empty_, place);
    ++empty_;
    return;
  }
  add(place, request, pieces, piece_tokens);
}

void TraceRows::complain_of_none() const {
  if (limit_.skipped() == 0 && empty_ == 0 && silent_turns_ > 0) {
    throw error(first_silent_turn_,
                "a turn without its text ('value') or its number of tokens ('tokens')");
  }
  if (limit_.skipped() > 0) {
    throw error(first_left_out_,
                "all requests of the file are left out: they have more tokens than the model takes "
                "(sequence)");
  }
  if (empty_ > 0) {
    throw error(first_empty_, "no request in the file has a prompt and an answer");
  }
  throw text_.error("there is no request in the file");
}

void TraceRows::note(std::uint64_t count, const std::string& what) {
  if (count > 0) {
    trace_.notes.push_back(text_.path() + ": " + std::to_string(count) + " " + what);
  }
}

void TraceRows::finish(bool from_first) {
  if (first_uncounted_text_.line > 0) {
    throw error_of_text(first_uncounted_text_);
  }
  if (added_ == 0) {
    complain_of_none();
  }
  trace_.requests->finish(from_first);
  note(empty_, "requests without a prompt or an answer are left out");
  note(
      late_,
      "requests about 100 days or more after the first are left out, as simulated time ends there");
  note(silent_turns_, "turns without a text and a number of tokens are left out");
  note(cut_conversations_,
       "conversations have more tokens than a prompt can have; the turns beyond are left out");
  note_texts();
  if (const auto note = limit_.note()) {
    trace_.notes.push_back(text_.path() + ": " + *note);
  }
  if (!trace_.requests->was_in_order()) {
    trace_.notes.push_back(text_.path() + ": requests are sorted by time");
  }
}

void TraceRows::note_texts() {
  std::ostringstream per_token;
  per_token << options_.characters_per_token;
  if (texts_ > 0) {
    trace_.notes.push_back(text_.path() + ": tokens of " + std::to_string(texts_) +
                           " texts are their characters divided by " + per_token.str() +
                           " (characters_per_token), as no tokenizer is known");
  } else if (options_.characters_per_token > 0) {
    trace_.notes.push_back(
        text_.path() +
        ": characters_per_token has no effect: every text states its number of tokens");
  }
}

Trace read_trace(const std::string& path, const TraceOptions& options) {
  TextReader text(path);
  Trace trace;
  trace.requests = std::make_unique<RequestTable>();
  TraceRows rows(text, options, trace);
  int first = text.peek();
  while (first == ' ' || first == '\t' || first == '\n' || first == '\r') {
    text.next();
    first = text.peek();
  }
  if (first == TextReader::end) {
    throw text.error_at(1, 1, "the file is empty");
  }
  constexpr int escape = 0x1B;  // of a terminal's colours
  if (options.format == "vllm-log" || (options.format.empty() && first == escape)) {
    const int number = text.line();
    std::string line;
    text.next_log_line(line);
    read_server_log(text, rows, line, number);
  } else if (first == '{' || first == '[') {
    read_json(text, rows);
  } else {
    read_csv(text, rows);
  }
  return trace;
}

}  // namespace tessera::serving
