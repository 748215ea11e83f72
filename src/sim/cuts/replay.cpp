#include "cuts/replay.hpp"

#include <algorithm>
#include <array>

namespace tessera::sim {
namespace {

class Replaying {
 public:
  Replaying(const PlanTimes& times, const CutWork& work, int ranks, const ReplayCosts& costs)
      : times_(times), work_(work), replay_(ranks, costs) {}

  Replay run() {
    double all = 0;
    double events = 0;
    for (const PlanTimes::Handing& handing : times_.handings) {
      for (const CutWork::Crossing& crossing :
           work_.crossings(PlanTraffic::exchange(handing.job, handing.talk))) {
        all += crossing.on_the_way ? crossing.steps : 1;
      }
    }
    for (const PlanTimes::Run& run : times_.runs) {
      for (const CutWork::Share& share : work_.shares(run.job)) {
        events += share.events;
      }
      for (const Talk talk : spread) {
        for (const CutWork::Crossing& crossing :
             work_.crossings(PlanTraffic::exchange(run.job, talk))) {
          all += crossing.steps;
        }
      }
    }
    thinning_ = replay_thinning(all, events);
    for (const PlanTimes::Run& run : times_.runs) {
      for (const CutWork::Share& share : work_.shares(run.job)) {
        replay_.add_work(share.rank, run.begin, run.end, share.events);
      }
      for (const Talk talk : spread) {
        add_exchange(run, talk);
      }
    }
    for (const PlanTimes::Handing& handing : times_.handings) {
      add_handing(handing);
    }
    return replay_.run();
  }

 private:
  // Those that go on through a pass.
  static constexpr std::array<Talk, 4> spread{Talk::tensor, Talk::replicas, Talk::tied,
                                              Talk::memory};

  void add(const CutWork::Crossing& crossing, std::int64_t sent, std::int64_t arrives,
           std::uint32_t times, std::int64_t apart) {
    replay_.add_message(crossing.from, crossing.to, sent, arrives, times, apart,
                        static_cast<double>(crossing.events) * times / crossing.steps);
  }

  void add_exchange(const PlanTimes::Run& run, Talk talk) {
    const std::size_t exchange = PlanTraffic::exchange(run.job, talk);
    const std::int64_t length = std::max<std::int64_t>(1, run.end - run.begin);
    for (const CutWork::Crossing& crossing : work_.crossings(exchange)) {
      const std::int64_t apart = std::max<std::int64_t>(1, length / std::max(1U, crossing.steps));
      const std::int64_t late = std::min(std::max(times_.hop, times_.step[exchange]), apart);
      for (std::uint32_t step = 0; step < crossing.steps; step += thinning_) {
        const std::int64_t sent = run.begin + apart * step;
        add(crossing, sent,
            sent + std::max<std::int64_t>(1, crossing.on_the_way ? times_.hop : late),
            std::min(thinning_, crossing.steps - step), apart);
      }
    }
  }

  void add_handing(const PlanTimes::Handing& handing) {
    for (const CutWork::Crossing& crossing :
         work_.crossings(PlanTraffic::exchange(handing.job, handing.talk))) {
      if (!crossing.on_the_way) {
        replay_.add_message(crossing.from, crossing.to, handing.sent, handing.arrives, 1, 0,
                            static_cast<double>(crossing.events));
        continue;
      }
      const std::int64_t length = std::max<std::int64_t>(1, handing.arrives - handing.sent);
      const std::int64_t apart = std::max<std::int64_t>(1, length / std::max(1U, crossing.steps));
      for (std::uint32_t step = 0; step < crossing.steps; step += thinning_) {
        const std::int64_t sent = handing.sent + apart * step;
        add(crossing, sent, sent + times_.hop, std::min(thinning_, crossing.steps - step), apart);
      }
    }
  }

  const PlanTimes& times_;
  const CutWork& work_;
  RegionReplay replay_;
  std::uint32_t thinning_ = 1;
};

}  // namespace

Replay replay_cut(const PlanTimes& times, const CutWork& work, int ranks,
                  const ReplayCosts& costs) {
  return Replaying(times, work, ranks, costs).run();
}

}  // namespace tessera::sim
