#include "results/moved_bytes.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "results/rank_sums.hpp"

namespace tessera::sim {
namespace {

// Each job's work with its executor.
void visit_jobs(const RankModels& models,
                const std::function<void(const Work&, const executor::Executor&)>& visit) {
  std::vector<const Work*> works;
  models.work->visit_jobs([&](const Work& work) { works.push_back(&work); });
  std::size_t job = 0;
  models.executor->visit_jobs([&](const std::string&, const executor::Executor& executor) {
    visit(*works[job++], executor);
  });
}

// Two numbers of all jobs: what all ranks know beforehand, and what each has counted by itself.
class JobSums {
 public:
  // None: not known. All ranks know of the same jobs.
  template <class Pair>
  void know(const std::optional<Pair>& pair) {
    add(pair, known_);
  }
  template <class Pair>
  void count(const std::optional<Pair>& pair) {
    add(pair, counted_);
    has_counted_ = true;
  }
  void count_more(std::uint64_t first, std::uint64_t second) {
    counted_[0] += first;
    counted_[1] += second;
  }
  bool has_counted() const { return has_counted_; }

  std::optional<std::array<std::uint64_t, 2>> sums(comm::Communicator& communicator) {
    if (!is_known_) {
      return std::nullopt;
    }
    communicator.reduce_sum(counted_);
    return std::array{known_[0] + counted_[0], known_[1] + counted_[1]};
  }

 private:
  template <class Pair>
  void add(const std::optional<Pair>& pair, std::array<std::uint64_t, 2>& sums) {
    is_known_ = is_known_ && pair.has_value();
    if (pair) {
      const auto& [first, second] = *pair;
      sums[0] += first;
      sums[1] += second;
    }
  }

  std::array<std::uint64_t, 2> known_{};
  std::array<std::uint64_t, 2> counted_{};
  bool is_known_ = true;
  bool has_counted_ = false;
};

}  // namespace

std::optional<Work::Accessed> bytes_asked_for(const RankModels& models, Of tiles) {
  JobSums jobs;
  visit_jobs(models, [&](const Work& work, const executor::Executor& executor) {
    const bool for_others = tiles == Of::all && work.stands_for_others();
    const auto known = for_others ? work.accessed_by_all() : work.accessed();
    if (known || for_others) {
      jobs.know(known);
    } else {
      jobs.count(executor.asked_of_memory());
    }
  });
  if (models.coherent && jobs.has_counted()) {
    const memory::CoherentTotals totals = models.coherent->totals();
    jobs.count_more(totals.bytes_to_read, totals.bytes_to_write);
  }
  const auto sums = jobs.sums(models.communicator);
  return sums ? std::optional(Work::Accessed{(*sums)[0], (*sums)[1]}) : std::nullopt;
}

std::optional<Work::Accessed> bytes_moved(const RankModels& models) {
  if (models.experiment.memory->account() == memory::MemoryModel::Account::none) {
    return std::nullopt;
  }
  std::array<std::uint64_t, 2> moved{};
  // All that was booked, also what a channel is at after the last event of the run.
  models.memory->visit_channels(SimTime::never(), [&](const memory::ChannelUse& use) {
    moved[0] += use.read.count();
    moved[1] += use.written.count();
  });
  models.communicator.reduce_sum(moved);
  return Work::Accessed{moved[0], moved[1]};
}

namespace {

// All that cores of simulated tiles moved, as often as each stands for one, beside what programs of
// all tiles access.
std::uint64_t of_all(std::uint64_t moved, std::uint64_t simulated, std::uint64_t all,
                     std::uint64_t each) {
  return (moved - std::min(moved, simulated)) * each + all;
}

}  // namespace

std::optional<Work::Accessed> bytes_of_memory(const RankModels& models) {
  const std::optional<Work::Accessed> asked = bytes_asked_for(models, Of::all);
  if (asked) {
    return asked;
  }
  const std::optional<Work::Accessed> moved = bytes_moved(models);
  if (!moved || !models.work->stands_for_others()) {
    return moved;
  }
  const std::optional<Work::StoodFor> own = models.work->stood_for();
  return own ? std::optional(Work::Accessed{
                   of_all(moved->read, own->simulated.read, own->all.read, own->each),
                   of_all(moved->written, own->simulated.written, own->all.written, own->each)})
             : std::nullopt;
}

Wide bytes_of_operands(const RankModels& models) {
  const Wide found = models.executor->operand_bytes_found();
  return models.work->operand_bytes() + sums_over_ranks(models.communicator, {found}).front();
}

std::optional<executor::SentBytes> bytes_sent(const RankModels& models) {
  JobSums jobs;
  visit_jobs(models, [&](const Work& work, const executor::Executor& executor) {
    if (work.stands_for_others()) {
      jobs.know(work.sent_by_all());
    } else {
      jobs.count(executor.sent_bytes());
    }
  });
  const auto sums = jobs.sums(models.communicator);
  return sums ? std::optional(executor::SentBytes{(*sums)[0], (*sums)[1]}) : std::nullopt;
}

}  // namespace tessera::sim
