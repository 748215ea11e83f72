#include "measure.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "tessera/core/error.hpp"

namespace tessera::bench {
namespace {

std::uint64_t nanoseconds(double seconds) {
  return static_cast<std::uint64_t>(std::llround(seconds * 1e9));
}

double seconds(std::uint64_t nanoseconds) {
  return static_cast<double>(nanoseconds) * 1e-9;
}

constexpr std::uint64_t half_mask = 0xFFFFFFFFULL;

// From sums of 32-bit pieces, lowest first, which have room for the carries between them.
Digest digest_of(const std::array<std::uint64_t, 4>& pieces) {
  Digest digest(pieces[2] + (pieces[3] << 32), pieces[0]);
  digest.merge(Digest(pieces[1] >> 32, pieces[1] << 32));
  return digest;
}

}  // namespace

Measurement over_ranks(comm::Communicator& communicator, Measurement rank) {
  const std::array<std::uint64_t, 4> pieces{rank.digest.low() & half_mask, rank.digest.low() >> 32,
                                            rank.digest.high() & half_mask,
                                            rank.digest.high() >> 32};
  std::array<std::uint64_t, 15> sums{rank.events,
                                     rank.hops.value_or(0),
                                     rank.windows,
                                     rank.remote_messages,
                                     rank.largest_pending,
                                     rank.process_bytes,
                                     rank.event_bytes,
                                     rank.model_bytes,
                                     nanoseconds(rank.cpu_s),
                                     nanoseconds(rank.waiting_s),
                                     rank.lps,
                                     pieces[0],
                                     pieces[1],
                                     pieces[2],
                                     pieces[3]};
  std::array<std::uint64_t, 5> most{rank.rounds, rank.peak_memory, nanoseconds(rank.wall_s),
                                    static_cast<std::uint64_t>(rank.simulated.ps()),
                                    rank.reductions};
  communicator.reduce_sum(sums);
  communicator.reduce_max(most);
  Measurement all = std::move(rank);
  all.ranks = communicator.size();
  all.events = sums[0];
  if (all.hops) {
    all.hops = sums[1];
  }
  all.windows = sums[2];
  all.remote_messages = sums[3];
  all.largest_pending = sums[4];
  all.process_bytes = sums[5];
  all.event_bytes = sums[6];
  all.model_bytes = sums[7];
  all.cpu_s = seconds(sums[8]);
  all.waiting_s = seconds(sums[9]);
  all.lps = sums[10];
  all.digest = digest_of({sums[11], sums[12], sums[13], sums[14]});
  all.rounds = most[0];
  all.peak_memory = most[1];
  all.wall_s = seconds(most[2]);
  all.simulated = SimTime::from_ps(static_cast<std::int64_t>(most[3]));
  all.reductions = most[4];
  return all;
}

Measurement best_of(std::vector<Measurement> repeats) {
  ensure(!repeats.empty(), "no run to report");
  for (const Measurement& run : repeats) {
    ensure(same_results(run, repeats.front()), "repeated runs gave different results");
  }
  std::sort(repeats.begin(), repeats.end(),
            [](const Measurement& a, const Measurement& b) { return a.cpu_s < b.cpu_s; });
  const std::size_t half = repeats.size() / 2;
  const double median = repeats.size() % 2 == 1
                            ? repeats[half].cpu_s
                            : (repeats[half - 1].cpu_s + repeats[half].cpu_s) / 2;
  Measurement best = std::move(repeats.front());
  best.cpu_median_s = median;
  return best;
}

bool same_results(const Measurement& a, const Measurement& b) {
  return a.events == b.events && a.hops == b.hops && a.simulated == b.simulated &&
         a.digest == b.digest;
}

}  // namespace tessera::bench
