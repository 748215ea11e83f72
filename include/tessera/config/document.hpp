// Reads the user's YAML so that every complaint has a place.
//
// Every value keeps file, line and column of its own key and text. Reading a section records which
// keys were asked for; `finish()` reports the others. Complaints are collected, not thrown, so that
// `tessera check` reports all at once. Numbers are parsed with std::from_chars: `010` is ten, `yes`
// is text, and duplicate keys are an error (yaml-cpp 0.7 would take octal 8, true and the first).
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/core/error.hpp"
#include "tessera/core/registry.hpp"
#include "tessera/core/time.hpp"
#include "tessera/core/units.hpp"

namespace tessera {
struct SectionInfo;
}

namespace tessera::config {

// A place in a file; lines and columns count from 1.
struct Place {
  std::string file;
  int line = 0;
  int column = 0;
};

// Collects complaints in the order found.
class Diagnostics {
 public:
  void error(const Place& place, std::string message);
  bool empty() const { return diagnostics_.empty(); }
  const std::vector<Diagnostic>& list() const { return diagnostics_; }
  // Throws one ConfigError with all complaints, sorted by file (in order of first mention), line
  // and column, when there are any.
  void throw_if_any() const;
  // What is no fault but should be known: keys without effect.
  void note(std::string text) { notes_.push_back(std::move(text)); }
  const std::vector<std::string>& notes() const { return notes_; }
  // What keys name that is read from files beside the configuration (Section::get_file): paths from
  // the root, in the order of reading.
  void name_file(std::string path) { files_.push_back(std::move(path)); }
  const std::vector<std::string>& files() const { return files_; }

 private:
  std::vector<Diagnostic> diagnostics_;
  std::vector<std::string> notes_;
  std::vector<std::string> files_;
};

// One node of a parsed document: scalar, sequence, mapping or null. Immutable, shared.
class Value {
 public:
  enum class Kind { null, scalar, sequence, mapping };
  struct Member;

  Kind kind = Kind::null;
  Place place;                  // of the text itself
  std::string text;             // of a scalar, unquoted
  bool quoted = false;          // a quoted scalar is never a number
  std::vector<Value> items;     // of a sequence
  std::vector<Member> members;  // of a mapping, in file order

