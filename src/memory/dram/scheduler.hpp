// What the schedulers of a DRAM channel have in common: banks, requests, and the cycles in between
// that nobody asks for.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "dram/banks.hpp"
#include "dram/port.hpp"
#include "dram/requests.hpp"

namespace tessera::memory {

class DramScheduler : public DramChannel {
 public:
  Cycle next() const override { return requests_.size() == 0 ? no_cycle : wake_; }
  Cycle tick(Cycle now, std::vector<DramDone>& done) override {
    catch_up(now, done);
    step(now, done);
    return DramScheduler::next();
  }
  // Only a write, or a read of what a write holds, may finish at once.
  Cycle first_finish(Cycle from, const DramPort& port) const override {
    const bool reads = requests_.writes() == 0 && port.writes() == 0;
    return reads ? from + banks_.read_latency() : from;
  }
  std::array<std::size_t, 2> waiting() const override {
    return {requests_.size() - requests_.writes(), requests_.writes()};
  }
  const DramCounts& counts() const override { return banks_.counts(); }
  std::size_t resident_bytes() const override {
    return banks_.resident_bytes() + requests_.resident_bytes();
  }
  void save(pdes::StateWriter& writer) const override {
    banks_.save(writer);
    requests_.save(writer);
    writer.put_all(refreshing_);
    writer.put(refresh_due_);
    writer.put(wake_);
  }
  void restore(pdes::StateReader& reader) override {
    banks_.restore(reader);
    requests_.restore(reader);
    refreshing_ = reader.get_all<std::uint32_t>();
    refresh_due_ = reader.get<Cycle>();
    wake_ = reader.get<Cycle>();
  }

 protected:
  static constexpr std::uint32_t none = HeldRequests::none;

  // `refresh_round`: cycles in which each rank refreshes once; 0: never.
  DramScheduler(const DramSpec& spec, Cycle refresh_round, Cycle first_refresh)
      : controller_(spec.controller),
        banks_(spec),
        requests_(std::size_t{spec.controller.read_queue} + spec.controller.write_queue),
        refresh_round_(refresh_round),
        refresh_due_(refresh_round > 0 ? first_refresh : no_cycle),
        wake_(refresh_due_) {}

  // One cycle, at whose end `wake_` is the next one in which something can happen.
  virtual void step(Cycle now, std::vector<DramDone>& done) = 0;

  // Steps through the cycles before `now` that nobody asked for: refreshes of an idle channel.
  void catch_up(Cycle now, std::vector<DramDone>& done) {
    while (wake_ < now) {
      if (requests_.size() == 0 && refreshing_.empty() && refresh_due_ <= wake_) {
        skip_refreshes(now);
      }
      step(wake_, done);
    }
  }

  static std::uint64_t bit(std::uint32_t bank) { return std::uint64_t{1} << bank; }

  DramController controller_;
  DramBanks banks_;
  HeldRequests requests_;
  std::vector<std::uint32_t> refreshing_;  // ranks whose refresh is due
  Cycle refresh_round_;
  Cycle refresh_due_;
  Cycle wake_;

 private:
  // All but the last few refreshes of a long rest leave no trace but their number.
  void skip_refreshes(Cycle now) {
    const Cycle whole = (now - refresh_due_) / refresh_round_ - 2;
    if (whole > 0 && banks_.all_closed()) {
      refresh_due_ += whole * refresh_round_;
      wake_ = refresh_due_;
      banks_.counts().refreshes += static_cast<std::uint64_t>(whole) * banks_.ranks();
    }
  }
};

}  // namespace tessera::memory
