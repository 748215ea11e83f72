// Numbers of a machine file that a fit changes.
#pragma once

#include <string>
#include <vector>

#include "tessera/config/document.hpp"

namespace tessera::explore {

// A number with its unit where the file has it.
struct NumberInFile {
  std::string key;
  config::Place place;     // of its text
  std::size_t length = 0;  // of the text, quotes included
  double value = 0;
  std::string unit;       // with the blank before it: " us"; may be empty
  bool is_whole = false;  // takes whole numbers only

  // As files have it, for another value; with `digits` digits that count.
  std::string text_of(double number, int digits) const;
};

// The keys' numbers; what is no number above 0 in the file is a complaint.
std::vector<NumberInFile> find_numbers(const std::string& path, const std::string& text,
                                       const std::vector<std::string>& keys,
                                       config::Diagnostics& diagnostics);

// The text with new numbers, a comment behind each or, where others stand behind it in its line,
// above it. What the comment was is kept.
std::string with_numbers(const std::string& text, const std::vector<NumberInFile>& numbers,
                         const std::vector<std::string>& texts,
                         const std::vector<std::string>& comments);

}  // namespace tessera::explore
