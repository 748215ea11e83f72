#include "tessera/core/time.hpp"

#include <fmt/format.h>

#include "tessera/core/error.hpp"

namespace tessera {

void SimTime::overflow() {
  throw ModelError("simulated time leaves the range of 2^63 ps (about 106 days)");
}

std::string to_string(SimTime time) {
  if (time.is_never()) {
    return "never";
  }
  struct Unit {
    std::int64_t ps;
    const char* name;
  };
  constexpr Unit units[] = {{1'000'000'000'000, "s"},
                            {1'000'000'000, "ms"},
                            {1'000'000, "us"},
                            {1'000, "ns"},
                            {1, "ps"}};
  const std::int64_t magnitude = time.ps() < 0 ? -time.ps() : time.ps();
  for (const Unit& unit : units) {
    if (magnitude >= unit.ps || unit.ps == 1) {
      const double value = static_cast<double>(time.ps()) / static_cast<double>(unit.ps);
      std::string digits = fmt::format("{:.6f}", value);
      digits.erase(digits.find_last_not_of('0') + 1);
      if (digits.back() == '.') {
        digits.pop_back();
      }
      return digits + " " + unit.name;
    }
  }
  return "0 ps";
}

}  // namespace tessera