  const Member* find(std::string_view key) const;
};

struct Value::Member {
  std::string key;
  Place key_place;
  Value value;
};

// Gives the text of the file at a path; throws IoError. On many ranks, rank 0 reads and broadcasts.
using TextLoader = std::function<std::string(const std::string& path)>;

// Reads from the file system of this process: a regular file of at most 256 MiB. Throws IoError.
std::string load_text_file(const std::string& path);

// A path that stands in a file, as seen from that file; one from the command line stays as it is.
std::string path_beside(const Place& place, const std::string& path);

// The text of a file that the user named: one that cannot be read is bad input, a ConfigError.
std::string load_named(const std::string& path, const TextLoader& load);

// Parses one YAML document. Syntax errors, duplicate keys, anchors, aliases, tags, keys that are
// not plain text, more than 64 levels, several documents in a file, text that is not UTF-8, control
// characters, and more than 16 MiB, a million values or two million punctuation marks are
// diagnostics; the result is then null. An empty document is null too. Columns count bytes. Time
// and memory are linear in the text, below 1 GiB for any input.
Value parse(const std::string& file_name, const std::string& text, Diagnostics& diagnostics);

// YAML that parses back to the value: kinds, texts, and whether a text could be a number are kept;
// the style of quotes is not. `to_yaml` writes a mapping in block style with an indentation of two,
// its lists of scalars as `[a, b]`; `to_inline_yaml` writes any value on one line, as it can stand
// behind "key=" in an override.
std::string to_yaml(const Value& mapping);
std::string to_inline_yaml(const Value& value);

// Applies "key.path=value" on top of `root`, adding missing mappings; the value is parsed as YAML.
// The place of the new value is file "--set key.path=value", line 1, column of the value. A number
// in the path is an item of a list, from 0 on, which must be there; `[n]` is not supported.
void apply_override(Value& root, const std::string& assignment, Diagnostics& diagnostics);

// What a key may hold, see Section.
template <class T>
concept Readable = std::same_as<T, bool> || std::same_as<T, std::int64_t> ||
    std::same_as<T, double> || std::same_as<T, std::string> || std::same_as<T, Bytes> ||
    std::same_as<T, Bandwidth> || std::same_as<T, SimTime> || std::same_as<T, Clock> ||
    std::same_as<T, Flops> || std::same_as<T, FlopRate> || std::same_as<T, Fraction>;

// Limits on a number; both ends belong to the range.
template <class T>
struct Range {
  std::optional<T> low;
  std::optional<T> high;
};
template <class T>
Range<T> at_least(T low) {
  return {low, std::nullopt};
}
template <class T>
Range<T> between(T low, T high) {
  return {low, high};
}

// A mapping under reading. Each `get` looks a key up, converts and range-checks it, and notes the
// value (given or default) in the resolved configuration. On any complaint it records a diagnostic
// and returns the default, or T{} where there is none, so that reading goes on. Copies of a
// Section, and sections asked for twice, are one: what either reads counts as read.
//
// Types: bool (true/false only), std::int64_t, double, std::string, Bytes ("4 KiB"), Bandwidth
// ("256 GB/s", "400 Gb/s"), SimTime ("10 ns"), Clock ("1.1 GHz"), Flops ("3 GFLOP"), FlopRate
// ("16 TFLOP/s", "368 TOPS" for integer types), Fraction (a number in 0…1, or "85 %"). A quantity
// without a unit is an error. Quantities must be a whole number of their base unit (B, B/s, ps, Hz,
// FLOP, FLOP/s); "0.9 ns" is 900 ps, "0.1 ps" an error. A quoted text is never a bare number or
// bool, but may be a quantity with its unit.
class Section {
 public:
  // `value` null counts as an empty mapping; a scalar or list is a complaint, after which nothing
  // more is complained about in this section. `diagnostics` must outlive all reading.
  Section(Value value, std::string path, Diagnostics& diagnostics);

  template <Readable T>
  T get(std::string_view key, Range<T> range = {});  // must be given
  template <Readable T>
  T get_or(std::string_view key, T default_value, Range<T> range = {});
  template <Readable T>
  std::optional<T> get_optional(std::string_view key, Range<T> range = {});
  // One of a list of names, with a suggestion for a misspelt one. Must be given if `default_name`
  // is empty.
  std::string get_name(std::string_view key, std::vector<std::string> names,
                       std::string_view default_name = "");
  // A sequence of T; absent counts as `default_value`, which is also the result of any complaint.
  template <Readable T>
  std::vector<T> get_list(std::string_view key, std::vector<T> default_value = {});

  // Names of files, folders, or what the names of several files begin with: as seen from the file
  // in which they stand (see `path_beside`), empty after a complaint. The resolved configuration
  // names them from the root, so that it can be read back from anywhere.
  std::string get_file(std::string_view key);  // must be given
  std::optional<std::string> get_optional_file(std::string_view key);
  std::vector<std::string> get_files(std::string_view key);  // a list, empty when absent

  // A mapping below this one; an absent one is empty (every default applies).
  Section section(std::string_view key);
  // Sections of a sequence of mappings, in order; empty when absent.
  std::vector<Section> sections(std::string_view key);
  // The raw value, marked as read; null when absent.
  Value raw(std::string_view key);
  bool has(std::string_view key) const;

  // Marks keys of other parts of a kind as read, and notes that they have no effect: a section that
  // describes one model may hold what another one needs, and choosing the other on the command line
  // need not rewrite it.
  void leave_keys_of_others(const std::vector<PartInfo>& parts, std::string_view chosen);

  // Keys of the mapping in file order (for maps whose keys are the user's own names).
  std::vector<std::string> keys() const;

