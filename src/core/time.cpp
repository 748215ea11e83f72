#include "tessera/core/time.hpp"

#include <algorithm>
#include <iterator>
#include <string>

#include "decimal.hpp"
#include "tessera/core/range_error.hpp"

namespace tessera {

void SimTime::overflow() {
  throw TimeTooLong(std::string("simulated time leaves the range of ") + range_of_time);
}

std::string to_string(SimTime time) {
  if (time.is_never()) {
    return "never";
  }
  struct Unit {
    std::uint64_t ps;
    const char* name;
  };
  constexpr Unit units[] = {
      {1'000'000'000'000, "s"}, {1'000'000'000, "ms"}, {1'000'000, "us"}, {1'000, "ns"}, {1, "ps"}};
  // Unsigned, so that the lowest value of all has a magnitude.
  const auto signed_ps = static_cast<std::uint64_t>(time.ps());
  const std::uint64_t magnitude = time.ps() < 0 ? 0 - signed_ps : signed_ps;
  const auto rounded = [magnitude](std::uint64_t unit_ps) {
    const std::uint64_t step = std::max<std::uint64_t>(1, unit_ps / 1'000'000);
    return (magnitude + step / 2) / step * step;
  };
  // What would round to a thousand of the next unit down is given in this one: 999.9999999 ms is 1
  // s.
  const Unit* unit = std::begin(units);
  while (unit->ps > 1 && rounded((unit + 1)->ps) < unit->ps) {
    ++unit;
  }
  std::string text = time.ps() < 0 ? "-" : "";
  text += decimal_text(rounded(unit->ps), unit->ps);
  return text + " " + unit->name;
}

}  // namespace tessera
