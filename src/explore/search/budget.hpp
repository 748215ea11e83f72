// How many candidates a search simulates, and what it spends on that.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace tessera::explore {

// Simulations between two looks at what they have shown; of any number of ranks.
inline constexpr std::size_t at_a_time = 8;
// Where each takes seconds: what four have shown rules out others of the eight.
inline constexpr std::size_t at_a_time_of_large = 4;

// The same on any number of ranks: events are those of forecasts.
class Budget {
 public:
  // `asked`: for so many simulations; 0: at least 64, and others that are worth it while all
  // together have taken no more than some ten seconds.
  explicit Budget(std::uint64_t asked) : asked_(asked) {}

  void spend(double events) {
    ++done_;
    events_ += events + events_of_planning;
  }
  std::size_t done() const { return done_; }
  std::size_t left() const {
    if (asked_ > 0) {
      return std::max(asked_, done_) - done_;
    }
    if (done_ < usual_number) {
      return usual_number - done_;
    }
    return events_ < most_events_of_usual ? at_a_time : 0;
  }
  // Whether all of them have taken no more than some seconds: so long estimates need not be
  // trusted.
  bool is_small() const { return events_ < most_events_of_small; }

 private:
  static constexpr std::size_t usual_number = 64;
  static constexpr double events_of_planning = 5e4;  // which take as long as that of a candidate
  static constexpr double most_events_of_usual = 5e7;
  static constexpr double most_events_of_small = 2e7;

  std::size_t asked_;
  std::size_t done_ = 0;
  double events_ = 0;
};

}  // namespace tessera::explore