  // Place of a key, or of the section when the key is absent: for complaints of the caller.
  Place place_of(std::string_view key) const;
  // An empty `key` means the section itself.
  void error(std::string_view key, const std::string& message);
  // About a part of the raw value of `key`, at the place of that part.
  void error(std::string_view key, const Value& part, const std::string& message);
  // No complaint, but to be said in the notes of a run.
  void tell(std::string text);
  const std::string& path() const;
  bool is_mapping() const;

  // What may stand in this section and in those below: complaints about unknown keys know it beside
  // the keys that were asked for. To be called before sections are made from this one; asked for
  // when there is such a complaint.
  void declare(std::function<SectionInfo()> declared);

  // Complains about every key that nobody asked for, with the nearest known one. Call once when all
  // keys were read; also finishes sections made from this one. A second call does nothing.
  void finish();

  // The resolved configuration as YAML: every key that was read, with its value or default, and
  // nested sections; in reading order. Keys that were read as optional and are absent, and times
  // that default to `never`, are left out: leaving them out gives the same values again.
  std::string resolved_yaml() const;

 private:
  struct State;
  explicit Section(std::shared_ptr<State> state);
  template <Readable T>
  std::optional<T> convert(const Value& value, const std::string& path, const Range<T>& range);
  template <Readable T>
  std::optional<T> read(std::string_view key, const Range<T>& range);
  template <Readable T>
  void note(std::string_view key, const T& value);

  std::shared_ptr<State> state_;
};

// Parsers behind `get`, for values that stand elsewhere (command line, tables). Return nullopt and
// set `problem` ("'12' has no unit; write e.g. '12 ns'") on failure.
template <Readable T>
std::optional<T> parse_as(std::string_view text, std::string& problem);

template <>
std::optional<bool> parse_as(std::string_view text, std::string& problem);
template <>
std::optional<std::int64_t> parse_as(std::string_view text, std::string& problem);
template <>
std::optional<double> parse_as(std::string_view text, std::string& problem);
template <>
std::optional<std::string> parse_as(std::string_view text, std::string& problem);
template <>
std::optional<Bytes> parse_as(std::string_view text, std::string& problem);
template <>
std::optional<Bandwidth> parse_as(std::string_view text, std::string& problem);
template <>
std::optional<SimTime> parse_as(std::string_view text, std::string& problem);
template <>
std::optional<Clock> parse_as(std::string_view text, std::string& problem);
template <>
std::optional<Flops> parse_as(std::string_view text, std::string& problem);
template <>
std::optional<FlopRate> parse_as(std::string_view text, std::string& problem);
template <>
std::optional<Fraction> parse_as(std::string_view text, std::string& problem);

// Everything above for one type; defined in this room's sources.
#define TESSERA_CONFIG_SECTION_TEMPLATES(SPECIFIER, T)                                   \
  SPECIFIER template T Section::get(std::string_view, Range<T>);                         \
  SPECIFIER template T Section::get_or(std::string_view, T, Range<T>);                   \
  SPECIFIER template std::optional<T> Section::get_optional(std::string_view, Range<T>); \
  SPECIFIER template std::vector<T> Section::get_list(std::string_view, std::vector<T>)

TESSERA_CONFIG_SECTION_TEMPLATES(extern, bool);
TESSERA_CONFIG_SECTION_TEMPLATES(extern, std::int64_t);
TESSERA_CONFIG_SECTION_TEMPLATES(extern, double);
TESSERA_CONFIG_SECTION_TEMPLATES(extern, std::string);
TESSERA_CONFIG_SECTION_TEMPLATES(extern, Bytes);
TESSERA_CONFIG_SECTION_TEMPLATES(extern, Bandwidth);
TESSERA_CONFIG_SECTION_TEMPLATES(extern, SimTime);
TESSERA_CONFIG_SECTION_TEMPLATES(extern, Clock);
TESSERA_CONFIG_SECTION_TEMPLATES(extern, Flops);
TESSERA_CONFIG_SECTION_TEMPLATES(extern, FlopRate);
TESSERA_CONFIG_SECTION_TEMPLATES(extern, Fraction);

}  // namespace tessera::config
