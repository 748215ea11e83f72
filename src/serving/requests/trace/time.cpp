#include "tessera/serving/trace_time.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>

#include "tessera/core/wide.hpp"

namespace tessera::serving {
namespace {

constexpr std::int64_t ps_of_second = 1'000'000'000'000;
constexpr int decimals = 12;

// Digits alone, exactly so many of them where `count` is not 0; what is left stays in `text`.
std::optional<std::int64_t> take_digits(std::string_view& text, std::size_t count) {
  std::int64_t value = 0;
  const char* const end = text.data() + (count == 0 ? text.size() : std::min(count, text.size()));
  if (text.empty() || text.front() < '0' || text.front() > '9') {
    return std::nullopt;
  }
  const std::from_chars_result read = std::from_chars(text.data(), end, value);
  if (read.ec != std::errc() ||
      (count != 0 && read.ptr != text.data() + static_cast<std::ptrdiff_t>(count))) {
    return std::nullopt;
  }
  text.remove_prefix(static_cast<std::size_t>(read.ptr - text.data()));
  return value;
}

bool take(std::string_view& text, char letter) {
  if (text.empty() || text.front() != letter) {
    return false;
  }
  text.remove_prefix(1);
  return true;
}

// Digits behind a point, as parts of 10^-12, rounded; the text begins with them.
std::optional<std::int64_t> take_fraction(std::string_view& text) {
  std::int64_t value = 0;
  int digit = 0;
  while (!text.empty() && text.front() >= '0' && text.front() <= '9') {
    if (digit < decimals) {
      value = value * 10 + (text.front() - '0');
    } else if (digit == decimals && text.front() >= '5') {
      ++value;
    }
    ++digit;
    text.remove_prefix(1);
  }
  if (digit == 0) {
    return std::nullopt;
  }
  for (; digit < decimals; ++digit) {
    value *= 10;
  }
  return value;
}

// "+02:00" and the like [s]; none behind it that is no zone.
std::optional<std::int64_t> zone_from(std::string_view text) {
  if (text.empty() || text == "Z") {
    return 0;
  }
  const bool is_east = text.front() == '+';
  if (!is_east && text.front() != '-') {
    return std::nullopt;
  }
  text.remove_prefix(1);
  const auto hours = take_digits(text, 2);
  take(text, ':');
  const auto minutes = text.empty() ? std::optional<std::int64_t>(0) : take_digits(text, 2);
  if (!hours || !minutes || !text.empty() || *hours > 14 || *minutes > 59) {
    return std::nullopt;
  }
  return (is_east ? 1 : -1) * (*hours * 3600 + *minutes * 60);
}

}  // namespace

std::optional<std::int64_t> ps_from(std::string_view number, std::int64_t parts) {
  constexpr double most = 9.2e18;
  const std::int64_t unit = ps_of_second / parts;
  std::string_view rest = number;
  const bool is_negative = take(rest, '-');
  // Whole numbers and those with a point are exact.
  if (number.find_first_of("eE") == std::string_view::npos) {
    const auto whole = take_digits(rest, 0);
    std::int64_t fraction = 0;
    if (whole && take(rest, '.') && !rest.empty()) {
      const auto digits = take_fraction(rest);
      if (!digits) {
        return std::nullopt;
      }
      fraction = *digits;
    }
    if (!whole || !rest.empty()) {
      return std::nullopt;
    }
    const Wide ps = Wide{static_cast<std::uint64_t>(*whole)} * static_cast<std::uint64_t>(unit) +
                    (Wide{static_cast<std::uint64_t>(fraction)} * static_cast<std::uint64_t>(unit) +
                     ps_of_second / 2) /
                        ps_of_second;
    if (ps > static_cast<Wide>(most)) {
      return std::nullopt;
    }
    return (is_negative ? -1 : 1) * static_cast<std::int64_t>(ps);
  }
  double value = 0;
  const std::from_chars_result read =
      std::from_chars(rest.data(), rest.data() + rest.size(), value);
  value *= static_cast<double>(unit);
  if (read.ec != std::errc() || read.ptr != rest.data() + rest.size() || !(value <= most) ||
      rest.front() == '-') {
    return std::nullopt;
  }
  return (is_negative ? -1 : 1) * std::llround(value);
}

std::optional<std::int64_t> take_unit(std::string_view& text) {
  struct Unit {
    std::string_view name;
    std::int64_t parts;
  };
  constexpr Unit units[] = {
      {"s", 1}, {"ms", 1'000}, {"us", 1'000'000}, {"ns", 1'000'000'000}, {"ps", 1'000'000'000'000}};
  const std::size_t end = std::min(text.find_first_not_of("+-.eE0123456789"), text.size());
  std::string_view name = text.substr(end);
  name.remove_prefix(std::min(name.find_first_not_of(' '), name.size()));
  text = text.substr(0, end);
  for (const Unit& unit : units) {
    if (unit.name == name) {
      return unit.parts;
    }
  }
  return std::nullopt;
}

std::optional<std::int64_t> ps_with_unit(std::string_view text) {
  const auto parts = take_unit(text);
  return parts ? ps_from(text, *parts) : std::nullopt;
}

std::optional<DateTime> seconds_from(std::string_view text) {
  const auto seconds = take_digits(text, 0);
  std::optional<std::int64_t> fraction = 0;
  if (take(text, '.') && !text.empty()) {
    fraction = take_fraction(text);
  }
  if (!seconds || !fraction || !text.empty()) {
    return std::nullopt;
  }
  return DateTime{*seconds, *fraction};
}

std::optional<DateTime> date_time_from(std::string_view text) {
  using std::chrono::day;
  using std::chrono::month;
  using std::chrono::year;
  const auto years = take_digits(text, 4);
  const bool dash = take(text, '-');
  const auto months = take_digits(text, 2);
  const bool second_dash = take(text, '-');
  const auto days = take_digits(text, 2);
  const bool between = take(text, ' ') || take(text, 'T');
  const auto hours = take_digits(text, 2);
  const bool colon = take(text, ':');
  const auto minutes = take_digits(text, 2);
  const bool second_colon = take(text, ':');
  const auto seconds = take_digits(text, 2);
  if (!years || !dash || !months || !second_dash || !days || !between || !hours || !colon ||
      !minutes || !second_colon || !seconds || *hours > 23 || *minutes > 59 || *seconds > 60) {
    return std::nullopt;
  }
  const std::chrono::year_month_day date(year(static_cast<int>(*years)),
                                         month(static_cast<unsigned>(*months)),
                                         day(static_cast<unsigned>(*days)));
  std::optional<std::int64_t> fraction = 0;
  if (take(text, '.')) {
    fraction = take_fraction(text);
  }
  const auto zone = zone_from(text);
  if (!date.ok() || !fraction || !zone) {
    return std::nullopt;
  }
  const std::int64_t of_days = std::chrono::sys_days(date).time_since_epoch().count();
  return DateTime{of_days * 86400 + *hours * 3600 + *minutes * 60 + *seconds - *zone, *fraction};
}

}  // namespace tessera::serving
