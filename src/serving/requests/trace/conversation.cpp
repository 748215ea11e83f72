#include "requests/trace/conversation.hpp"

#include <algorithm>
#include <array>
#include <string>

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
  turn_ = {};
  turn_.place = {{}, json_.text().line(), json_.text().column()};
  tokens_.forget();
  names_.forget();
  json_.object([&](std::string_view name) { read_member(name); });
  tokens_.refuse_misfit(json_.text());
  if (!tokens_ && !turn_.characters) {
    if (turn_.misfit.is_something()) {
      throw rows_.error({{}, turn_.misfit.line, turn_.misfit.column},
                        turn_.misfit.complaint("a text"));
    }
    rows_.count_silent_turn(turn_.place);
    return;
  }
  turns_.push_back({is_among(assistants, turn_.from),
                    tokens_ ? rows_.tokens(tokens_->field(), tokens_->name, 0)
                            : rows_.tokens_of_turn(turn_.place, *turn_.characters)});
}

void Conversation::read_member(std::string_view name) {
  const bool is_text = is_among(text_names, name);
  const bool is_speaker = is_among(speaker_names, name);
  const bool is_number = is_among(number_names, name);
  if (!is_text && !is_speaker && !is_number) {
    json_.pass_over();
    return;
  }
  names_.see(json_, name);
  if (is_number) {
    tokens_.take(json_, name);
  } else if (json_.first() == '"') {
    is_text ? read_text(name) : read_speaker(name);
  } else {
    const Misfit misfit = misfit_next(json_, name);
    if (is_speaker && misfit.is_something()) {
      throw rows_.error({{}, misfit.line, misfit.column}, misfit.complaint("a text"));
    }
    turn_.misfit = is_text ? misfit : turn_.misfit;
    json_.pass_over();
  }
}

// Of two texts both would count, or neither.
void Conversation::read_text(std::string_view name) {
  const TraceField place{{}, json_.text().line(), json_.text().column()};
  if (turn_.characters) {
    throw rows_.error(place, std::string(name) + ": the turn has a text already");
  }
  turn_.place = place;
  turn_.characters = json_.characters();
}

void Conversation::read_speaker(std::string_view name) {
  const TraceField place{{}, json_.text().line(), json_.text().column()};
  const std::string from = json_.string();
  if (!turn_.from.empty() && is_among(assistants, turn_.from) != is_among(assistants, from)) {
    throw rows_.error(place, std::string(name) + " is " + quoted(std::string_view(from)) +
                                 ", but the turn is of " + quoted(std::string_view(turn_.from)) +
                                 " already");
  }
  turn_.from = from;
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
