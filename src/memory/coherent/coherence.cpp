#include "tessera/memory/coherent/coherence.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tessera/config/key.hpp"
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

namespace {

using config::Key;

constexpr double most_sharers = 1000;
const CoherenceOptions usual;

const Key<Bytes> line_key{"line", usual.line,
                          "size of a cache line, the unit of access and coherence",
                          config::between(Bytes(slot_bytes), Bytes(1 << 20))};
const config::OptionalKey<std::uint64_t> outstanding_key{
    "outstanding", "none", "outstanding lines of an NPU, over all its accesses",
    config::between<std::uint64_t>(1, 1'000'000'000)};
const Key<SimTime> device_latency{"device_latency", usual.device_latency,
                                  "time from request to data at the device",
                                  config::at_least(SimTime::zero())};
const config::ChoiceKey<std::uint64_t> flit_key{"flit",
                                                {{"none", 0}, {"68 B", 68}, {"256 B", 256}},
                                                "none",
                                                "flits: none, or of 68 B or 256 B as in CXL"};
const Key<std::uint64_t> headers_key{"headers", usual.headers, "message headers per slot of a flit",
                                     config::between<std::uint64_t>(1, 4)};
const Key<Fraction> reads_key{"reads", usual.reads,
                              "share of the lines of a load that are read; the others are written"};
const Key<double> sharers_key{"sharers", 0, "mean number of other caches that hold a line",
                              config::between(0.0, most_sharers)};
const Key<Fraction> dirty_key{"dirty", usual.dirty,
                              "share of lines that another cache has modified"};
const Key<Fraction> filter_miss{"filter_miss", usual.filter_miss,
                                "share of lines that miss in the snoop filter"};
const Key<Fraction> hit_rate{"hit_rate", usual.hit_rate,
                             "share of the bytes found in local memory"};
const Key<Fraction> used_of_line{"used_of_line", usual.used_of_line,
                                 "share of the bytes of a line that are used",
                                 config::between(Fraction::millionths(1), Fraction())};

// A piece is of whole lines.
config::DerivedKey<Bytes> piece_key(Bytes line) {
  return {"piece", to_string(usual.piece) + ", a line at least",
          "maximum size of one request to a device with a DRAM channel",
          config::between(line, line * most_lines_of_piece)};
}

}  // namespace

std::vector<ParameterInfo> coherence_parameters() {
  return {line_key,    outstanding_key, device_latency, flit_key,
          headers_key, reads_key,       sharers_key,    dirty_key,
          filter_miss, hit_rate,        used_of_line,   piece_key(line_key.usual())};
}

Coherence read_coherence(config::Section section) {
  CoherenceOptions options;
  options.line = line_key.read(section);
  options.outstanding = outstanding_key.read(section);
  options.device_latency = device_latency.read(section);
  options.flit = flit_key.read(section);
  if (options.flit > 0 && options.line.count() % slot_bytes != 0) {
    section.error("line", "flits have slots of 16 B, of which a line must fill whole ones");
  }
  options.headers = headers_key.read(section);
  options.reads = reads_key.read(section);
  options.sharers_millionths = static_cast<std::uint64_t>(
      std::llround(sharers_key.read(section) * static_cast<double>(Fraction::one)));
  options.dirty = dirty_key.read(section);
  options.filter_miss = filter_miss.read(section);
  options.hit_rate = hit_rate.read(section);
  options.used_of_line = used_of_line.read(section);
  options.piece = piece_key(options.line).read(section, std::max(options.piece, options.line));
  const Bytes of_lines = options.line * (options.piece.count() / options.line.count());
  if (of_lines != options.piece) {
    section.tell(section.path() + ".piece: messages request whole lines, " +
                 std::to_string(of_lines.count()) + " B at most");
  }
  return Coherence(options);
}

}  // namespace tessera::memory
