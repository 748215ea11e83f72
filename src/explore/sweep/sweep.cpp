#include "tessera/explore/sweep.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>

#include "sweep/axis_keys.hpp"
#include "tessera/comm/first_rank.hpp"
#include "tessera/core/digest.hpp"
#include "tessera/core/error.hpp"
#include "tessera/core/text.hpp"
#include "tessera/sim/file_contents.hpp"
#include "tessera/sim/model_cache.hpp"
#include "tessera/trace/folder_lock.hpp"

namespace tessera::explore {
namespace {

// A sweep as read, its points, and the texts they are made of.
struct Prepared {
  Prepared(const std::string& path, const std::vector<std::string>& overrides,
           const config::TextLoader& load)
      : cache(load), sweep(read_sweep(path, overrides, cache.loader())) {
    // Read here, in step with the other ranks; points find all they need in memory.
    load_parts(sweep, cache.loader());
    points = choose_points(sweep, cache.loader());
    const std::vector<std::string> files = check_keys(sweep, points, loader());
    cache.close();
    state.sweep = std::filesystem::absolute(path).lexically_normal().string();
    state.overrides = overrides;
    state.points = points.size();
    state.hash = cache.hash(overrides, files);
    state.columns = sweep.columns;
  }

  // Of experiments: a model is read once, however many points it has.
  config::TextLoader loader() { return sim::CachingLoader{cache.loader(), &models}; }

