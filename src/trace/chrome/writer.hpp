// Events of the Trace Event Format, one line each, into a gzip file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "store/gz_file.hpp"
#include "tessera/trace/store/json.hpp"

namespace tessera::trace {

// What such a file begins with.
inline constexpr std::string_view chrome_head = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";

// A JSON object in the making. Keys are plain names without anything to escape.
class JsonObject {
 public:
  JsonObject& add(std::string_view key, std::int64_t value);
  JsonObject& add(std::string_view key, std::uint64_t value);
  JsonObject& add(std::string_view key, double value);  // finite
  // `json` stands as it is.
  JsonObject& add_json(std::string_view key, std::string_view json);
  std::string text() const { return text_ + "}"; }

 private:
  std::string text_ = "{";
};

// `ps` in microseconds, exactly: "123.456789".
std::string microseconds(std::int64_t ps);

// Where an event is shown.
struct Place {
  std::uint64_t process = 0;
  std::uint64_t thread = 0;
};

// Names and categories are JSON strings already, as each is used many times.
class ChromeWriter {
 public:
  // Throws IoError, as all that follows.
  explicit ChromeWriter(const std::string& path);

  void name_process(std::uint64_t process, std::string_view name, std::uint64_t sort_index);
  void name_thread(Place place, std::string_view name, std::uint64_t sort_index);
  void slice(Place place, std::string_view name, std::string_view category, std::int64_t start_ps,
             std::int64_t end_ps, const JsonObject& arguments);
  // A pair of events with an id of its own; such spans may overlap.
  void async_span(Place place, std::string_view name, std::string_view category,
                  std::int64_t start_ps, std::int64_t end_ps, const JsonObject& arguments);
  void counter(std::uint64_t process, std::string_view name, std::int64_t at_ps,
               const JsonObject& values);
  // Ends the list of events and the file; `other` says what the timeline is of.
  void finish(const JsonObject& other);

 private:
  void event(const JsonObject& object);
  void metadata(Place place, std::string_view kind, std::string_view name,
                std::uint64_t sort_index);

  GzFile file_;
  bool first_ = true;
  std::uint64_t next_id_ = 1;
};

}  // namespace tessera::trace
