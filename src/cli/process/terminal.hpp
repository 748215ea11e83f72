// What goes to a terminal.
#pragma once

#include <iosfwd>
#include <memory>
#include <streambuf>
#include <string>
#include <string_view>

namespace tessera::cli {

// The text with its control characters shown as \x1b and the like, but for line feeds, carriage
// returns and tabs: names in models, traces and summaries come from others, and a terminal obeys
// what they hold.
std::string without_controls(std::string_view text);

// While it lives, this is done to all that is written to `stream`.
class PlainText {
 public:
  explicit PlainText(std::ostream& stream);
  ~PlainText();
  PlainText(const PlainText&) = delete;
  PlainText& operator=(const PlainText&) = delete;

  // Whether anything was written.
  bool was_used() const;
  // Sends on what is still held back; errno of the first write that failed, 0 if none has.
  int flush() const;

 private:
  class Filter;

  std::ostream& stream_;
  std::streambuf* target_;
  std::unique_ptr<Filter> filter_;
};

}  // namespace tessera::cli
