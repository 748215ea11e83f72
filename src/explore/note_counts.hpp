// Notes of many runs, each kind once.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tessera::explore {

// A reason with its numbers left out, so that like ones count together.
std::string without_numbers(const std::string& message);

// Notes that differ in numbers are of one kind.
class NoteCounts {
 public:
  // Of one run; `where` is what it is called.
  void add(const std::string& where, const std::vector<std::string>& notes);
  // How many have which, the most frequent first, with an example. `what`: "points". Empty without
  // notes.
  std::string table(const std::string& what) const;

 private:
  struct Note {
    std::uint64_t count = 0;
    std::string first;
    std::string text;
  };
  std::map<std::string, Note> notes_;
};

}  // namespace tessera::explore
