#include "tessera/memory/coherence.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tessera/core/error.hpp"
#include "tessera/core/wide.hpp"

namespace tessera::memory {
namespace {

constexpr std::uint64_t most_lines_of_piece = 65'536;  // that messages have bits for

constexpr std::uint64_t slot_bytes = 16;
constexpr std::uint64_t bare_message = 64;  // assumed: as of memory channels

std::uint64_t rounded_up(Wide numerator, Wide denominator) {
  return static_cast<std::uint64_t>((numerator + denominator - 1) / denominator);
}

std::uint64_t rounded_up(std::uint64_t numerator, std::uint64_t denominator) {
  return rounded_up(Wide{numerator}, Wide{denominator});
}

std::uint64_t slots_of_flit(std::uint64_t flit) {
  return flit == 68 ? 4 : 15;
}

std::uint64_t rest_of(Fraction fraction) {
  return Fraction::one - fraction.millionths();
}

}  // namespace

Bytes Coherence::local_part(Bytes bytes) const {
  return Bytes(static_cast<std::uint64_t>(Wide{bytes.count()} * options_.hit_rate.millionths() /
                                          Fraction::one));
}

std::uint64_t Coherence::lines_of(Bytes bytes) const {
  return rounded_up(Wide{bytes.count()} * rest_of(options_.hit_rate),
                    Wide{options_.line.count()} * options_.used_of_line.millionths());
}

Lines Coherence::split(std::uint64_t lines, bool stores) const {
  if (stores) {
    return {0, lines};
  }
  const auto writes =
      static_cast<std::uint64_t>(Wide{lines} * rest_of(options_.reads) / Fraction::one);
  return {lines - writes, writes};
}

Bytes Coherence::on_wire(std::uint64_t headers, std::uint64_t data_lines) const {
  if (options_.flit == 0) {
    return data_lines == 0 ? Bytes(bare_message) : options_.line * data_lines;
  }
  const std::uint64_t slots =
      rounded_up(headers, options_.headers) + data_lines * (options_.line.count() / slot_bytes);
  return Bytes(rounded_up(slots, slots_of_flit(options_.flit)) * options_.flit);
}

std::uint64_t Coherence::piece_lines(std::uint64_t lines) const {
  const std::uint64_t usual = options_.piece.count() / options_.line.count();
  if (!options_.outstanding) {
    constexpr std::uint64_t pieces = 256;
    return std::clamp(rounded_up(lines, pieces), usual, most_lines_of_piece);
  }
  constexpr std::uint64_t pieces = 16;
  const std::uint64_t window = *options_.outstanding;
  std::uint64_t best = std::clamp<std::uint64_t>(window / pieces, 1, usual);
  for (std::uint64_t size = best; size > best / 2; --size) {
    best = window % size < window % best ? size : best;
  }
  return best;
}

AccessMessages Coherence::messages(const Lines& lines) const {
  const Bytes least = header_message();
  const Bytes up = on_wire(lines.count(), lines.writes);
  const Bytes down = on_wire(lines.count(), lines.reads);
  // Owners are asked at the opening, so that what they do goes beside the data.
  if (lines.reads == 0 && down <= least && !owner_messages(lines)) {
    return {Bytes(), Bytes(), up, down};
  }
  AccessMessages messages{least, down, Bytes(), Bytes()};
  if (up > least) {
    messages.up = up - least;
    messages.completion = least;
    messages.down = std::max(least, down > least ? down - least : least);
  }
  return messages;
}

SimTime Coherence::least_time(std::uint64_t lines, SimTime round_trip) const {
  if (!options_.outstanding || lines <= *options_.outstanding) {
    return SimTime::zero();
  }
  return rounded_up_duration(lines - *options_.outstanding,
                             static_cast<std::uint64_t>(round_trip.ps()), *options_.outstanding);
}

SimTime Coherence::asking_time(std::uint64_t lines, SimTime round_trip) const {
  return options_.outstanding
             ? rounded_up_duration(lines, static_cast<std::uint64_t>(round_trip.ps()),
                                   *options_.outstanding)
             : SimTime::zero();
}

std::optional<Bandwidth> Coherence::limit(Bytes bytes, std::uint64_t lines,
                                          SimTime round_trip) const {
  const SimTime least = least_time(lines, round_trip);
  if (least == SimTime::zero()) {
    return std::nullopt;
  }
  constexpr std::uint64_t ps_per_second = 1'000'000'000'000ULL;
  constexpr Wide most = std::numeric_limits<std::int64_t>::max();
  const Wide rate = Wide{bytes.count()} * ps_per_second / static_cast<std::uint64_t>(least.ps());
  return Bandwidth::bytes_per_second(static_cast<std::uint64_t>(std::clamp<Wide>(rate, 1, most)));
}

bool Coherence::has_directory() const {
  return options_.sharers_millionths > 0 || options_.dirty > Fraction::millionths(0) ||
         options_.filter_miss > Fraction::millionths(0);
}

std::uint32_t Coherence::owners() const {
  return static_cast<std::uint32_t>(
      std::max<std::uint64_t>(1, rounded_up(options_.sharers_millionths, Fraction::one)));
}

std::optional<OwnerMessages> Coherence::owner_messages(const Lines& lines) const {
  constexpr Wide one = Wide{Fraction::one} * Fraction::one;
  const Wide dirty = Wide{lines.count()} * options_.dirty.millionths() * Fraction::one;
  const Wide invalidated =
      Wide{lines.writes} * rest_of(options_.dirty) * options_.sharers_millionths;
  const Wide lost = Wide{lines.count()} * options_.filter_miss.millionths() * Fraction::one;
  const Wide lost_dirty =
      Wide{lines.count()} * options_.filter_miss.millionths() * options_.dirty.millionths();
  const auto all = static_cast<std::uint64_t>((dirty + invalidated + lost) / one);
  if (all == 0) {
    return std::nullopt;
  }
  const auto with_data = static_cast<std::uint64_t>((dirty + lost_dirty) / one);
  const std::uint64_t each = rounded_up(all, owners());
  return OwnerMessages{on_wire(each, 0), on_wire(each, rounded_up(with_data, owners()))};
}

SimTime Coherence::owner_delay(const Lines& lines, SimTime owner_trip) const {
  if (lines.count() == 0) {
    return SimTime::zero();
  }
  const std::uint64_t invalidates =
      rounded_up(Wide{lines.writes} * rest_of(options_.dirty) *
                     std::min<std::uint64_t>(Fraction::one, options_.sharers_millionths),
                 Wide{lines.count()} * Fraction::one);
  return rounded_up_duration(
      static_cast<std::uint64_t>(owner_trip.ps()),
      options_.dirty.millionths() + invalidates + options_.filter_miss.millionths(), Fraction::one);
}

std::vector<ParameterInfo> coherence_parameters() {
  return {{"line", "B", "64 B", "of access and of coherence"},
          {"outstanding", "", "none", "lines of an NPU under way at once, of all its accesses"},
          {"device_latency", "ps", "0 ps", "from request to data at the device"},
          {"flit", "", "none", "none, 68 B or 256 B, as CXL's"},
          {"headers", "", "1", "of messages, in one slot of a flit"},
          {"reads", "", "1", "share of the lines of a load; the others are written"},
          {"sharers", "", "0", "other caches that have a line, in the mean"},
          {"dirty", "", "0", "share of lines that another cache has changed"},
          {"filter_miss", "", "0", "share of lines that the snoop filter has lost"},
          {"hit_rate", "", "0", "share of the bytes that local memory has"},
          {"used_of_line", "", "1", "share of a line that is used"},
          {"piece", "B", "4 KiB", "that one message asks for at most, of a device with a channel"}};
}

Coherence read_coherence(config::Section section) {
  CoherenceOptions options;
  const Fraction none = Fraction::millionths(0);
  options.line = section.get_or<Bytes>("line", options.line,
                                       config::between(Bytes(slot_bytes), Bytes(1 << 20)));
  if (const auto lines = section.get_optional<std::int64_t>(
          "outstanding", config::between<std::int64_t>(1, 1'000'000'000))) {
    options.outstanding = static_cast<std::uint64_t>(*lines);
  }
  options.device_latency =
      section.get_or<SimTime>("device_latency", SimTime::zero(), config::at_least(SimTime::zero()));
  const std::string flit = section.get_name("flit", {"none", "68 B", "256 B"}, "none");
  options.flit = flit == "68 B" ? 68 : flit == "256 B" ? 256 : 0;
  if (options.flit > 0 && options.line.count() % slot_bytes != 0) {
    section.error("line", "flits have slots of 16 B, of which a line must fill whole ones");
  }
  options.headers = static_cast<std::uint64_t>(
      section.get_or<std::int64_t>("headers", 1, config::between<std::int64_t>(1, 4)));
  options.reads = section.get_or<Fraction>("reads", Fraction());
  constexpr double most_sharers = 1000;
  options.sharers_millionths = static_cast<std::uint64_t>(
      std::llround(section.get_or<double>("sharers", 0, config::between(0.0, most_sharers)) *
                   static_cast<double>(Fraction::one)));
  options.dirty = section.get_or<Fraction>("dirty", none);
  options.filter_miss = section.get_or<Fraction>("filter_miss", none);
  options.hit_rate = section.get_or<Fraction>("hit_rate", none);
  options.used_of_line = section.get_or<Fraction>(
      "used_of_line", Fraction(), config::between(Fraction::millionths(1), Fraction()));
  options.piece =
      section.get_or<Bytes>("piece", std::max(options.piece, options.line),
                            config::between(options.line, options.line * most_lines_of_piece));
  return Coherence(options);
}

}  // namespace tessera::memory
