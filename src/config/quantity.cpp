// Numbers with a unit, read exactly: decimal digits and powers of 2 and 10, never floating point.
#include <algorithm>
#include <limits>
#include <span>

#include "decimal.hpp"
#include "excerpt.hpp"
#include "scalar.hpp"
#include "tessera/core/text.hpp"

namespace tessera::config {
namespace {

// A unit is 10^power_of_10 * 2^power_of_2 base units.
struct Unit {
  std::string name;
  int power_of_10;
  int power_of_2;
};

struct Prefix {
  const char* name;
  int power_of_10;
  int power_of_2;
};

constexpr Prefix decimal_prefixes[] = {{"", 0, 0},   {"k", 3, 0},  {"M", 6, 0}, {"G", 9, 0},
                                       {"T", 12, 0}, {"P", 15, 0}, {"E", 18, 0}};
constexpr Prefix byte_prefixes[] = {{"", 0, 0},    {"k", 3, 0},   {"K", 3, 0},   {"M", 6, 0},
                                    {"G", 9, 0},   {"T", 12, 0},  {"P", 15, 0},  {"E", 18, 0},
                                    {"Ki", 0, 10}, {"Mi", 0, 20}, {"Gi", 0, 30}, {"Ti", 0, 40},
                                    {"Pi", 0, 50}, {"Ei", 0, 60}};

// Everything that tells one quantity from another.
struct Quantity {
  TypeWords words;
  const char* base;   // unit of the whole number that is kept
  const char* usual;  // unit for "write e.g. '12 ns'"
  const char* known;  // for "known: …"; need not be complete
  std::uint64_t most;
  std::vector<Unit> units;
};

void add_units(std::vector<Unit>& units, std::span<const Prefix> prefixes, const Prefix& base) {
  for (const Prefix& prefix : prefixes) {
    units.push_back({std::string(prefix.name) + base.name, prefix.power_of_10 + base.power_of_10,
                     prefix.power_of_2 + base.power_of_2});
  }
}

constexpr std::uint64_t most_count = std::numeric_limits<std::uint64_t>::max();

const Quantity& size() {
  static const Quantity quantity = [] {
    Quantity q{{"a size", "4 KiB"}, "B", "KiB", "B, kB, MB, GB, TB, KiB, MiB, GiB, TiB",
               most_count,          {}};
    add_units(q.units, byte_prefixes, {"B", 0, 0});
    return q;
  }();
  return quantity;
}

const Quantity& bandwidth() {
  static const Quantity quantity = [] {
    Quantity q{{"a bandwidth", "256 GB/s"},
               "B/s",
               "GB/s",
               "B/s, kB/s, MB/s, GB/s, TB/s, GiB/s, and bits as Gb/s or Gbit/s",
               most_count,
               {}};
    add_units(q.units, byte_prefixes, {"B/s", 0, 0});
    add_units(q.units, byte_prefixes, {"b/s", 0, -3});
    add_units(q.units, byte_prefixes, {"bit/s", 0, -3});
    return q;
  }();
  return quantity;
}

const Quantity& duration() {
  // SimTime::never() stands for no time at all and cannot be written.
  static const Quantity quantity{{"a time", "10 ns"},
                                 "ps",
                                 "ns",
                                 "ps, ns, us, ms, s",
                                 static_cast<std::uint64_t>(SimTime::never().ps()) - 1,
                                 {{"ps", 0, 0},
                                  {"ns", 3, 0},
                                  {"us", 6, 0},
                                  {"\u00B5s", 6, 0},  // micro sign
                                  {"\u03BCs", 6, 0},  // Greek mu
                                  {"ms", 9, 0},
                                  {"s", 12, 0}}};
  return quantity;
}

const Quantity& frequency() {
  static const Quantity quantity{
      {"a frequency", "1.1 GHz"},
      "Hz",
      "GHz",
      "Hz, kHz, MHz, GHz",
      most_count,
      {{"Hz", 0, 0}, {"kHz", 3, 0}, {"MHz", 6, 0}, {"GHz", 9, 0}, {"THz", 12, 0}}};
  return quantity;
}

const Quantity& operations() {
  static const Quantity quantity = [] {
    Quantity q{{"a number of operations", "3 GFLOP"},
               "FLOP",
               "GFLOP",
               "FLOP, GFLOP, TFLOP, and for integers OP, GOP, TOP",
               most_count,
               {}};
    for (const char* name : {"FLOP", "OP"}) {
      add_units(q.units, decimal_prefixes, {name, 0, 0});
    }
    return q;
  }();
  return quantity;
}

const Quantity& operation_rate() {
  static const Quantity quantity = [] {
    Quantity q{{"a rate of operations", "16 TFLOP/s"},
               "FLOP/s",
               "TFLOP/s",
               "FLOP/s, GFLOP/s, TFLOP/s, PFLOP/s, and for integers GOPS, TOPS",
               most_count,
               {}};
    for (const char* name : {"FLOP/s", "FLOPS", "OP/s", "OPS"}) {
      add_units(q.units, decimal_prefixes, {name, 0, 0});
    }
    return q;
  }();
  return quantity;
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return result;
}

std::string unknown_unit(std::string_view unit, const Quantity& quantity) {
  std::vector<std::string> all;
  std::vector<std::string> same_letters;
  for (const Unit& known : quantity.units) {
    all.push_back(known.name);
    if (lower(known.name) == lower(unit)) {
      same_letters.push_back(known.name);
    }
  }
  // GB and Gb differ by a factor of eight: which of them was meant only the user knows.
  const std::string nearest =
      same_letters.empty() ? nearest_match(unit, all) : join(same_letters, "' or '");
  return "unknown unit " + excerpt(unit) +
         (nearest.empty() ? std::string("; known: ") + quantity.known
                          : "; did you mean '" + nearest + "'?");
}

std::string not_a(std::string_view text, const TypeWords& words) {
  return std::string("expected ") + words.name + " such as '" + words.example + "'; got " +
         excerpt(text);
}

// The number in base units, or why not.
std::optional<std::uint64_t> whole(std::string_view text, const Decimal& number, const Unit& unit,
                                   const Quantity& quantity, std::string& problem) {
  if (number.negative && number.digits != 0) {
    problem = "must not be negative; got " + excerpt(text);
    return std::nullopt;
  }
  if (!number.precise) {
    problem = excerpt(text) + " has more than 38 digits";
    return std::nullopt;
  }
  const std::string base = std::string(" ") + quantity.base;
  const Scaled scaled = scale(number, unit.power_of_10, unit.power_of_2);
  if (scaled.status == Scaled::Status::rounded) {
    problem = excerpt(text) + " is not a whole number of" + base;
    if (scaled.value && *scaled.value <= quantity.most) {
      problem += "; the nearest below is " + std::to_string(*scaled.value) + base;
    }
    return std::nullopt;
  }
  if (!scaled.value || *scaled.value > quantity.most) {
    problem = excerpt(text) + " is too large; the most is " + std::to_string(quantity.most) + base;
    return std::nullopt;
  }
  return scaled.value;
}

std::optional<std::uint64_t> read(std::string_view text, const Quantity& quantity,
                                  std::string& problem) {
  const std::optional<Decimal> number = read_decimal(text);
  if (!number) {
    problem = not_a(text, quantity.words);
    return std::nullopt;
  }
  const std::string_view digits = text.substr(0, number->length);
  std::string_view name = text.substr(number->length);
  name.remove_prefix(std::min(name.find_first_not_of(' '), name.size()));
  if (name.empty()) {
    const std::string with_unit = std::string(digits) + " " + quantity.usual;
    problem = excerpt(digits) + " has no unit; write e.g. " + excerpt(with_unit);
    return std::nullopt;
  }
  for (const Unit& unit : quantity.units) {
    if (unit.name == name) {
      return whole(text, *number, unit, quantity, problem);
    }
  }
  problem = unknown_unit(name, quantity);
  return std::nullopt;
}

// Core's text where it reads back as the same value, else the plain number of base units.
template <Readable T>
std::string exact_text(T value, const std::string& number, const Quantity& quantity) {
  const std::string text = to_string(value);
  std::string problem;
  return parse_as<T>(text, problem) == value ? text : number + " " + quantity.base;
}

}  // namespace

template <>
TypeWords words_for<Bytes>() {
  return size().words;
}
template <>
TypeWords words_for<Bandwidth>() {
  return bandwidth().words;
}
template <>
TypeWords words_for<SimTime>() {
  return duration().words;
}
template <>
TypeWords words_for<Clock>() {
  return frequency().words;
}
template <>
TypeWords words_for<Flops>() {
  return operations().words;
}
template <>
TypeWords words_for<FlopRate>() {
  return operation_rate().words;
}
template <>
TypeWords words_for<Fraction>() {
  return {"a fraction", "0.85"};
}

template <>
std::optional<Bytes> parse_as(std::string_view text, std::string& problem) {
  const auto count = read(text, size(), problem);
  return count ? std::optional(Bytes(*count)) : std::nullopt;
}

template <>
std::optional<Bandwidth> parse_as(std::string_view text, std::string& problem) {
  const auto rate = read(text, bandwidth(), problem);
  return rate ? std::optional(Bandwidth::bytes_per_second(*rate)) : std::nullopt;
}

template <>
std::optional<SimTime> parse_as(std::string_view text, std::string& problem) {
  const auto ps = read(text, duration(), problem);
  return ps ? std::optional(SimTime::from_ps(static_cast<std::int64_t>(*ps))) : std::nullopt;
}

template <>
std::optional<Clock> parse_as(std::string_view text, std::string& problem) {
  const auto hertz = read(text, frequency(), problem);
  return hertz ? std::optional(Clock::hertz(*hertz)) : std::nullopt;
}

template <>
std::optional<Flops> parse_as(std::string_view text, std::string& problem) {
  const auto count = read(text, operations(), problem);
  return count ? std::optional(Flops(*count)) : std::nullopt;
}

template <>
std::optional<FlopRate> parse_as(std::string_view text, std::string& problem) {
  const auto rate = read(text, operation_rate(), problem);
  return rate ? std::optional(FlopRate::flops_per_second(*rate)) : std::nullopt;
}

template <>
std::optional<Fraction> parse_as(std::string_view text, std::string& problem) {
  const std::optional<Decimal> number = read_decimal(text);
  std::string_view unit = number ? text.substr(number->length) : "";
  unit.remove_prefix(std::min(unit.find_first_not_of(' '), unit.size()));
  if (!number || (!unit.empty() && unit != "%")) {
    problem = "expected a fraction such as '0.85' or '85 %'; got " + excerpt(text);
    return std::nullopt;
  }
  const Scaled scaled = scale(*number, unit.empty() ? 6 : 4, 0);
  if ((number->negative && number->digits != 0) || scaled.status == Scaled::Status::too_large ||
      scaled.value > Fraction::one) {
    problem = "must be between 0 and 1 (0 % and 100 %); got " + excerpt(text);
    return std::nullopt;
  }
  if (!number->precise || scaled.status == Scaled::Status::rounded) {
    problem = excerpt(text) + " has more than 6 decimals";
    problem += unit.empty() ? "" : " (4 of a percent)";
    return std::nullopt;
  }
  return Fraction::millionths(*scaled.value);
}

std::string to_text(Bytes value) {
  return exact_text(value, std::to_string(value.count()), size());
}
std::string to_text(Bandwidth value) {
  return exact_text(value, std::to_string(value.bytes_per_second()), bandwidth());
}
std::string to_text(SimTime value) {
  return value.is_never() ? "never" : exact_text(value, std::to_string(value.ps()), duration());
}
std::string to_text(Clock value) {
  return exact_text(value, std::to_string(value.frequency_hz()), frequency());
}
std::string to_text(Flops value) {
  return exact_text(value, std::to_string(value.count()), operations());
}
std::string to_text(FlopRate value) {
  return exact_text(value, std::to_string(value.flops_per_second()), operation_rate());
}
std::string to_text(Fraction value) {
  return to_string(value);  // at most 7 digits, which a double holds exactly
}

}  // namespace tessera::config
