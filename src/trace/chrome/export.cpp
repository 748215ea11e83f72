#include "tessera/trace/chrome/export.hpp"

#include <algorithm>
#include <utility>

#include "chrome/tracks.hpp"
#include "chrome/writer.hpp"
#include "event_budget.hpp"
#include "link_bins.hpp"
#include "rank_trace.hpp"
#include "store/run_map.hpp"
#include "tessera/core/error.hpp"
#include "tessera/core/version.hpp"

namespace tessera::trace {
namespace {

// Bytes a picosecond are TB/s.
double gigabytes_per_second(double bytes, std::int64_t span_ps) {
  return bytes / static_cast<double>(span_ps) * 1000;
}

// What of a run is wanted.
class Selection {
 public:
  // Throws ConfigError.
  Selection(const ChromeExportOptions& options, const RunMap& map)
      : map_(map),
        stages_(options.stages),
        tiles_(options.tiles),
        from_ps_(options.from.ps()),
        to_ps_(options.to.ps()) {
    std::sort(stages_.begin(), stages_.end());
    std::sort(tiles_.begin(), tiles_.end());
    const std::vector<std::int64_t>& known = map.stages();
    for (const std::int64_t stage : stages_) {
      if (!std::binary_search(known.begin(), known.end(), stage)) {
        throw ConfigError("unknown stage " + std::to_string(stage) +
                          (known.empty() ? "; the run has none"
                                         : "; the run has " + std::to_string(known.front()) +
                                               " to " + std::to_string(known.back())));
      }
    }
    for (const std::uint32_t tile : tiles_) {
      if (!map.contains(tile)) {
        throw ConfigError("unknown tile " + std::to_string(tile));
      }
    }
  }

  bool takes(const OperatorRow& row) const {
    return takes_time(row.start_ps, row.end_ps) && takes_tile(row.node);
  }
  bool takes(const MessageRow& row) const {
    return takes_time(row.sent_ps, row.arrived_ps) &&
           (takes_tile(row.source) || takes_tile(row.target));
  }
  bool takes(const ChannelRow& row) const { return takes_time(row.begin_ps, row.end_ps); }

 private:
  // What takes no time belongs to its one instant.
  bool takes_time(std::int64_t start_ps, std::int64_t end_ps) const {
    return start_ps < to_ps_ && (end_ps > from_ps_ || start_ps >= from_ps_);
  }
  bool takes_tile(std::uint32_t tile) const {
    return (tiles_.empty() || std::binary_search(tiles_.begin(), tiles_.end(), tile)) &&
           (stages_.empty() ||
            std::binary_search(stages_.begin(), stages_.end(), map_.stage_of(tile)));
  }

  const RunMap& map_;
  std::vector<std::int64_t> stages_;  // ascending
  std::vector<std::uint32_t> tiles_;  // ascending
  std::int64_t from_ps_;
  std::int64_t to_ps_;
};

std::int64_t start_of(const OperatorRow& row) {
  return row.start_ps;
}
std::int64_t start_of(const MessageRow& row) {
  return row.sent_ps;
}
std::int64_t start_of(const ChannelRow& row) {
  return row.begin_ps;
}
std::int64_t start_of(const LinkBin& bin) {
  return bin.begin_ps;
}

// Writes the events that are let in, and counts them.
class Emitter {
 public:
  Emitter(ChromeWriter& writer, RunMap& map, EventBudget& budget, std::uint64_t used_links)
      : writer_(writer),
        map_(map),
        budget_(budget),
        used_links_(static_cast<double>(used_links)),
        tiles_(writer, map),
        counters_(writer, map) {}

  void operator()(const OperatorRow& row) {
    if (!budget_.admit(start_of(row))) {
      return;
    }
    const std::string& activity = map_.activities.json(row.activity);
    const Place place = tiles_.place(row.node, lane_of(map_.activities.plain(row.activity)),
                                     row.start_ps, row.end_ps);
    JsonObject arguments;
    arguments.add_json("phase", map_.phases.json(row.phase))
        .add("micro_batch", std::uint64_t{row.micro_batch})
        .add("start_ps", row.start_ps)
        .add("end_ps", row.end_ps);
    writer_.slice(place, map_.operators.json(row.name), activity, row.start_ps, row.end_ps,
                  arguments);
    ++written.slices;
  }

  void operator()(const MessageRow& row) {
    if (!budget_.admit(start_of(row))) {
      return;
    }
    JsonObject arguments;
    arguments.add("source", std::uint64_t{row.source})
        .add("target", std::uint64_t{row.target})
        .add("bytes", row.bytes)
        .add("sent_ps", row.sent_ps)
        .add("arrived_ps", row.arrived_ps)
        .add("taken_ps", row.taken_ps);
    writer_.async_span(tiles_.place(row.source, Lane::messages), map_.traffic.json(row.traffic),
                       "\"message\"", row.sent_ps, row.arrived_ps, arguments);
    ++written.messages;
  }

  void operator()(const ChannelRow& row) {
    const auto values = [&](std::uint64_t read, std::uint64_t written_bytes) {
      const std::int64_t span_ps = row.end_ps - row.begin_ps;
      return JsonObject()
          .add("read GB/s", gigabytes_per_second(static_cast<double>(read), span_ps))
          .add("written GB/s", gigabytes_per_second(static_cast<double>(written_bytes), span_ps));
    };
    counters_.bin("DRAM channel " + std::to_string(row.channel), row.begin_ps, row.end_ps,
                  admit_bin(row), values(row.read_bytes, row.written_bytes), values(0, 0));
  }

