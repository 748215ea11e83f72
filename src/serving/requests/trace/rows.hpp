// What the readers of all formats have in common: numbers, complaints, requests that are left out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "requests/text_reader.hpp"
#include "requests/trace/file.hpp"

namespace tessera::serving {

// A number or a word with its place.
struct TraceField {
  std::string_view text;
  int line = 0;
  int column = 0;
};

class TraceRows {
 public:
  TraceRows(const TextReader& text, const TraceOptions& options, Trace& trace);

  bool is_full() const { return added_ >= options_.most; }
  const TraceOptions& options() const { return options_; }
  Trace& trace() { return trace_; }

  // A whole number from `least` to 524287, of what `name` says.
  std::uint32_t tokens(const TraceField& field, std::string_view name, std::uint32_t least) const;
  // The same of a number that has been read.
  std::uint32_t counted(const TraceField& place, std::string_view name, std::uint64_t count) const;
  // Of a text of so many characters; complains where texts are not counted.
  std::uint32_t tokens_of_text(const TraceField& place, std::uint64_t characters);
  // The same, but complains at the end of the file: what is wrong with the file itself comes first.
  std::uint32_t tokens_of_turn(const TraceField& place, std::uint64_t characters);
  std::uint64_t whole(const TraceField& field, std::string_view name, std::uint64_t most) const;
  // Of parts of a second as trace_time.hpp; not negative.
  SimTime time(const TraceField& field, std::int64_t parts) const;
  // Seconds of a log that counts them from anywhere, here from before the first one on (and not
  // before 0). None: more than simulated time holds behind it, some 100 days; such are left out.
  std::optional<SimTime> time_of_log(const TraceField& field);
  ConfigError error(const TraceField& field, const std::string& message) const {
    return text_.error_at(field.line, field.column, message);
  }

  // One that is longer than its model takes is refused, left out or cut; `place` is where it says
  // how long it is. `pieces` are whole blocks of `piece_tokens` and what is left of the prompt.
  void add(const TraceField& place, Request request, std::span<const std::uint32_t> pieces = {},
           std::uint32_t piece_tokens = 1);
  // Of a service's log: one without a prompt or an answer is left out, and counted.
  void add_logged(const TraceField& place, const Request& request,
                  std::span<const std::uint32_t> pieces = {}, std::uint32_t piece_tokens = 1);
  // Of a conversation: has neither text nor a number of tokens; goes on behind the longest prompt.
  void count_silent_turn(const TraceField& place);
  void count_cut_conversation() { ++cut_conversations_; }
  // Says what was left out; complains where nothing is there.
  void finish(bool from_first);

 private:
  [[noreturn]] void complain_of_none() const;
  ConfigError error_of_text(const TraceField& place) const;
  void note(std::uint64_t count, const std::string& what);
  void note_texts();

  const TextReader& text_;
  const TraceOptions& options_;
  Trace& trace_;
  LengthLimit limit_;
  std::uint64_t added_ = 0;
  std::uint64_t empty_ = 0;
  std::uint64_t texts_ = 0;
  std::uint64_t late_ = 0;
  std::uint64_t silent_turns_ = 0;
  std::uint64_t cut_conversations_ = 0;
  // Places of the first such; line 0: there is none.
  TraceField first_silent_turn_;
  TraceField first_uncounted_text_;
  TraceField first_empty_;
  TraceField first_left_out_;
  std::optional<std::int64_t> log_begin_;  // [s]
};

// "'abc'", cut where it is long.
std::string quoted(std::string_view text);

void read_csv(TextReader& text, TraceRows& rows);
void read_json(TextReader& text, TraceRows& rows);
// Of a log without a head, whose first line, `number`, has been taken.
void read_server_log(TextReader& text, TraceRows& rows, const std::string& first_line, int number);

}  // namespace tessera::serving
