#include "search/search_folder.hpp"

#include <charconv>
#include <filesystem>
#include <fstream>
#include <utility>

#include "sweep/line_fields.hpp"
#include "tessera/comm/first_rank.hpp"
#include "tessera/core/error.hpp"
#include "tessera/trace/run_folder.hpp"

namespace tessera::explore {
namespace {

namespace fs = std::filesystem;

constexpr const char* question_name = "question.json";

bool is_log(const std::string& name) {
  return name.starts_with("simulated.") && name.ends_with(".log");
}

bool is_of_a_search(const std::string& name) {
  return name == question_name || name == "plan.json" || name == "candidates.csv" ||
         name == "strategy.yaml" || is_log(name);
}

template <class Number>
Number number_or_zero(const std::string& text) {
  Number number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace

Question::Question(const std::string& folder) {
  const std::string path = folder + "/" + question_name;
  std::string content;
  try {
    content = config::load_text_file(path);
  } catch (const IoError&) {
    throw ConfigError(
        {folder, 0, 0, std::string("is no search to go on with: it has no ") + question_name});
  }
  config::Diagnostics diagnostics;
  root_ = config::parse(path, content, diagnostics);
  diagnostics.throw_if_any();
}

std::string Question::text(const char* key) const {
  const config::Value::Member* const found = root_.find(key);
  return found == nullptr ? "" : found->value.text;
}

std::vector<std::string> Question::texts(const char* key) const {
  std::vector<std::string> all;
  const config::Value::Member* const found = root_.find(key);
  for (std::size_t i = 0; found != nullptr && i < found->value.items.size(); ++i) {
    all.push_back(found->value.items[i].text);
  }
  return all;
}

std::uint64_t Question::count(const char* key) const {
  return number_or_zero<std::uint64_t>(text(key));
}

double Question::real(const char* key) const {
  return number_or_zero<double>(text(key));
}

trace::JsonText json_list(const std::vector<std::string>& texts) {
  trace::JsonText list = trace::JsonText::list();
  for (const std::string& text : texts) {
    list.add(text);
  }
  return list;
}

trace::JsonText question_about(const std::string& experiment,
                               const std::vector<std::string>& overrides) {
  trace::JsonText json = trace::JsonText::object();
  json.put("experiment", fs::absolute(experiment).lexically_normal().string())
      .put("overrides", json_list(overrides));
  return json;
}

SearchFolder::SearchFolder(SearchPlace place, trace::JsonText question, const std::string& hash,
                           comm::Communicator& communicator)
    : place_(std::move(place)), rank_(communicator.rank()) {
  if (place_.folder.empty()) {
    return;
  }
  question.put("hash", hash);
  std::string lines;
  const std::vector<std::string> ranks = communicator.gather(trace::own_process());
  comm::on_first_rank(communicator, [&] {
    if (place_.resume) {
      Question(place_.folder);  // what holds no search is not touched
    }
    lock_.take(place_.folder, ranks);
    if (place_.resume) {
      lines = go_on(hash);
    } else {
      begin(question.to_string());
    }
  });
  kept_ = split(communicator.broadcast(lines, 0), '\n');
}

// What an earlier search left is replaced; anything else stays, and is refused.
void SearchFolder::begin(const std::string& question) const {
  std::vector<fs::path> earlier;
  for (const fs::directory_entry& entry : fs::directory_iterator(place_.folder)) {
    const std::string name = entry.path().filename().string();
    if (trace::is_lock_file(name)) {
      continue;
    }
    if (!is_of_a_search(name)) {
      throw ConfigError({place_.folder, 0, 0,
                         "holds '" + name + "', which is of no search; give another folder"});
    }
    earlier.push_back(entry.path());
  }
  for (const fs::path& path : earlier) {
    fs::remove(path);
  }
  trace::write_file_atomically(place_.folder + "/" + question_name, question);
}

std::string SearchFolder::go_on(const std::string& hash) const {
  if (Question(place_.folder).text("hash") != hash) {
    throw ConfigError({place_.folder, 0, 0,
                       "cannot go on: " + place_.experiment +
                           ", or a file it leads to, is not as it was when the search began"});
  }
  std::string lines;
  for (const fs::directory_entry& entry : fs::directory_iterator(place_.folder)) {
    if (is_log(entry.path().filename().string())) {
      lines += config::load_text_file(entry.path().string()) + "\n";
    }
  }
  return lines;
}

void SearchFolder::keep(const std::string& line) const {
  if (place_.folder.empty()) {
    return;
  }
  const std::string path = place_.folder + "/simulated." + std::to_string(rank_) + ".log";
  std::ofstream log(path, std::ios::app);
  log << line << '\n' << std::flush;
  if (!log) {
    throw IoError(path + ": error: cannot write the file");
  }
}

void SearchFolder::write(const char* name, const std::string& text) const {
  if (!place_.folder.empty()) {
    trace::write_file_atomically(place_.folder + "/" + name, text);
  }
}

}  // namespace tessera::explore
