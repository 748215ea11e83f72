// JSON as a stream (RFC 8259): values are taken one after the other, and those that nobody asks for
// are passed over without being kept, so that a file may have any length.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "requests/text_reader.hpp"

namespace tessera::serving {

// All throw ConfigError with the place where the text is not what it should be.
class JsonReader {
 public:
  explicit JsonReader(TextReader& text) : text_(text) {}

  // The first byte of the next value, behind white space; TextReader::end: there is none.
  int first();
  // Calls `visit(name)` for each member, which must take or pass over its value.
  template <class Visit>
  void object(Visit visit) {
    begin('{', "expected an object '{'");
    bool is_first = true;
    while (more('}', is_first)) {
      if (first() != '"') {
        throw text_.error("expected the name of a member in quotes");
      }
      const std::string name = string();
      if (first() != ':') {
        throw text_.error("expected ':' behind the name of a member");
      }
      text_.next();
      first();
      visit(std::string_view(name));
      if (is_stopped_) {
        return;
      }
      is_first = false;
    }
    --depth_;
  }
  // Calls `visit()` for each item, which must take or pass over it.
  template <class Visit>
  void array(Visit visit) {
    begin('[', "expected a list '['");
    bool is_first = true;
    while (more(']', is_first)) {
      visit();
      if (is_stopped_) {
        return;
      }
      is_first = false;
    }
    --depth_;
  }
  // Nothing more is wanted: objects and lists end where they stand, and nothing is read behind it.
  void stop() { is_stopped_ = true; }
  bool is_stopped() const { return is_stopped_; }
  // The first 256 bytes of a text.
  std::string string();
  // Characters of a text, as code points of Unicode (two escapes that stand for one are one).
  std::uint64_t characters();
  // As it is written.
  std::string number();
  // Also numbers that are none (NaN, Infinity), which programs in Python write.
  void pass_over();

  TextReader& text() { return text_; }
  const TextReader& text() const { return text_; }

 private:
  void begin(char bracket, const char* expected);
  // Whether another item or member comes before `bracket`.
  bool more(char bracket, bool is_first);
  // Calls `visit(byte)` for each byte of a text, `escape()` for what a backslash begins.
  template <class Visit, class Escape>
  void text_in_quotes(Visit visit, Escape escape);
  void word(std::string_view expected);
  // The code point; that of half a pair where there is one.
  std::uint32_t escape();

  TextReader& text_;
  int depth_ = 0;
  bool is_stopped_ = false;
};

}  // namespace tessera::serving
