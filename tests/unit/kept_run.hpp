// A run's state at a pause, in memory, and runs that go on from it on any number of ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "tessera/core/error.hpp"
#include "tessera/core/time.hpp"
#include "tessera/pdes/engine.hpp"

namespace tessera::testing {

class KeptRun {
 public:
  // In on_pause, on every rank of the run that is kept.
  void keep(const pdes::Engine& engine) {
    const std::scoped_lock lock(mutex_);
    for (std::uint32_t index = 0; index < engine.local_entities(); ++index) {
      pdes::StateWriter writer;
      engine.save(index, writer);
      state_[engine.entity_of(index).value()] = bytes_of(writer);
    }
    pdes::StateWriter totals;
    engine.save_totals(totals);
    totals_.push_back(bytes_of(totals));
    engine.visit_pending([this](const pdes::Event& event) { pending_.push_back(event); });
  }

  // Before the run that goes on, on every rank; the first one has the totals of all.
  void put_back(pdes::Engine& engine, bool is_first) const {
    std::map<std::uint32_t, std::uint32_t> index_of;
    for (std::uint32_t index = 0; index < engine.local_entities(); ++index) {
      index_of[engine.entity_of(index).value()] = index;
      pdes::StateReader reader(state_.at(engine.entity_of(index).value()));
      engine.restore(index, reader);
      ensure(reader.at_end(), "as much is read as was written");
    }
    for (const pdes::Event& event : pending_) {
      if (index_of.contains(event.target)) {
        engine.restore_pending(event);
      }
    }
    for (const std::vector<std::byte>& totals : totals_) {
      pdes::StateReader reader(totals);
      engine.restore_totals(reader, is_first);
    }
  }

  bool is_empty() const { return state_.empty(); }
  const std::vector<pdes::Event>& pending() const { return pending_; }

 private:
  static std::vector<std::byte> bytes_of(const pdes::StateWriter& writer) {
    return {writer.bytes().begin(), writer.bytes().end()};
  }

  std::mutex mutex_;
  std::map<std::uint32_t, std::vector<std::byte>> state_;  // by entity
  std::vector<std::vector<std::byte>> totals_;             // of each rank
  std::vector<pdes::Event> pending_;
};

// Runs the engine of a rank to its end. With `kept` the run is kept at its first pause, where
// `keep_more` is called as well, on every rank; with `from` it goes on from one. A Cut is what a
// test keeps of a run: its KeptRun `run`, and the `time()` of pauses.
template <class Cut, class KeepMore>
void run_over_a_pause(pdes::Engine& engine, bool is_first_rank, Cut* kept, const Cut* from,
                      const KeepMore& keep_more) {
  pdes::EngineHooks hooks;
  bool is_kept = false;
  if (kept != nullptr) {
    engine.set_pauses(kept->time());
    hooks.on_pause = [&](SimTime) {
      if (!std::exchange(is_kept, true)) {
        kept->run.keep(engine);
        keep_more();
      }
    };
  }
  if (from != nullptr) {
    from->run.put_back(engine, is_first_rank);
  }
  engine.run(hooks);
}

}  // namespace tessera::testing
