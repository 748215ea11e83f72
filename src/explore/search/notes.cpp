#include "search/notes.hpp"

#include <algorithm>

namespace tessera::explore {

std::vector<std::string> notes_about_others(const std::vector<std::string>& notes,
                                            const std::vector<std::string>& settings) {
  std::vector<std::string> others;
  for (const std::string& note : notes) {
    const bool is_own = std::ranges::any_of(settings, [&](const std::string& setting) {
      const std::string key = setting.substr(0, setting.find('='));
      return note.starts_with(key + " ") || note.starts_with(key + ".");
    });
    if (!is_own && !note.starts_with("run.")) {
      others.push_back(note);
    }
  }
  return others;
}

}  // namespace tessera::explore
