#include <algorithm>
#include <deque>
#include <iterator>
#include <limits>

#include "tessera/core/error.hpp"
#include "tessera/serving/batcher.hpp"

namespace tessera::serving {
namespace {

constexpr std::uint32_t not_started = 0xFFFFFFFF;

struct Waiter {
  std::uint64_t request = 0;
  Request what;
  std::uint32_t step = not_started;
  SimTime begun;
};

class SampleBatcher final : public Batcher {
 public:
  explicit SampleBatcher(const BatchOptions& options) : options_(options) {}

  void arrive(std::uint64_t number, const Request& request) override {
    all_.push_back({number, request, not_started, {}});
  }

  std::optional<Batch> next(std::uint32_t number, SimTime now) override {
    Batch batch;
    for (Waiter& waiter : all_) {
      if (waiter.step != not_started) {
        continue;
      }
      if (batch.samples > 0 && batch.samples + waiter.what.samples > options_.samples) {
        break;
      }
      waiter.step = number;
      waiter.begun = now;
      batch.samples += waiter.what.samples;
    }
    return batch.samples > 0 ? std::optional(batch) : std::nullopt;
  }

  void end(std::uint32_t number, SimTime now, BatchListener& listener) override {
    for (const Waiter& waiter : all_) {
      if (waiter.step == number) {
        listener.on_served({waiter.request, waiter.what, waiter.begun, now, now, 0});
      }
    }
    std::erase_if(all_, [number](const Waiter& waiter) { return waiter.step == number; });
  }

  Waiting waiting(std::uint32_t number) const override {
    Waiting waiting;
    for (const Waiter& waiter : all_) {
      if (waiter.step == number) {
        waiting.since = std::min(waiting.since, waiter.what.arrival);
      }
    }
    return waiting;
  }
  std::uint64_t unfinished() const override { return all_.size(); }
  bool end_with_steps() const override {
    return std::all_of(all_.begin(), all_.end(),
                       [](const Waiter& waiter) { return waiter.step != not_started; });
  }

  void save(pdes::StateWriter& writer) const override {
    writer.put_all(std::vector<Waiter>(all_.begin(), all_.end()));
  }
  void restore(pdes::StateReader& reader) override {
    const auto all = reader.get_all<Waiter>();
    all_.assign(all.begin(), all.end());
  }

 private:
  BatchOptions options_;
  std::deque<Waiter> all_;  // in order of arrival
};

}  // namespace

void Batcher::take_over(const Carried& /*carried*/) {
  throw InternalError("keys and values are of language models");
}

std::unique_ptr<Batcher> make_sample_batcher(const BatchOptions& options) {
  return std::make_unique<SampleBatcher>(options);
}

std::vector<std::uint32_t> possible_samples(const RequestSource& requests,
                                            const BatchOptions& options, std::size_t most) {
  std::vector<std::uint32_t> sizes = requests.samples();
  if (sizes.size() > most) {
    return sizes;
  }
  constexpr std::uint64_t never = std::numeric_limits<std::uint64_t>::max();
  // Requests that may wait at a time, and the fewest of them that come to so many samples.
  const std::uint64_t waiting =
      requests.clients() > 0 ? requests.clients() : requests.count().value_or(never - 1);
  std::vector<std::uint64_t> fewest(options.samples + 1, never);
  fewest[0] = 0;
  for (std::uint32_t sum = 1; sum <= options.samples; ++sum) {
    for (const std::uint32_t size : sizes) {
      if (size <= sum && fewest[sum - size] < waiting) {
        fewest[sum] = std::min(fewest[sum], fewest[sum - size] + 1);
      }
    }
  }
  std::vector<std::uint32_t> possible;
  for (std::uint32_t sum = 1; sum <= options.samples; ++sum) {
    if (fewest[sum] != never) {
      possible.push_back(sum);
    }
  }
  // One that is larger goes by itself.
  std::copy_if(sizes.begin(), sizes.end(), std::back_inserter(possible),
               [&](std::uint32_t size) { return size > options.samples; });
  return possible;
}

}  // namespace tessera::serving
