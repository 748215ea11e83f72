// Times beyond 2^63 ps, with what made them so long.
#pragma once

#include <cstdint>
#include <string>

#include "tessera/core/error.hpp"

namespace tessera {

// Said behind what takes so long.
inline constexpr const char* range_of_time = "2^63 ps (about 106 days)";

class TimeTooLong : public ModelError {
 public:
  explicit TimeTooLong(const std::string& message) : ModelError(message) {}
  [[noreturn]] void throw_placed(SimTime time, EntityId entity) const override {
    throw TimeTooLong(placed(time, entity));
  }

 protected:
  explicit TimeTooLong(const ModelError& error) : ModelError(error) {}
};

// One duration: `amount` bytes, operations or cycles at `rate` of them a second.
class DurationTooLong : public TimeTooLong {
 public:
  DurationTooLong(const std::string& message, std::uint64_t amount, std::uint64_t rate)
      : TimeTooLong(message), amount_(amount), rate_(rate) {}

  std::uint64_t amount() const { return amount_; }
  std::uint64_t rate() const { return rate_; }
  [[noreturn]] void throw_placed(SimTime time, EntityId entity) const override {
    throw DurationTooLong(placed(time, entity), amount_, rate_);
  }

 private:
  DurationTooLong(const ModelError& error, std::uint64_t amount, std::uint64_t rate)
      : TimeTooLong(error), amount_(amount), rate_(rate) {}

  std::uint64_t amount_;
  std::uint64_t rate_;
};

}  // namespace tessera
