#include "chrome/writer.hpp"

#include "tessera/core/text.hpp"

namespace tessera::trace {
namespace {

// The members all events begin with.
JsonObject head(std::string_view phase, Place place, std::string_view name) {
  JsonObject object;
  object.add_json("ph", phase)
      .add("pid", place.process)
      .add("tid", place.thread)
      .add_json("name", name);
  return object;
}

}  // namespace

JsonObject& JsonObject::add(std::string_view key, std::int64_t value) {
  return add_json(key, std::to_string(value));
}

JsonObject& JsonObject::add(std::string_view key, std::uint64_t value) {
  return add_json(key, std::to_string(value));
}

JsonObject& JsonObject::add(std::string_view key, double value) {
  return add_json(key, format_number(value));
}

JsonObject& JsonObject::add_json(std::string_view key, std::string_view json) {
  text_ += text_.size() > 1 ? ",\"" : "\"";
  text_ += key;
  text_ += "\":";
  text_ += json;
  return *this;
}

std::string microseconds(std::int64_t ps) {
  constexpr std::uint64_t scale = 1'000'000;
  // Unsigned, so that the lowest value of all has a magnitude.
  const auto bits = static_cast<std::uint64_t>(ps);
  const std::uint64_t magnitude = ps < 0 ? 0 - bits : bits;
  // Adding the scale keeps the leading zeros; its own digit, the first, becomes the point.
  std::string decimals = std::to_string(scale + magnitude % scale);
  decimals.front() = '.';
  return (ps < 0 ? "-" : "") + std::to_string(magnitude / scale) + decimals;
}

ChromeWriter::ChromeWriter(const std::string& path) : file_(path) {
  file_.write(chrome_head);
}

void ChromeWriter::event(const JsonObject& object) {
  file_.write(first_ ? "\n" : ",\n");
  file_.write(object.text());
  first_ = false;
}

void ChromeWriter::metadata(Place place, std::string_view kind, std::string_view name,
                            std::uint64_t sort_index) {
  const std::string of(kind);
  event(head("\"M\"", place, json_text(of + "_name"))
            .add_json("args", JsonObject().add_json("name", json_text(name)).text()));
  event(head("\"M\"", place, json_text(of + "_sort_index"))
            .add_json("args", JsonObject().add("sort_index", sort_index).text()));
}

void ChromeWriter::name_process(std::uint64_t process, std::string_view name,
                                std::uint64_t sort_index) {
  metadata({process, 0}, "process", name, sort_index);
}

void ChromeWriter::name_thread(Place place, std::string_view name, std::uint64_t sort_index) {
  metadata(place, "thread", name, sort_index);
}

void ChromeWriter::slice(Place place, std::string_view name, std::string_view category,
                         std::int64_t start_ps, std::int64_t end_ps, const JsonObject& arguments) {
  event(head("\"X\"", place, name)
            .add_json("cat", category)
            .add_json("ts", microseconds(start_ps))
            .add_json("dur", microseconds(end_ps - start_ps))
            .add_json("args", arguments.text()));
}

void ChromeWriter::async_span(Place place, std::string_view name, std::string_view category,
                              std::int64_t start_ps, std::int64_t end_ps,
                              const JsonObject& arguments) {
  const std::string id = json_text(std::to_string(next_id_++));
  event(head("\"b\"", place, name)
            .add_json("cat", category)
            .add_json("id", id)
            .add_json("ts", microseconds(start_ps))
            .add_json("args", arguments.text()));
  event(head("\"e\"", place, name)
            .add_json("cat", category)
            .add_json("id", id)
            .add_json("ts", microseconds(end_ps)));
}

void ChromeWriter::counter(std::uint64_t process, std::string_view name, std::int64_t at_ps,
                           const JsonObject& values) {
  event(head("\"C\"", {process, 0}, name)
            .add_json("ts", microseconds(at_ps))
            .add_json("args", values.text()));
}

void ChromeWriter::finish(const JsonObject& other) {
  file_.write("\n],\"otherData\":");
  file_.write(other.text());
  file_.write("}\n");
  file_.finish();
}

}  // namespace tessera::trace
