#include "process/progress.hpp"

#include "tessera/core/text.hpp"
#include "tessera/trace/json_text.hpp"

namespace tessera::cli {

std::string rounded(double value) {
  constexpr const char* prefixes[] = {"", " k", " M", " G", " T"};
  std::size_t prefix = 0;
  for (; value >= 1000 && prefix + 1 < std::size(prefixes); ++prefix) {
    value /= 1000;
  }
  const std::string digits = std::to_string(value);
  return digits.substr(0, value >= 100 ? 3 : 4) + prefixes[prefix];
}

std::string progress_line(const sim::Progress& progress) {
  std::string text = "simulated " + to_string(progress.simulated) + ", " +
                     std::to_string(static_cast<int>(progress.fraction * 100)) + " % done, " +
                     rounded(progress.events_per_s) + " events/s, " +
                     rounded(static_cast<double>(progress.resident_bytes)) + "B";
  if (progress.left_s >= 0) {
    text += ", " + std::to_string(static_cast<long>(progress.left_s)) + " s left";
  }
  return text;
}

std::string progress_json(const sim::Progress& progress) {
  using trace::JsonText;
  return JsonText::object()
      .put("simulated_ps", progress.simulated.ps())
      .put("fraction", progress.fraction)
      .put("events", progress.events)
      .put("events_per_s", progress.events_per_s)
      .put("resident_bytes", progress.resident_bytes)
      .put("wall_s", progress.wall_s)
      .put("left_s", progress.left_s < 0 ? JsonText::null() : JsonText(progress.left_s))
      .to_line();
}

}  // namespace tessera::cli