  void operator()(const LinkBin& bin) {
    const bool shown = admit_bin(bin);
    const std::int64_t span_ps = bin.end_ps - bin.begin_ps;
    const auto show = [&](const char* name, const char* unit, double value) {
      counters_.bin(name, bin.begin_ps, bin.end_ps, shown, JsonObject().add(unit, value),
                    JsonObject().add(unit, 0.0));
    };
    show("link traffic", "GB/s", gigabytes_per_second(bin.bytes, span_ps));
    if (used_links_ > 0) {
      show("link utilisation", "percent",
           100 * bin.busy_ps / static_cast<double>(span_ps) / used_links_);
    }
  }

  void close() { counters_.close(); }

  ChromeExport written;

 private:
  template <class Bin>
  bool admit_bin(const Bin& bin) {
    const bool admitted = budget_.admit(start_of(bin));
    written.bins += admitted ? 1 : 0;
    return admitted;
  }

  ChromeWriter& writer_;
  RunMap& map_;
  EventBudget& budget_;
  double used_links_;
  TileTracks tiles_;
  CounterTracks counters_;
};

// A run folder on its way into one timeline.
class Exporter {
 public:
  explicit Exporter(const ChromeExportOptions& options)
      : options_(options), budget_(options.limit) {
    if (options.limit == 0) {
      throw ConfigError("the limit of events must be above zero");
    }
    if (options.from >= options.to) {
      throw ConfigError("the time span from " + to_string(options.from) + " to " +
                        to_string(options.to) + " holds no instant");
    }
  }

  ChromeExport run() {
    survey();
    const Selection selection(options_, map_);
    if (candidates_ > options_.limit) {
      visit(selection, [this](const auto& event) { budget_.offer(start_of(event)); });
      budget_.settle();
    }
    return write(selection);
  }

 private:
  void survey() {
    traces_ = verified_traces(options_.folder);
    if (traces_.empty()) {
      throw IoError(options_.folder + ": error: the run wrote no trace");
    }
    for (const TracePart& part : traces_) {
      const RankTrace trace(part);
      map_.gather(trace);
      links_.gather(trace, options_.from.ps(), options_.to.ps());
      candidates_ += trace.rows(operators) + trace.rows(messages) + trace.rows(channel_bins);
    }
    candidates_ += links_.bins().size();
    map_.settle();
  }

  // Shows every selected event to `visitor`.
  template <class Visitor>
  void visit(const Selection& selection, Visitor&& visitor) const {
    for (const TracePart& part : traces_) {
      const RankTrace trace(part);
      trace.for_each<OperatorRow>(operators, [&](const OperatorRow& row) {
        if (row.start_ps < 0 || row.end_ps < row.start_ps) {
          trace.refuse_span(operators, row.start_ps, row.end_ps);
        }
        if (selection.takes(row)) {
          visitor(row);
        }
      });
      trace.for_each<MessageRow>(messages, [&](const MessageRow& row) {
        if (row.sent_ps < 0 || row.arrived_ps < row.sent_ps) {
          trace.refuse_span(messages, row.sent_ps, row.arrived_ps);
        }
        if (selection.takes(row)) {
          visitor(row);
        }
      });
      trace.for_each<ChannelRow>(channel_bins, [&](const ChannelRow& row) {
        if (row.begin_ps < 0 || row.end_ps <= row.begin_ps) {
          trace.refuse_span(channel_bins, row.begin_ps, row.end_ps);
        }
        if (selection.takes(row)) {
          visitor(row);
        }
      });
    }
    for (const auto& [begin_ps, bin] : links_.bins()) {
      visitor(bin);
    }
  }

  ChromeExport write(const Selection& selection) {
    const std::string output =
        options_.output.empty() ? options_.folder + "/trace.json.gz" : options_.output;
    ChromeWriter writer(output);
    Emitter emitter(writer, map_, budget_, links_.used_links());
    visit(selection, emitter);
    emitter.close();
    ChromeExport result = std::move(emitter.written);
    result.output = output;
    result.left_out = budget_.left_out();
    if (result.left_out > 0) {
      result.complete_until = budget_.complete_until();
    }
    writer.finish(about(result));
    return result;
  }

  JsonObject about(const ChromeExport& result) const {
    const RankTrace first(traces_.front());
    JsonObject about;
    about.add_json("exporter", json_text("tessera " + std::string(version())));
    for (const char* name : {"program", "git_hash", "experiment", "configuration_hash"}) {
      if (const std::string text = first.attribute(name); !text.empty()) {
        about.add_json(name, json_text(text));
      }
    }
    about.add("slices", result.slices)
        .add("messages", result.messages)
        .add("bins", result.bins)
        .add("left_out", result.left_out);
    if (!result.complete_until.is_never()) {
      about.add("complete_until_ps", result.complete_until.ps());
    }
    return about;
  }

  const ChromeExportOptions& options_;
  EventBudget budget_;
  std::vector<TracePart> traces_;  // by segment and rank
  RunMap map_;
  LinkBins links_;
  std::uint64_t candidates_ = 0;
};

}  // namespace

ChromeExport export_chrome(const ChromeExportOptions& options) {
  return Exporter(options).run();
}

bool begins_as_chrome_export(std::string_view beginning) {
  return begin_of_gzip(beginning, chrome_head.size()) == chrome_head;
}

}  // namespace tessera::trace
