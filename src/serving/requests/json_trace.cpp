// Files of requests that are objects: one a line, or a list of them.
#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>

#include "requests/json_reader.hpp"
#include "requests/trace/benchmark.hpp"
#include "requests/trace/block_parents.hpp"
#include "requests/trace/conversation.hpp"
#include "requests/trace/json_number.hpp"
#include "requests/trace/named_number.hpp"
#include "requests/trace/rows.hpp"

namespace tessera::serving {
namespace {

constexpr std::uint32_t mooncake_block = 512;  // tokens (R. Qin et al., FAST'25, section 4)

constexpr std::array<std::string_view, 7> prompt_names{
    "input_length", "prompt_tokens", "input_tokens", "input_len",
    "prompt_len",   "prompt_length", "input_toks"};
constexpr std::array<std::string_view, 7> answer_names{
    "output_length", "output_tokens",    "completion_tokens", "output_len",
    "output_toks",   "generated_tokens", "response_tokens"};

constexpr std::array<std::string_view, 7> other_names{"timestamp",  "hash_ids",   "conversations",
                                                      "messages",   "input_lens", "output_lens",
                                                      "start_times"};

bool is_read(std::string_view name) {
  return is_among(prompt_names, name) || is_among(answer_names, name) ||
         is_among(other_names, name);
}

class ObjectTrace {
 public:
  ObjectTrace(TextReader& text, TraceRows& rows)
      : text_(text),
        json_(text),
        rows_(rows),
        conversation_(json_, rows),
        benchmark_(json_, rows),
        format_(rows.options().format) {}

  void read() {
    if (json_.first() == '[') {
      json_.array([this] {
        take();
        stop_when_full();
      });
      if (!json_.is_stopped() && json_.first() != TextReader::end) {
        throw text_.error("something stands behind the list");
      }
    } else {
      while (!rows_.is_full() && json_.first() != TextReader::end) {
        take();
      }
    }
    if (pieces_seen_ || conversations_seen_) {
      rows_.trace().requests->set_piece_tokens(is_mooncake() ? mooncake_block
                                                             : Conversation::block);
    }
    rows_.trace().has_times = is_mooncake() || has_times_;
    rows_.finish(true);
    note_moved_blocks();
  }

 private:
  bool is_mooncake() const { return format_ == "mooncake"; }
  void note_moved_blocks() {
    if (parents_.moved() > 0) {
      rows_.trace().notes.push_back(
          text_.path() + ": blocks follow a different block than before " +
          std::to_string(parents_.moved()) +
          " times (hash_ids), and count as the same wherever they occur, although keys and values "
          "depend on all preceding blocks: more may be found in the cache than is possible");
    }
  }
  // A request with its time, whose lengths may be no numbers, of which `add_timed` complains.
  bool is_timed() const {
    const bool has_lengths = prompt_ && answer_;
    const bool names_them = prompt_.is_named() && answer_.is_named();
    return time_ && (has_lengths || (names_them && !has_turns_ && !benchmark_.is_there()));
  }

  void stop_when_full() {
    if (rows_.is_full()) {
      json_.stop();
    }
  }

  void take() {
    line_ = text_.line();
    column_ = text_.column();
    prompt_.forget();
    answer_.forget();
    time_.forget();
    names_.forget();
    turns_name_.clear();
    pieces_.clear();
    has_pieces_ = has_turns_ = run_is_added_ = false;
    json_.object([this](std::string_view name) { member(name); });
    if (format_.empty()) {
      format_ = is_timed() ? "mooncake" : benchmark_.is_there() ? "vllm-bench" : "sharegpt";
    }
    if (is_mooncake()) {
      add_timed();
    } else if (format_ == "vllm-bench") {
      if (!run_is_added_) {
        add_benchmark();
      }
    } else if (format_ != "sharegpt") {
      throw complaint("a file of the format '" + format_ + "' is a table with a head");
    } else if (has_turns_) {
      conversation_.add(line_, column_);
    } else {
      add_lengths();
    }
  }

  void member(std::string_view name) {
    if (is_read(name)) {
      names_.see(json_, name);
    }
    if (is_among(prompt_names, name)) {
      prompt_.take(json_, name);
    } else if (is_among(answer_names, name)) {
      answer_.take(json_, name);
    } else if (name == "timestamp") {
      time_.take(json_, name);
    } else if (name == "hash_ids") {
      read_pieces();
    } else if (name == "conversations" || name == "messages") {
      read_turns(name);
    } else if (!benchmark_.takes(name)) {
      json_.pass_over();
    } else if (benchmark_.is_whole() && (format_.empty() || format_ == "vllm-bench")) {
      format_ = "vllm-bench";  // texts of answers, which may be long, are behind its lists
      add_benchmark();
      run_is_added_ = true;
      stop_when_full();
    }
  }

