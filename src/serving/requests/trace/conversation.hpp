// Conversations of people with assistants, as ShareGPT's lists have them: turns with numbers of
// tokens, or with texts, of which tokens are a number of characters.
#pragma once

#include <cstdint>
#include <vector>

#include "requests/trace/json_number.hpp"
#include "requests/trace/rows.hpp"

namespace tessera::serving {

class Conversation {
 public:
  // Tokens of the blocks that prompts of a conversation have in common. Smaller ones would take
  // more memory, larger ones leave more of a turn before to be computed again.
  static constexpr std::uint32_t block = 64;

  Conversation(JsonReader& json, TraceRows& rows) : json_(json), rows_(rows) {}

  // Takes a list of turns, or null; turns of the conversation before are forgotten. A turn without
  // a text and a number of tokens has none of them.
  void read();
  // Each answer is a request, whose prompt is all that was said before. Blocks of it are those of
  // the request before as far as that went. Turns behind what a prompt can have are left out.
  // `line` and `column`: where the conversation begins.
  void add(int line, int column);

 private:
  struct Turn {
    bool is_answer = false;
    std::uint32_t tokens = 0;
  };

  void read_turn();

  JsonReader& json_;
  TraceRows& rows_;
  OnceNames names_;
  std::vector<Turn> turns_;
  std::vector<std::uint32_t> blocks_;
  std::uint32_t last_block_ = 0;
};

}  // namespace tessera::serving
