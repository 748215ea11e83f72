#include "search/ledger.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>

#include "line_fields.hpp"
#include "search/proposal_line.hpp"
#include "tessera/comm/first_rank.hpp"
#include "tessera/config/document.hpp"
#include "tessera/core/error.hpp"
#include "tessera/core/text.hpp"
#include "tessera/trace/json_text.hpp"
#include "tessera/trace/run_folder.hpp"

namespace tessera::explore {
namespace {

namespace fs = std::filesystem;
using trace::JsonText;

constexpr const char* state_name = "question.json";
constexpr std::size_t most_rows = 1000;  // of candidates that were not simulated

std::string path_of(const std::string& folder, const char* name) {
  return folder + "/" + name;
}

bool is_ours(const std::string& name) {
  return name == state_name || name == "plan.json" || name == "candidates.csv" ||
         name == "strategy.yaml" || (name.starts_with("simulated.") && name.ends_with(".log"));
}

JsonText json_of(const std::vector<std::string>& texts) {
  JsonText list = JsonText::list();
  for (const std::string& text : texts) {
    list.add(text);
  }
  return list;
}

std::string question_of(const SearchRequest& request, const std::string& hash) {
  JsonText json = JsonText::object();
  json.put("experiment", fs::absolute(request.experiment).lexically_normal().string())
      .put("overrides", json_of(request.overrides))
      .put("devices", request.devices)
      .put("top", request.simulated)
      .put("full", request.full)
      .put("all", request.all)
      .put("keep", json_of(request.kept))
      .put("hash", hash);
  return json.to_string();
}

config::Value state_in(const std::string& folder) {
  const std::string path = path_of(folder, state_name);
  std::string text;
  try {
    text = config::load_text_file(path);
  } catch (const IoError&) {
    throw ConfigError(folder + ": is no search to go on with: it has no " + state_name);
  }
  config::Diagnostics diagnostics;
  config::Value root = config::parse(path, text, diagnostics);
  diagnostics.throw_if_any();
  return root;
}

std::string text_of(const config::Value& root, const char* key) {
  const config::Value::Member* const found = root.find(key);
  return found == nullptr ? "" : found->value.text;
}

std::vector<std::string> texts_of(const config::Value& root, const char* key) {
  std::vector<std::string> texts;
  const config::Value::Member* const found = root.find(key);
  for (std::size_t i = 0; found != nullptr && i < found->value.items.size(); ++i) {
    texts.push_back(found->value.items[i].text);
  }
  return texts;
}

std::uint64_t count_of(const config::Value& root, const char* key) {
  const std::string text = text_of(root, key);
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// Keys in the order of varied_keys().
std::string csv_row(const Candidate& candidate, const std::string& status, const std::string& bound,
                    const std::string& estimate, const std::string& iteration,
                    const std::string& memory) {
  std::vector<std::string> cells = split(candidate.key(), '/');
  for (const std::string& cell : {status, bound, estimate, iteration, memory}) {
    cells.push_back(cell);
  }
  return join(cells, ",") + "\n";
}

std::string csv_of(const SearchOutcome& outcome, const std::vector<Ranked>& ranked) {
  std::string text = join(varied_keys(), ",") +
                     ",status,bound_ps,estimate_ps,iteration_time_ps,memory_per_tile_bytes\n";
  const auto whole = [](double ps) { return std::to_string(static_cast<std::int64_t>(ps)); };
  std::map<std::string, bool> done;
  for (const Proposal& proposal : outcome.proposals) {
    if (proposal.candidate) {
      done[proposal.candidate->key()] = true;
      text +=
          csv_row(*proposal.candidate, proposal.status, std::to_string(proposal.bound.ps()),
                  std::to_string(proposal.estimate.ps()), std::to_string(proposal.iteration.ps()),
                  std::to_string(proposal.memory.count()));
    }
  }
  for (std::size_t number = 0; number < std::min(most_rows, ranked.size()); ++number) {
    const Ranked& each = ranked[number];
    if (!done.contains(each.candidate.key())) {
      text += csv_row(each.candidate, "estimated", whole(each.iteration.least),
                      whole(each.iteration.likely), "", std::to_string(each.memory.count()));
    }
  }
  return text;
}

}  // namespace

std::string key_of(const Proposal& proposal) {
  return proposal.candidate ? proposal.candidate->key() : "own";
}

SearchRequest request_in(const std::string& folder) {
  const config::Value root = state_in(folder);
  SearchRequest request;
  request.experiment = text_of(root, "experiment");
  request.overrides = texts_of(root, "overrides");
  request.devices = count_of(root, "devices");
  request.simulated = count_of(root, "top");
  request.full = text_of(root, "full") == "true";
  request.all = text_of(root, "all") == "true";
  request.kept = texts_of(root, "keep");
  request.folder = folder;
  request.resume = true;
  return request;
}

Ledger::Ledger(const SearchRequest& request, const std::string& hash,
               comm::Communicator& communicator)
    : request_(request), communicator_(communicator), question_(question_of(request, hash)) {
  if (request.folder.empty()) {
    return;
  }
  std::string lines;
  const std::vector<std::string> ranks = communicator.gather(trace::own_process());
  comm::on_first_rank(communicator, [&] {
    if (request.resume) {
      state_in(request.folder);  // what holds no search is not touched
    }
    lock_.take(request.folder, ranks);
    if (request.resume) {
      go_on(hash);
      for (const auto& [key, proposal] : known_) {
        lines += to_line(proposal) + "\n";
      }
    } else {
      begin();
    }
  });
  for (const std::string& line : split(communicator.broadcast(lines, 0), '\n')) {
    if (!line.empty()) {
      Proposal proposal = proposal_from(line);
      const std::string key = key_of(proposal);
      known_.insert_or_assign(key, std::move(proposal));
    }
  }
}

// What an earlier search left is replaced; anything else stays, and is refused.
void Ledger::begin() {
  std::vector<fs::path> earlier;
  for (const fs::directory_entry& entry : fs::directory_iterator(request_.folder)) {
    if (trace::is_lock_file(entry.path().filename().string())) {
      continue;
    }
    if (!is_ours(entry.path().filename().string())) {
      throw ConfigError(request_.folder + ": holds '" + entry.path().filename().string() +
                        "', which is of no search; give another folder");
    }
    earlier.push_back(entry.path());
  }
  for (const fs::path& path : earlier) {
    fs::remove(path);
  }
  trace::write_file_atomically(path_of(request_.folder, state_name), question_);
}

void Ledger::go_on(const std::string& hash) {
  if (text_of(state_in(request_.folder), "hash") != hash) {
    throw ConfigError(request_.folder + ": cannot go on: " + request_.experiment +
                      ", or a file it leads to, is not as it was when the search began");
  }
  for (const fs::directory_entry& entry : fs::directory_iterator(request_.folder)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("simulated.") || !is_ours(name)) {
      continue;
    }
    for (const std::string& line : split(config::load_text_file(entry.path().string()), '\n')) {
      try {
        Proposal proposal = proposal_from(line);
        const std::string key = key_of(proposal);
        known_.insert_or_assign(key, std::move(proposal));
      } catch (const ConfigError&) {
        continue;  // cut by a kill
      }
    }
  }
}

const Proposal* Ledger::known(const std::string& key) const {
  const auto found = known_.find(key);
  return found == known_.end() ? nullptr : &found->second;
}

std::string Ledger::log_path() const {
  return request_.folder + "/simulated." + std::to_string(communicator_.rank()) + ".log";
}

void Ledger::keep(const Proposal& proposal) {
  if (request_.folder.empty() || known(key_of(proposal)) != nullptr) {
    return;
  }
  std::ofstream log(log_path(), std::ios::app);
  log << to_line(proposal) << '\n' << std::flush;
  if (!log) {
    throw IoError("cannot write " + log_path());
  }
}

void Ledger::write(const SearchOutcome& outcome, const std::vector<Ranked>& ranked) const {
  if (request_.folder.empty()) {
    return;
  }
  trace::write_file_atomically(path_of(request_.folder, "plan.json"), to_json(outcome));
  trace::write_file_atomically(path_of(request_.folder, "candidates.csv"), csv_of(outcome, ranked));
  if (!outcome.strategy_yaml.empty()) {
    trace::write_file_atomically(path_of(request_.folder, "strategy.yaml"), outcome.strategy_yaml);
  }
}

}  // namespace tessera::explore
