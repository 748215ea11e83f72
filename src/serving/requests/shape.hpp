// What requests ask for, where it is drawn at random or taken from a file: lengths of prompts and
// answers, samples, beginnings that prompts share.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "requests/table.hpp"
#include "tessera/config/document.hpp"
#include "tessera/config/key.hpp"
#include "tessera/core/random.hpp"

namespace tessera::serving {

inline constexpr std::int64_t most_requests = 10'000'000;
inline constexpr std::uint32_t most_samples = 1U << 16;
inline constexpr double longest_run = 9e6;  // [s]; times end at 9.22e6

// What is drawn at random of a request: depends on seed, request and what it is alone.
enum class Draw : std::uint32_t {
  interval,
  samples,
  prompt,
  generate,
  prefix,
  think,
  thinning,
  of_class,
  adapter
};

RandomStream random_of(std::uint64_t seed, std::uint64_t number, Draw what);

// A whole number, always the same or between two.
struct Count {
  std::uint32_t least = 1;
  std::uint32_t most = 1;
  bool is_drawn() const { return most > least; }
  std::uint32_t at(std::uint64_t seed, std::uint64_t number, Draw what) const {
    const std::uint64_t range = std::uint64_t{most} - least + 1;
    return least + static_cast<std::uint32_t>(random_of(seed, number, what).next_below(range));
  }
};

struct RequestShape {
  Count samples;
  Count prompt;
  Count generate;
  std::uint32_t prefixes = 0;  // different ones, shared at random; 0: none
  std::uint32_t prefix_tokens = 0;
  std::uint64_t seed = 0;
  bool of_language = false;
  // Of a file, one after the other, from the first on again behind the last: lengths, and what it
  // says besides of classes, adapters and shared beginnings; null: lengths are drawn.
  std::shared_ptr<const RequestTable> lengths;
  std::vector<std::string> notes;

  Request at(std::uint64_t number, SimTime arrival) const;
  // As of serving::RequestSource.
  std::span<const std::uint32_t> pieces(std::uint64_t number) const;
  std::uint32_t piece_tokens() const;
  bool shares_beginnings() const;
  bool is_drawn() const;
  std::uint32_t class_of(std::uint64_t number) const;
  Request largest() const;
  std::size_t resident_bytes() const { return lengths ? lengths->resident_bytes() : 0; }
};

// From the section `requests`.
RequestShape read_shape(config::Section& section, const RequestNeeds& needs);
// The keys of arrivals of one kind, with those of the shape.
std::vector<ParameterInfo> with_shape(std::vector<ParameterInfo> own);

// The file of the key `file`; null after complaints.
struct Trace;
// `before`: tokens that will stand before each prompt.
std::unique_ptr<Trace> read_file(config::Section& section, const RequestNeeds& needs,
                                 std::uint64_t most, std::uint32_t before = 0);
const config::OtherKey& file_key();
const config::NameKey& format_key();
const config::OptionalKey<double>& characters_key();
const config::RequiredKey<std::uint64_t>& count_key();
const config::RequiredKey<double>& rate_key();

// Complains of a tenant in the background.
void refuse_endless(config::Section& section, const RequestNeeds& needs);

}  // namespace tessera::serving
