// Coherent access by lines to memory devices on the network: what goes over links, how fast at
// most, and what keeping caches coherent adds. Closed forms of expected values.
//
// Lines. Of the bytes of an access, `hit_rate` are found in local memory. The others come as whole
// lines of which `used_of_line` is used: ceil(bytes (1 - hit_rate) / (line used_of_line)). Of the
// lines of a load `reads` are read and the others written; a store writes all.
//
// Flits. One slot is 16 B, so that the data of a line takes line / 16. A 68 B flit is four slots, 2
// B of protocol id and 2 B of CRC; a 256 B flit has 240 B of slots beside header, CRC and FEC
// (Compute Express Link Specification 3.1, sections 4.2 and 4.3; D. Das Sharma et al., ACM Comput.
// Surv. 56 (2024), doi:10.1145/3669900). Messages have a header each, `headers` of them in a slot
// (assumed: 1; the specification packs more into some slots). A read is a request up and a header
// with data down, a write a header with data up and a completion down; with R reads and W writes
//   up   = flits((R + W) / headers + W line / 16)
//   down = flits((R + W) / headers + R line / 16)
// where flits() rounds up to whole ones. Without flits data has no overhead, and headers alone are
// one message of 64 B an access. Deviation: an access fills its own flits, nobody else's.
//
// Outstanding lines. J. Little, Oper. Res. 9 (1961), doi:10.1287/opre.9.3.383: with `outstanding`
// lines under way at most, L of them take L / outstanding round trips of a line. The first ones are
// under way at once; the others' time is
//   (L - outstanding) / outstanding * round trip.
// The round trip is that of an idle machine: what queues on the way does not shorten the rate. All
// accesses of an accelerator share its lines: one that comes while another is under way begins when
// that one's lines have been asked for, L / outstanding round trips after it began.
//
// Directory. A line is dirty in another cache (`dirty`), else in `sharers` others, in the mean; the
// device's snoop filter has lost it (`filter_miss`) and makes room by back-invalidating another.
// Expected messages of the device to owners (each is answered):
//   dirty lines + writes (1 - dirty) sharers + lines filter_miss
// of which the answers to the first, and `dirty` of those to the last, have data. They delay a line
// by so many trips from device to owner and back:
//   dirty + writes / lines (1 - dirty) min(1, sharers) + filter_miss
// (invalidations of several sharers at once). After D. Sorin et al., "A Primer on Memory
// Consistency and Cache Coherence" (2011), chapter 8, and CXL 3.1, section 3.3 (BISnp). Deviation:
// means, so that nothing depends on which lines are touched.
//
// All of that is of devices that have a latency and nothing else. Where a device has a channel of
// the machine, coherent_memory.hpp has what goes on, with the same lines and sizes of messages.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tessera/config/document.hpp"
#include "tessera/core/registry.hpp"
#include "tessera/core/units.hpp"

namespace tessera::memory {

struct CoherenceOptions {
  Bytes line = Bytes(64);
  std::optional<std::uint64_t> outstanding;  // lines of an accelerator
  SimTime device_latency;                    // from request to data at the device
  std::uint64_t flit = 0;                    // [B] 68 or 256; 0: no flits
  std::uint64_t headers = 1;                 // in a slot
  Fraction reads;                            // of the lines of a load; the others are written
  std::uint64_t sharers_millionths = 0;
  Fraction dirty = Fraction::millionths(0);
  Fraction filter_miss = Fraction::millionths(0);
  Fraction hit_rate = Fraction::millionths(0);
  Fraction used_of_line;
  Bytes piece = Bytes(4096);  // of an access to a channel, at most
};

// Lines of an access.
struct Lines {
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;
  std::uint64_t count() const { return reads + writes; }
};

// Messages between the one who accesses and the device. `opening` makes the device send `down`,
// and `up`, which goes at the same time, makes it send `completion`. One of the pairs may be
// absent: of zero bytes.
struct AccessMessages {
  Bytes opening;
  Bytes down;
  Bytes up;
  Bytes completion;
};

// Messages between the device and each owner.
struct OwnerMessages {
  Bytes snoop;
  Bytes answer;
};

class Coherence {
 public:
  explicit Coherence(const CoherenceOptions& options) : options_(options) {}
  const CoherenceOptions& options() const { return options_; }

  // Bytes of an access that local memory has.
  Bytes local_part(Bytes bytes) const;
  // Lines that the others are in.
  std::uint64_t lines_of(Bytes bytes) const;
  Lines split(std::uint64_t lines, bool stores) const;

  // Size of a message with so many headers and the data of so many lines.
  Bytes on_wire(std::uint64_t headers, std::uint64_t data_lines) const;
  // Of an access of so many lines to a channel, those that one message asks for. Without
  // `outstanding` there are 256 such messages at most, as long as each has few enough. With it at
  // least 16 are under way at a time, and as few lines as may be are left over.
  std::uint64_t piece_lines(std::uint64_t lines) const;
  AccessMessages messages(const Lines& lines) const;
  Bytes header_message() const { return on_wire(1, 0); }
  Bytes line_message() const { return on_wire(1, 1); }
  // Least time of the lines beyond those that are under way at once.
  SimTime least_time(std::uint64_t lines, SimTime round_trip) const;
  // Until others may be asked for.
  SimTime asking_time(std::uint64_t lines, SimTime round_trip) const;
  // The rate at which so many bytes of a message of that access take that time; none: no limit.
  std::optional<Bandwidth> limit(Bytes bytes, std::uint64_t lines, SimTime round_trip) const;

  bool has_directory() const;
  // Among so many owners the messages to them are shared out: the number of sharers, one at least.
  std::uint32_t owners() const;
  // With each owner; none when less than one is expected in all.
  std::optional<OwnerMessages> owner_messages(const Lines& lines) const;
  // What they add to the time of a line, with a trip from device to owner and back.
  SimTime owner_delay(const Lines& lines, SimTime owner_trip) const;

 private:
  CoherenceOptions options_;
};

// Keys with defaults and meaning, for `tessera list`.
std::vector<ParameterInfo> coherence_parameters();

Coherence read_coherence(config::Section section);

}  // namespace tessera::memory
