// Conversations of people with assistants, as ShareGPT's lists have them: turns with numbers of
// tokens, or with texts, of which tokens are a number of characters.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "requests/trace/named_number.hpp"
#include "requests/trace/rows.hpp"

namespace tessera::serving {

class Conversation {
 public:
  // Tokens of the blocks that prompts of a conversation have in common. Smaller ones would take
  // more memory, larger ones leave more of a turn before to be computed again.
  static constexpr std::uint32_t block = 64;

  Conversation(JsonReader& json, TraceRows& rows) : json_(json), rows_(rows) {}

  // Takes a list of turns, or null; turns of the conversation before are forgotten. A turn without
  // a text and a number of tokens, or with null for them, is none. Complains of other values.
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

  // What is read of a turn; its place is that of its text, if it has one.
  struct Read {
    std::string from;
    std::optional<std::uint64_t> characters;
    TraceField place;
    Misfit misfit;  // in place of the text
  };

  void read_turn();
  void read_member(std::string_view name);
  void read_text(std::string_view name);
  void read_speaker(std::string_view name);

  JsonReader& json_;
  TraceRows& rows_;
  OnceNames names_;
  Read turn_;
  NamedNumber tokens_;  // of the turn that is read
  std::vector<Turn> turns_;
  std::vector<std::uint32_t> blocks_;
  std::uint32_t last_block_ = 0;
};

}  // namespace tessera::serving
