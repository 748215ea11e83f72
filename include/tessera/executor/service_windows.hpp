// How a service fared over time, in windows of equal width. There are at most `most` of them: when
// time goes on beyond the last, two are made one, and the width doubles.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/core/time.hpp"
#include "tessera/core/wide.hpp"
#include "tessera/executor/time_distribution.hpp"
#include "tessera/pdes/state.hpp"

namespace tessera::executor {

// What a service holds at a time.
struct ServiceLoad {
  std::uint64_t running = 0;       // requests that have begun and are not over
  std::uint64_t waiting = 0;       // that have not, or gave their cache back
  std::uint64_t cache_blocks = 0;  // taken
  std::uint64_t replicas = 0;      // that are on

  bool holds_as(const ServiceLoad& other) const {
    return running == other.running && waiting == other.waiting &&
           cache_blocks == other.cache_blocks;
  }
};

struct ServiceWindow {
  // Times that are kept as they are; of more, percentiles are within 0.05 %.
  static constexpr std::size_t most_exact = std::size_t{1} << 12U;

  // In the window.
  std::uint64_t arrived = 0;  // requests
  std::uint64_t served = 0;
  std::uint64_t met = 0;  // of these, that met all targets
  std::uint64_t tokens = 0;
  // Of requests served in it.
  TimeDistribution first_token{most_exact};
  TimeDistribution a_token{most_exact};  // the mean of each request after its first token
  TimeDistribution latency{most_exact};  // from arrival to end
  // Sums over its time [ps].
  Wide running = 0;
  Wide waiting = 0;
  Wide cache_blocks = 0;
  Wide replicas = 0;

  void add(const ServiceWindow& other);
};

class ServiceWindows {
 public:
  static constexpr std::size_t most = 64;

  SimTime width() const { return width_; }
  const std::vector<ServiceWindow>& all() const { return windows_; }
  // What the last one lasted: the service may have ended within it, or as it began.
  SimTime last_width() const;

  // Times must not go back.
  void arrive(SimTime now) { ++at(now).arrived; }
  void give_token(SimTime now) { ++at(now).tokens; }
  // `a_token`: none of a request of one token.
  void serve(SimTime now, SimTime first_token, std::optional<SimTime> a_token, SimTime latency,
             bool met);
  const ServiceLoad& load() const { return load_; }
  // From now on.
  void hold(SimTime now, const ServiceLoad& load);
  void hold_replicas(SimTime now, std::uint64_t replicas);  // all else stays
  // From the beginning.
  void begin_with(std::uint64_t replicas) { load_.replicas = replicas; }

  void save(pdes::StateWriter& writer) const;
  void restore(pdes::StateReader& reader);
  std::size_t resident_bytes() const;
  // Of so many requests served, at even times.
  static std::size_t predicted_bytes(std::uint64_t requests);

 private:
  ServiceWindow& at(SimTime now);

  SimTime width_ = SimTime::from_ps(1'000'000);
  std::vector<ServiceWindow> windows_;
  SimTime since_;  // of the load
  ServiceLoad load_;
};

}  // namespace tessera::executor
