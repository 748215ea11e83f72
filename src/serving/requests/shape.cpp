#include "requests/shape.hpp"

#include <algorithm>
#include <utility>

#include "requests/trace/file.hpp"
#include "tessera/config/conditional_key.hpp"
#include "tessera/serving/language_model.hpp"

namespace tessera::serving {

using config::between;
using config::Key;
using config::OtherKey;
using config::RequiredKey;
using config::Section;
using config::where_used;

RandomStream random_of(std::uint64_t seed, std::uint64_t number, Draw what) {
  return {seed, EntityId(0), static_cast<std::uint32_t>(what), number};
}

namespace {

// A number, or [LEAST, MOST].
struct CountKey {
  OtherKey key;
  std::int64_t most;
};

Count read_count(Section& section, const CountKey& count) {
  const std::string_view key = count.key.key();
  const auto range = between<std::int64_t>(1, count.most);
  if (section.has(key) && section.raw(key).kind == config::Value::Kind::sequence) {
    const auto ends = section.get_list<std::int64_t>(key);
    const bool good =
        ends.size() == 2 && ends[0] >= 1 && ends[0] <= ends[1] && ends[1] <= count.most;
    if (!good) {
      section.error(key,
                    "expected a number or [LEAST, MOST], from 1 to " + std::to_string(count.most));
      return {};
    }
    return {static_cast<std::uint32_t>(ends[0]), static_cast<std::uint32_t>(ends[1])};
  }
  const auto number =
      static_cast<std::uint32_t>(std::max<std::int64_t>(1, section.get<std::int64_t>(key, range)));
  return {number, number};
}

// Made when they are first asked for: tables in other files have them before main.
struct ShapeKeys {
  CountKey samples{{"samples", "integer or range", "1",
                    "samples of a request to a model other than a language model"},
                   most_samples};
  CountKey prompt{
      {"prompt", "integer or range", "", "tokens of a prompt: a number, or [LEAST, MOST]"},
      most_keys};
  CountKey generate{
      {"generate", "integer or range", "", "tokens to generate: a number, or [LEAST, MOST]"},
      most_keys};
  RequiredKey<std::uint32_t> prefix_tokens{
      "prefix.tokens", "tokens of a shared prefix before each prompt", between(1U, most_keys)};
  Key<std::uint32_t> prefix_count{"prefix.count", 1,
                                  "number of different prefixes; each request has one at random",
                                  between(1U, 1U << 20)};
};

const ShapeKeys& shape_keys() {
  static const ShapeKeys keys;
  return keys;
}

}  // namespace

const OtherKey& file_key() {
  static const OtherKey key{"file", "file", "none",
                            "file of requests whose lengths are used instead of prompt and "
                            "generate"};
  return key;
}

const config::NameKey& format_key() {
  static const config::NameKey key{"format",
                                   [] {
                                     std::vector<std::string> names = trace_formats();
                                     names.insert(names.begin(), "auto");
                                     return names;
                                   },
                                   "auto",
                                   "format of the file; auto: recognised by its header "
                                   "or first object"};
  return key;
}

const config::OptionalKey<double>& characters_key() {
  static const config::OptionalKey<double> key{
      "characters_per_token", "none",
      "for texts in a file without token counts: mean number of characters (Unicode) per token",
      between(0.1, 100.0)};
  return key;
}

const RequiredKey<std::uint64_t>& count_key() {
  static const RequiredKey<std::uint64_t> key{"count", "number of requests",
                                              between<std::uint64_t>(1, most_requests)};
  return key;
}

const RequiredKey<double>& rate_key() {
  static const RequiredKey<double> key{"rate", "mean number of requests per second",
                                       between(1e-3, 1e9)};
  return key;
}

Request RequestShape::at(std::uint64_t number, SimTime arrival) const {
  Request request;
  request.arrival = arrival;
  if (!of_language) {
    request.samples = samples.at(seed, number, Draw::samples);
    return request;
  }
  if (lengths) {
    request = lengths->request(number % *lengths->count());
    request.arrival = arrival;
    request.prompt += prefix_tokens;
  } else {
    request.prompt = prompt.at(seed, number, Draw::prompt) + prefix_tokens;
    request.generate = generate.at(seed, number, Draw::generate);
  }
  if (prefixes > 0) {
    request.prefix =
        1 + static_cast<std::uint32_t>(random_of(seed, number, Draw::prefix).next_below(prefixes));
    request.prefix_tokens = prefix_tokens;
  }
  return request;
}

std::span<const std::uint32_t> RequestShape::pieces(std::uint64_t number) const {
  return piece_tokens() > 0 ? lengths->pieces(number % *lengths->count())
                            : std::span<const std::uint32_t>();
}

std::uint32_t RequestShape::piece_tokens() const {
  return lengths && prefixes == 0 ? lengths->piece_tokens() : 0;
}

bool RequestShape::shares_beginnings() const {
  return prefixes > 0 || (lengths && lengths->shares_beginnings());
}

bool RequestShape::is_drawn() const {
  if (!of_language) {
    return samples.is_drawn();
  }
  return prefixes > 1 || (!lengths && (prompt.is_drawn() || generate.is_drawn()));
}

std::uint32_t RequestShape::class_of(std::uint64_t number) const {
  return lengths ? lengths->class_of(number % *lengths->count()) : 0;
}

Request RequestShape::largest() const {
  Request request;
  request.samples = samples.most;
  if (of_language) {
    const Request longest = lengths ? lengths->largest() : Request{};
    request.prompt = (lengths ? longest.prompt : prompt.most) + prefix_tokens;
    request.generate = lengths ? longest.generate : generate.most;
  }
  return request;
}

std::unique_ptr<Trace> read_file(Section& section, const RequestNeeds& needs, std::uint64_t most,
                                 std::uint32_t before) {
  const std::string path = section.get_file(file_key().key());
  TraceOptions options;
  options.format = format_key().read(section);
  options.format = options.format == "auto" ? "" : options.format;
  options.of_language = needs.of_language;
  options.most = most;
  options.characters_per_token = characters_key().read(section).value_or(0);
  options.classes = needs.classes;
  options.adapters = needs.adapters;
  options.limit = LengthLimit(needs, too_long_key().read(section), before);
  if (path.empty()) {
    return nullptr;
  }
  try {
    return std::make_unique<Trace>(read_trace(path, options));
  } catch (const ConfigError& error) {
    for (const Diagnostic& diagnostic : error.diagnostics()) {
      if (diagnostic.line == 0) {
        section.error(file_key().key(), diagnostic.file + ": " + diagnostic.message);
        continue;
      }
      config::Value part;
      part.place = {diagnostic.file, diagnostic.line, diagnostic.column};
      section.error(file_key().key(), part, diagnostic.message);
    }
  }
  return nullptr;
}

namespace {

void read_prefix(Section& section, RequestShape& shape) {
  if (section.has("prefix")) {
    Section prefix = section.section("prefix");
    shape.prefix_tokens = shape_keys().prefix_tokens.read(prefix);
    shape.prefixes = shape_keys().prefix_count.read(prefix);
  }
}

// Requests of a file whose lengths can be asked for: no more than there are requests. Whether the
// number is one is left to whoever reads it.
std::uint64_t most_lengths(Section& section) {
  const std::string_view key = count_key().key();
  std::string problem;
  const auto count = section.has(key)
                         ? config::parse_as<std::int64_t>(section.raw(key).text, problem)
                         : std::nullopt;
  return count && *count > 0 ? std::min<std::uint64_t>(*count, most_requests) : most_requests;
}

// What becomes of beginnings that prompts of a file have in common.
void note_beginnings(RequestShape& shape, std::uint64_t most) {
  if (!shape.lengths || !shape.lengths->shares_beginnings() ||
      (shape.prefixes == 0 && *shape.lengths->count() == most)) {
    return;
  }
  shape.notes.push_back(
      shape.prefixes > 0
          ? "beginnings shared by prompts of the file are not used: 'prefix' precedes them"
          : "requests beyond the " + std::to_string(*shape.lengths->count()) +
                " of the file repeat these, with the same beginnings");
}

}  // namespace

RequestShape read_shape(Section& section, const RequestNeeds& needs) {
  RequestShape shape;
  std::uint64_t most = most_requests;
  shape.seed = needs.seed;
  shape.of_language = needs.of_language;
  if (!needs.of_language) {
    if (section.has(shape_keys().samples.key.key())) {
      shape.samples = read_count(section, shape_keys().samples);
    }
    return shape;
  }
  if (section.has(file_key().key())) {
    for (const CountKey* const key : {&shape_keys().prompt, &shape_keys().generate}) {
      if (section.has(key->key.key())) {
        section.raw(key->key.key());
        section.error(key->key.key(), "lengths are those of 'file'");
      }
    }
    read_prefix(section, shape);
    most = most_lengths(section);
    if (std::unique_ptr<Trace> trace = read_file(section, needs, most, shape.prefix_tokens)) {
      shape.notes = std::move(trace->notes);
      shape.lengths = std::move(trace->requests);
    }
  } else {
    shape.prompt = read_count(section, shape_keys().prompt);
    shape.generate = read_count(section, shape_keys().generate);
    read_prefix(section, shape);
  }
  note_beginnings(shape, most);
  return shape;
}

std::vector<ParameterInfo> with_shape(std::vector<ParameterInfo> own) {
  const std::vector<ParameterInfo> all{where_used(shape_keys().prompt.key),
                                       where_used(shape_keys().generate.key),
                                       file_key(),
                                       format_key(),
                                       characters_key(),
                                       too_long_key(),
                                       shape_keys().prefix_tokens,
                                       shape_keys().prefix_count,
                                       shape_keys().samples.key};
  own.insert(own.end(), all.begin(), all.end());
  return own;
}

void refuse_endless(Section& section, const RequestNeeds& needs) {
  if (needs.endless) {
    section.error("arrivals", "a tenant in the background has closed arrivals");
  }
}

}  // namespace tessera::serving
