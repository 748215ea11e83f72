#include "tables/check_json.hpp"

#include <optional>

#include "tessera/config/document.hpp"
#include "tessera/core/version.hpp"
#include "tessera/sim/cuts/cuts.hpp"
#include "tessera/sim/simulation.hpp"
#include "tessera/trace/json_text.hpp"

namespace tessera::cli {
namespace {

using trace::JsonText;

// As the text would be read: a truth, a number, or text.
JsonText json_of_scalar(const config::Value& value) {
  std::string problem;
  if (!value.quoted) {
    if (const auto truth = config::parse_as<bool>(value.text, problem)) {
      return *truth;
    }
    if (const auto number = config::parse_as<std::int64_t>(value.text, problem)) {
      return *number;
    }
    if (const auto number = config::parse_as<double>(value.text, problem)) {
      return *number;
    }
  }
  return value.text;
}

JsonText json_of(const config::Value& value) {
  switch (value.kind) {
    case config::Value::Kind::null:
      return JsonText::null();
    case config::Value::Kind::scalar:
      return json_of_scalar(value);
    case config::Value::Kind::sequence: {
      JsonText list = JsonText::list();
      for (const config::Value& item : value.items) {
        list.add(json_of(item));
      }
      return list;
    }
    case config::Value::Kind::mapping:
      break;
  }
  JsonText object = JsonText::object();
  for (const config::Value::Member& member : value.members) {
    object.put(member.key, json_of(member.value));
  }
  return object;
}

JsonText configuration(const sim::Experiment& experiment) {
  config::Diagnostics none;
  return json_of(config::parse("resolved", experiment.resolved, none));
}

// A count that is told as text, which may be a name or a number.
JsonText json_of_count(const std::string& text) {
  config::Value value;
  value.text = text;
  return json_of_scalar(value);
}

// Zero where it is not known.
JsonText known(SimTime time) {
  return time == SimTime::zero() ? JsonText::null() : JsonText(time.ps());
}

JsonText peaks(const sim::JobDescription& description) {
  JsonText list = JsonText::list();
  for (const sim::JobDescription::Peak& peak : description.peaks) {
    JsonText parts = JsonText::object();
    for (std::size_t part = 0; part < plan::memory_parts; ++part) {
      parts.put(to_string(static_cast<plan::MemoryPart>(part)), peak.use.parts[part].count());
    }
    list.add(JsonText::object()
                 .put("name", peak.name)
                 .put("bytes", peak.use.total().count())
                 .put("host_bytes", peak.on_host.count())
                 .put("parts", parts));
  }
  return list;
}

JsonText job(const sim::Experiment& experiment, const sim::PlacedJob& placed) {
  const sim::JobDescription description = placed.job->describe(experiment);
  JsonText counts = JsonText::object();
  for (const auto& [what, number] : description.entities) {
    counts.put(what, json_of_count(number));
  }
  return JsonText::object()
      .put("name", placed.name)
      .put("workload", placed.job->name)
      .put("tiles", placed.tiles.size())
      .put("start_ps", placed.start.ps())
      .put("iterations", placed.job->iterations)
      .put("ideal_time_ps", known(placed.job->least_time()))
      .put("counts", counts)
      .put("peak_memory", peaks(description))
      .put("tables", description.tables);
}

JsonText jobs(const sim::Experiment& experiment) {
  JsonText list = JsonText::list();
  for (const sim::PlacedJob& placed : experiment.jobs) {
    list.add(job(experiment, placed));
  }
  return list;
}

JsonText cuts(const sim::Experiment& experiment, int ranks) {
  JsonText list = JsonText::list();
  if (ranks > 1) {
    for (const sim::CutPrediction& cut : sim::predict_cuts(experiment, ranks)) {
      list.add(JsonText::object()
                   .put("name", cut.name)
                   .put("speed_up", cut.speed_up())
                   .put("waits", cut.waits)
                   .put("messages", cut.messages)
                   .put("imbalance", cut.imbalance));
    }
  }
  return list;
}

JsonText nodes_of_ranks(const machine::Partition& partition) {
  JsonText list = JsonText::list();
  for (const auto& members : partition.members) {
    list.add(members.size());
  }
  return list;
}

JsonText notes(const sim::Forecast& forecast) {
  JsonText list = JsonText::list();
  for (const std::string& note : forecast.notes) {
    list.add(note);
  }
  return list;
}

}  // namespace

std::string check_json(const sim::Experiment& experiment, int ranks) {
  const sim::CutChoice cut = sim::choose_cut(experiment, ranks, ranks);
  const sim::Forecast forecast = sim::forecast(experiment, cut.partition);
  const machine::Machine& machine = experiment.machine;
  return JsonText::object()
      .put("file_type", "tessera-check")
      .put("format_version", "1.0")
      .put("experiment", experiment.name)
      .put("machine", machine.name)
      .put("workload", experiment.workload)
      .put("kind", experiment.kind)
      .put("configuration", configuration(experiment))
      .put("notes", notes(forecast))
      .put("nodes", machine.topology->nodes())
      .put("computing_nodes", machine.topology->computing_nodes())
      .put("links", forecast.links)
      .put("channels", machine.channels.size())
      .put("jobs", jobs(experiment))
      .put("ideal_time_ps", known(experiment.ideal_time()))
      .put("ranks", ranks)
      .put("lookahead_ps", forecast.lookahead.ps())
      .put("predicted_bytes", forecast.largest_bytes)
      .put("partition", experiment.options.partition)
      .put("cut", cut.name)
      .put("cut_reason", cut.reason)
      .put("synchronization", sim::synchronization_of(experiment))
      .put("weights", experiment.options.weights)
      .put("cut_links", forecast.partition.cut_links)
      .put("imbalance", forecast.partition.imbalance)
      .put("rank_nodes", nodes_of_ranks(forecast.partition))
      .put("cuts", cuts(experiment, ranks))
      .put("versions", JsonText::object()
                           .put("tessera", std::string(version()))
                           .put("git", std::string(git_hash())))
      .to_string();
}

}  // namespace tessera::cli