  // `null`: none.
  void read_turns(std::string_view name) {
    if (json_.first() == 'n' && has_turns_) {
      json_.pass_over();
      return;
    }
    if (!turns_name_.empty()) {
      throw text_.error("a request with '" + turns_name_ + "' and '" + std::string(name) + "'");
    }
    if (json_.first() == '[') {
      turns_name_ = name;
    }
    has_turns_ = conversations_seen_ = true;
    conversation_.read();
  }

  // `null`: none.
  void read_pieces() {
    if (json_.first() == 'n') {
      json_.pass_over();
      return;
    }
    has_pieces_ = pieces_seen_ = true;
    json_.array([this] {
      const JsonNumber one = take_number(json_, "hash_ids");
      // 0 is none in the cache.
      constexpr std::uint64_t most = std::numeric_limits<std::uint32_t>::max() - 1;
      pieces_.push_back(static_cast<std::uint32_t>(rows_.whole(one.field(), one.name, most) + 1));
    });
  }

  ConfigError complaint(const std::string& message) const {
    return text_.error_at(line_, column_, message);
  }
  void need(const NamedNumber& number, const char* what) const {
    const Misfit& misfit = number.misfit();
    const bool is_other = misfit.what == "a list";  // tokens themselves, as some programs name them
    if (number ? misfit.is_something() && !is_other : !misfit.name.empty()) {
      throw text_.error_at(misfit.line, misfit.column, misfit.complaint("a number"));
    }
    if (!number) {
      throw complaint(std::string("a request without ") + what);
    }
  }

  void add_timed() {
    need(time_, "'timestamp'");
    need(prompt_, "'input_length'");
    need(answer_, "'output_length'");
    Request request;
    request.arrival = rows_.time(time_->field(), 1000);
    request.prompt = rows_.tokens(prompt_->field(), prompt_->name, 0);
    request.generate = rows_.tokens(answer_->field(), answer_->name, 0);
    const std::size_t blocks = (request.prompt + mooncake_block - 1) / mooncake_block;
    if (has_pieces_ && pieces_.size() != blocks) {
      throw complaint("a prompt of " + std::to_string(request.prompt) + " tokens has " +
                      std::to_string(blocks) + " blocks of 512, not " +
                      std::to_string(pieces_.size()) + " (hash_ids)");
    }
    parents_.see(pieces_);
    rows_.add_logged(prompt_->field(), request, pieces_, mooncake_block);
  }

  void add_lengths() {
    need(prompt_, "a number of tokens of its prompt ('input_tokens', 'prompt_tokens')");
    need(answer_, "a number of tokens of its answer ('output_tokens', 'completion_tokens')");
    Request request;
    request.prompt = rows_.tokens(prompt_->field(), prompt_->name, 0);
    request.generate = rows_.tokens(answer_->field(), answer_->name, 0);
    rows_.add_logged(prompt_->field(), request);
  }

  // Runs of one file all have times, or none does.
  void add_benchmark() {
    if (runs_++ > 0 && benchmark_.has_times() != has_times_) {
      throw complaint("some runs have 'start_times', and others do not");
    }
    has_times_ = benchmark_.has_times();
    benchmark_.add(line_, column_);
  }

  TextReader& text_;
  JsonReader json_;
  TraceRows& rows_;
  Conversation conversation_;
  Benchmark benchmark_;
  std::string format_;
  int line_ = 0;
  int column_ = 0;
  NamedNumber prompt_;
  NamedNumber answer_;
  NamedNumber time_;
  OnceNames names_;
  std::string turns_name_;  // of the member whose list was read
  std::vector<std::uint32_t> pieces_;
  BlockParents parents_;
  bool has_pieces_ = false;
  bool has_turns_ = false;
  bool pieces_seen_ = false;
  bool conversations_seen_ = false;
  bool has_times_ = false;
  bool run_is_added_ = false;
  std::uint64_t runs_ = 0;
};

}  // namespace

void read_json(TextReader& text, TraceRows& rows) {
  if (!rows.options().of_language) {
    throw text.error("requests with prompts, of a model that is no language model");
  }
  ObjectTrace(text, rows).read();
}

}  // namespace tessera::serving
