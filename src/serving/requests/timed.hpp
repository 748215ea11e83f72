// Requests that are made as they are asked for: what they ask for follows from their number, and
// their times from those before. What is kept does not grow with how many there are.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "requests/shape.hpp"
#include "requests/table.hpp"

namespace tessera::serving {

// `Times` is a process of arrivals, a value whose copy goes on from where it was: `next()` gives
// the time of the next request, or none where it would come after the longest run.
template <class Times>
class TimedRequests final : public RequestSource {
 public:
  // Looks at all of them once; null where one comes too late.
  static std::unique_ptr<TimedRequests> make(RequestShape shape, std::uint64_t count, Times times,
                                             bool is_drawn) {
    std::unique_ptr<TimedRequests> made(new TimedRequests(std::move(shape), count, is_drawn));
    for (std::uint64_t number = 0; number < count; ++number) {
      made->mark(number, times);
      const std::optional<SimTime> time = times.next();
      if (!time) {
        return nullptr;
      }
      made->last_ = *time;
      made->extent_.add(made->shape_.at(number, *time));
    }
    return made;
  }

  std::optional<std::uint64_t> count() const override { return count_; }
  Request request(std::uint64_t number) const override {
    return shape_.at(number, times_at(number).next().value_or(SimTime::never()));
  }
  Request untimed(std::uint64_t number) const override {
    return shape_.at(number, SimTime::zero());
  }
  std::unique_ptr<ArrivalTimes> times_from(std::uint64_t number) const override {
    return std::make_unique<Following>(times_at(number));
  }
  SimTime last_arrival() const override { return last_; }
  Request largest() const override { return extent_.largest(); }
  std::vector<std::uint32_t> samples() const override { return extent_.samples(); }
  std::span<const std::uint32_t> pieces(std::uint64_t number) const override {
    return shape_.pieces(number);
  }
  std::uint32_t piece_tokens() const override { return shape_.piece_tokens(); }
  bool shares_beginnings() const override { return shape_.shares_beginnings(); }
  std::uint32_t class_of(std::uint64_t number) const override { return shape_.class_of(number); }
  std::size_t resident_bytes() const override {
    return marks_.capacity() * sizeof(Times) + shape_.resident_bytes();
  }
  bool is_drawn() const override { return is_drawn_; }
  std::vector<std::string> notes() const override { return shape_.notes; }

 private:
  static constexpr std::size_t most_marks = 256;

  class Following final : public ArrivalTimes {
   public:
    explicit Following(Times times) : times_(std::move(times)) {}
    SimTime next() override { return times_.next().value_or(SimTime::never()); }

   private:
    Times times_;
  };

  TimedRequests(RequestShape shape, std::uint64_t count, bool is_drawn)
      : shape_(std::move(shape)), count_(count), is_drawn_(is_drawn) {
    marks_.reserve(most_marks);
  }

  // Keeps where the process stood before each request whose number is a multiple of the distance,
  // which doubles when there are too many.
  void mark(std::uint64_t number, const Times& times) {
    if (number % distance_ != 0) {
      return;
    }
    if (marks_.size() == most_marks) {
      for (std::size_t kept = 1; kept < most_marks / 2; ++kept) {
        marks_[kept] = marks_[2 * kept];
      }
      marks_.erase(marks_.begin() + most_marks / 2, marks_.end());
      distance_ *= 2;
    }
    marks_.push_back(times);
  }

  // Where the process stands before that request.
  Times times_at(std::uint64_t number) const {
    const std::uint64_t nearest = std::min<std::uint64_t>(number / distance_, marks_.size() - 1);
    Times times = marks_[nearest];
    for (std::uint64_t before = nearest * distance_; before < number; ++before) {
      times.next();
    }
    return times;
  }

  RequestShape shape_;
  std::uint64_t count_;
  bool is_drawn_;
  SimTime last_;
  Extent extent_;
  std::uint64_t distance_ = 1;
  std::vector<Times> marks_;
};

}  // namespace tessera::serving
