// Times as files of requests write them, in picoseconds, rounded to the nearest: floating numbers
// are never refused for digits that they have too many.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tessera::serving {

// A decimal number ("12.5", "1e-3") times 10^12 / `parts` (a power of ten up to 10^12), exact but
// for the rounding; none: it is no number, or beyond 9.2e6 s.
std::optional<std::int64_t> ps_from(std::string_view number, std::int64_t parts);

// The unit behind a number ("ms" of "1.5 ms") as parts of a second, for ps_from; the number stays
// in `text`. None: it is none of s, ms, us, ns, ps.
std::optional<std::int64_t> take_unit(std::string_view& text);
// Of a number with such a unit.
std::optional<std::int64_t> ps_with_unit(std::string_view text);

// "2023-11-16 18:15:46.6805900", with a 'T' between and a zone ("Z", "+00:00") behind where there
// are any (ISO 8601).
struct DateTime {
  std::int64_t seconds = 0;  // since 1970
  std::int64_t ps = 0;       // beyond
};
std::optional<DateTime> date_time_from(std::string_view text);
// The same of seconds from any beginning, with digits behind a point where there are any: clocks
// count more of them than picoseconds hold. None: there is a sign, an exponent or another letter.
std::optional<DateTime> seconds_from(std::string_view text);

}  // namespace tessera::serving
