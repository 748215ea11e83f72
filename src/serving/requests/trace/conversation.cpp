#include "requests/trace/conversation.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "tessera/serving/language_model.hpp"

namespace tessera::serving {
namespace {

constexpr std::array<std::string_view, 3> number_names{"tokens", "token_count", "num_tokens"};
constexpr std::array<std::string_view, 2> text_names{"value", "content"};
constexpr std::array<std::string_view, 2> speaker_names{"from", "role"};
constexpr std::array<std::string_view, 5> assistants{"gpt", "assistant", "chatgpt", "bard", "bing"};

}  // namespace

void Conversation::read() {
  turns_.clear();
  if (json_.first() == 'n') {
    json_.pass_over();
    return;
  }
  json_.array([this] { read_turn(); });
}

void Conversation::read_turn() {
  json_.first();
  const int line = json_.text().line();
  const int column = json_.text().column();
  std::string from;
  std::optional<JsonNumber> tokens;
  std::optional<std::uint64_t> characters;
  TraceField text{{}, line, column};
  names_.forget();
  json_.object([&](std::string_view name) {
    if (is_among(number_names, name) || is_among(text_names, name) ||
        is_among(speaker_names, name)) {
      names_.see(json_, name);
    }
    const bool is_text = json_.first() == '"';
    if (is_among(speaker_names, name) && is_text) {
      from = json_.string();
    } else if (is_among(number_names, name) && is_number_next(json_)) {
      tokens = take_number(json_, name);
    } else if (is_among(text_names, name) && is_text) {
      text = {{}, json_.text().line(), json_.text().column()};
      characters = json_.characters();
    } else {
      json_.pass_over();
    }
  });
  if (!tokens && !characters) {
    rows_.count_silent_turn(text);
    return;
  }
  turns_.push_back({is_among(assistants, from), tokens
                                                    ? rows_.tokens(tokens->field(), tokens->name, 0)
                                                    : rows_.tokens_of_turn(text, *characters)});
}

void Conversation::add(int line, int column) {
  blocks_.clear();
  std::uint32_t before = 0;
  for (const Turn& turn : turns_) {
    if (turn.is_answer && before > 0 && turn.tokens > 0 && !rows_.is_full()) {
      while (blocks_.size() < before / block) {
        blocks_.push_back(++last_block_);
      }
      Request request;
      request.prompt = before;
      request.generate = turn.tokens;
      rows_.add({{}, line, column}, request, blocks_, block);
    }
    before += turn.tokens;
    if (before > most_keys) {
      rows_.count_cut_conversation();
      return;
    }
  }
}

}  // namespace tessera::serving