  TextCache cache;
  sim::ModelCache models;
  Sweep sweep;
  std::vector<PointNumber> points;
  SweepState state;
};

std::vector<PointNumber> missing_points(const std::vector<PointNumber>& points,
                                        const std::vector<SweepRow>& rows) {
  std::vector<PointNumber> done;
  for (const SweepRow& row : rows) {
    done.push_back(row.point);
  }
  std::vector<PointNumber> missing;
  std::set_difference(points.begin(), points.end(), done.begin(), done.end(),
                      std::back_inserter(missing));
  return missing;
}

// A build may give points of the same sweep other numbers than the one that began it.
void check_columns(const std::string& folder, const Prepared& prepared, bool are_known_others,
                   const std::vector<SweepRow>& rows) {
  const std::size_t count = prepared.sweep.columns.size();
  const bool fit = !are_known_others && std::ranges::all_of(rows, [&](const SweepRow& row) {
    return row.numbers.size() == count;
  });
  if (!fit) {
    throw ConfigError(folder +
                      ": cannot go on: its points have other columns than this build of tessera "
                      "gives them; run the sweep anew, or go on with the build that began it");
  }
}

// This rank's share. Points that lie side by side are alike in cost; their hashes are not.
std::vector<PointNumber> share_of(std::vector<PointNumber> points,
                                  const comm::Communicator& communicator) {
  std::sort(points.begin(), points.end(),
            [](PointNumber a, PointNumber b) { return mix64(a) < mix64(b); });
  std::vector<PointNumber> share;
  const auto ranks = static_cast<std::size_t>(communicator.size());
  for (auto at = static_cast<std::size_t>(communicator.rank()); at < points.size(); at += ranks) {
    share.push_back(points[at]);
  }
  return share;
}

// Rows of all ranks, on rank 0.
std::vector<SweepRow> gather(comm::Communicator& communicator, const std::string& lines) {
  std::vector<SweepRow> rows;
  for (const std::string& text : communicator.gather(lines)) {
    for (SweepRow& row : rows_from_lines(text)) {
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

// Runs what is missing of the sweep in `folder`; `rows` are there already.
SweepOutcome go_through(Prepared& prepared, const std::string& folder, std::vector<SweepRow> rows,
                        comm::Communicator& communicator, const SweepHooks& hooks) {
  const std::vector<PointNumber> share =
      share_of(missing_points(prepared.points, rows), communicator);
  std::string lines;
  std::size_t done = 0;
  std::size_t failed = 0;
  SweepLog log(sweep_log_path(folder, communicator.rank()));
  for (const PointNumber point : share) {
    if (hooks.stop_requested && hooks.stop_requested()) {
      break;
    }
    const std::optional<SweepRow> row =
        run_point(prepared.sweep, point, prepared.loader(), hooks.stop_requested);
    if (!row) {
      break;
    }
    log.append(*row);
    lines += to_json_line(*row);
    ++done;
    failed += row->status == "finished" ? 0 : 1;
    if (hooks.on_point) {
      hooks.on_point(done, share.size(), failed);
    }
  }
  log.sync();

  SweepOutcome outcome;
  outcome.table = empty_table(prepared.sweep);
  outcome.points = prepared.points.size();
  // What was there before is counted once.
  const auto before = static_cast<std::uint64_t>(std::count_if(
      rows.begin(), rows.end(), [](const SweepRow& row) { return row.status == "finished"; }));
  std::array<std::uint64_t, 2> sums{share.size() - done, done - failed};
  communicator.reduce_sum(sums);
  outcome.complete = sums[0] == 0;
  outcome.finished = before + sums[1];
  for (SweepRow& row : gather(communicator, lines)) {
    rows.push_back(std::move(row));
  }
  std::sort(rows.begin(), rows.end(),
            [](const SweepRow& a, const SweepRow& b) { return a.point < b.point; });
  outcome.table.rows = std::move(rows);
  comm::on_first_rank(communicator, [&] { write_sweep_results(folder, outcome.table); });
  return outcome;
}

}  // namespace

std::string TextCache::text(const std::string& path) {
  const auto found = texts_.find(path);
  if (found != texts_.end()) {
    return found->second;
  }
  if (closed_) {
    throw IoError("cannot read " + path + ": it was not there when the sweep began");
  }
  return texts_.emplace(path, load_(path)).first->second;
}

std::string TextCache::hash(const std::vector<std::string>& others,
                            const std::vector<std::string>& files) const {
  // In the order of what they say: paths depend on the folder from which they are seen.
  std::vector<std::string> texts = others;
  const std::vector<std::string> digests = sim::digests_of_files(files);
  texts.insert(texts.end(), digests.begin(), digests.end());
  for (const auto& [path, text] : texts_) {
    texts.push_back(text);
  }
  std::sort(texts.begin(), texts.end());
  Digest digest;
  std::uint64_t place = 0;
  for (const std::string& text : texts) {
    for (const char letter : text) {
      digest.add({place++, static_cast<unsigned char>(letter)});
    }
    digest.add({place++, 256});  // an end, which is no letter
  }
  return digest.to_string();
}

SweepOutcome run_sweep(const std::string& path, const std::vector<std::string>& overrides,
                       const std::string& folder, comm::Communicator& communicator,
                       const config::TextLoader& load, const SweepHooks& hooks) {
  Prepared prepared(path, overrides, load);
  const std::string where = folder.empty() ? "out/" + prepared.sweep.name : folder;
  trace::FolderLock lock;
  const std::vector<std::string> ranks = communicator.gather(trace::own_process());
  comm::on_first_rank(communicator, [&] {
    lock.take(where, ranks);
    prepare_sweep_folder(where, prepared.state, prepared.sweep.resolved);
    if (hooks.on_note) {
      hooks.on_note(prepared.sweep.name + ": " + std::to_string(prepared.points.size()) +
                    " points of a grid of " + std::to_string(prepared.sweep.axes.points()) +
                    " on " + communicator.description());
    }
  });
  SweepOutcome outcome = go_through(prepared, where, {}, communicator, hooks);
  outcome.folder = where;
  return outcome;
}

SweepOutcome resume_sweep(const std::string& folder, comm::Communicator& communicator,
                          const config::TextLoader& load, const SweepHooks& hooks) {
  SweepState state;
  std::string lines;
  std::string columns;  // of the folder
  trace::FolderLock lock;
  const std::vector<std::string> ranks = communicator.gather(trace::own_process());
  comm::on_first_rank(communicator, [&] {
    read_sweep_state(folder);  // what holds no sweep is not touched
    lock.take(folder, ranks);
    state = read_sweep_state(folder);
    columns = join(state.columns, "\n");
    for (const SweepRow& row : read_sweep_logs(folder)) {
      lines += to_json_line(row);
    }
  });
  state.sweep = communicator.broadcast(state.sweep, 0);
  state.hash = communicator.broadcast(state.hash, 0);
  state.overrides.resize(
      std::stoul(communicator.broadcast(std::to_string(state.overrides.size()), 0)));
  for (std::string& setting : state.overrides) {
    setting = communicator.broadcast(setting, 0);
  }
  Prepared prepared(state.sweep, state.overrides, load);
  if (prepared.state.hash != state.hash) {
    throw ConfigError(folder + ": cannot go on: " + state.sweep +
                      ", or a file it leads to, is not as it was when the sweep began");
  }
  columns = communicator.broadcast(columns, 0);
  std::vector<SweepRow> rows = rows_from_lines(communicator.broadcast(lines, 0));
  check_columns(folder, prepared, !columns.empty() && columns != join(prepared.state.columns, "\n"),
                rows);
  if (communicator.rank() == 0 && hooks.on_note) {
    hooks.on_note(prepared.sweep.name + ": going on; " + std::to_string(rows.size()) + " of " +
                  std::to_string(prepared.points.size()) + " points are there");
  }
  SweepOutcome outcome = go_through(prepared, folder, std::move(rows), communicator, hooks);
  outcome.folder = folder;
  return outcome;
}

}  // namespace tessera::explore
