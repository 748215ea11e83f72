#include "note_counts.hpp"

#include <algorithm>
#include <set>

#include "tessera/core/text.hpp"

namespace tessera::explore {

std::string without_numbers(const std::string& message) {
  std::string text;
  for (std::size_t at = 0; at < message.size();) {
    const bool digit = message[at] >= '0' && message[at] <= '9';
    if (!digit) {
      text += message[at++];
      continue;
    }
    std::size_t end = std::min(message.find_first_not_of("0123456789.", at), message.size());
    while (message[end - 1] == '.') {
      --end;  // the end of a sentence
    }
    text += "…";
    at = end;
  }
  for (const char* unit : {"kB", "MB", "GB", "TB", "PB"}) {
    const std::string with_number = std::string("… ") + unit;
    for (std::size_t at = text.find(with_number); at != std::string::npos;
         at = text.find(with_number, at)) {
      text.replace(at, with_number.size(), "… B");
    }
  }
  return text;
}

void NoteCounts::add(const std::string& where, const std::vector<std::string>& notes) {
  std::set<std::string> of_run;
  for (const std::string& text : notes) {
    const std::string kind = without_numbers(text);
    Note& note = notes_.try_emplace(kind, Note{0, where, text}).first->second;
    note.count += of_run.insert(kind).second ? 1 : 0;
  }
}

std::string NoteCounts::table(const std::string& what) const {
  std::vector<Note> sorted;
  for (const auto& [kind, note] : notes_) {
    sorted.push_back(note);
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Note& a, const Note& b) { return a.count > b.count; });
  TextTable list({what, "for example", "note"});
  for (const Note& note : sorted) {
    list.add({std::to_string(note.count), note.first, note.text});
  }
  return notes_.empty() ? "" : "\nnotes\n" + list.to_string();
}

}  // namespace tessera::explore
