// Many times, of which mean, largest and percentiles are asked for in the end.
//
// Up to a million, or as many as said, are kept as they are, and percentiles are exact. Of more,
// counts are kept of spans that are 1/1024 of their times wide (G. Tene's HdrHistogram, in binary),
// from that of the least to that of the largest time: a percentile is then the middle of its span,
// off by at most 0.05 %, and memory does not grow any more. Count, mean and largest are exact in
// any case.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tessera/core/wide.hpp"
#include "tessera/pdes/state.hpp"

namespace tessera::executor {

class TimeDistribution {
 public:
  static constexpr std::size_t most_exact = std::size_t{1} << 20U;

  TimeDistribution() = default;
  explicit TimeDistribution(std::size_t most) : most_exact_(most) {}

  void add(std::uint64_t ps);
  void add_all(const TimeDistribution& other);
  std::uint64_t count() const { return count_; }
  std::uint64_t mean() const;  // rounded down; 0 of none
  std::uint64_t most() const { return most_; }
  // By nearest rank, each of 1 to 100; 0 of none.
  std::vector<std::uint64_t> percentiles(const std::vector<std::uint32_t>& percents) const;
  bool is_exact() const { return spans_.empty(); }

  void save(pdes::StateWriter& writer) const;
  void restore(pdes::StateReader& reader);
  // Of so many times, when it holds most [B]; counts as if the largest were a thousand times the
  // least.
  static std::size_t predicted_bytes(std::uint64_t count, std::size_t most = most_exact);
  std::size_t resident_bytes() const {
    return (exact_.capacity() + spans_.capacity()) * sizeof(std::uint64_t);
  }

 private:
  void count_exact();
  void count_span(std::uint64_t ps);
  // Makes room for spans from `first` up to before `end`.
  void reach(std::size_t first, std::size_t end);

  std::size_t most_exact_ = most_exact;
  std::uint64_t count_ = 0;
  std::uint64_t most_ = 0;
  Wide sum_ = 0;
  std::vector<std::uint64_t> exact_;
  std::vector<std::uint64_t> spans_;  // counts, once there are more
  std::size_t first_span_ = 0;        // that the first of them is of
};

}  // namespace tessera::executor
