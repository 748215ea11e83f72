#include "models/hold.hpp"

#include "case.hpp"
#include "model_run.hpp"
#include "reference/queue.hpp"
#include "take_window.hpp"
#include "tessera/core/error.hpp"
#include "tessera/pdes/calendar.hpp"

namespace tessera::bench {
namespace {

void describe(OptionList& options) {
  options("pending", "events in the set", text_option("65536"), "N");
  options("lookahead", "smallest increment, and width of a window", text_option("1 ns"), "TIME");
  options("mean", "mean of the exponential part of an increment", text_option("9 ns"), "TIME");
  options("events", "holds to make, about", text_option("10000000"), "N");
}

Measurement measurement_of(const char* engine, const Hold& hold, const Cost& cost) {
  Measurement measured;
  measured.engine = engine;
  measured.events = hold.events();
  measured.simulated = hold.last_event_time();
  measured.digest = hold.digest();
  note_cost(measured, cost);
  return measured;
}

Measurement run_on_calendar(const HoldParameters& parameters) {
  forget_peak_memory();
  Hold hold(parameters);
  pdes::Calendar calendar(parameters.lookahead, parameters.pending);
  const auto insert = [&](const pdes::Event& event) { calendar.insert(event); };
  std::uint64_t windows = 0;
  const Cost cost = cost_of(false, [&] {
    hold.fill(insert);
    for (auto window = calendar.next_window(); window != pdes::no_window;
         window = calendar.next_window()) {
      take_window(calendar, window, [&](const pdes::Event& event) { hold.handle(event, insert); });
      ++windows;
    }
  });
  Measurement measured = measurement_of("tessera", hold, cost);
  measured.windows = windows;
  measured.largest_pending = calendar.largest_size();
  measured.event_bytes = calendar.resident_bytes();
  return measured;
}

Measurement run_on_queue(const HoldParameters& parameters) {
  forget_peak_memory();
  Hold hold(parameters);
  reference::EventQueue queue(parameters.pending);
  const auto insert = [&](const pdes::Event& event) { queue.push(event); };
  const Cost cost = cost_of(false, [&] {
    hold.fill(insert);
    while (!queue.empty()) {
      const pdes::Event event = queue.top();
      queue.pop();
      hold.handle(event, insert);
    }
  });
  Measurement measured = measurement_of("reference", hold, cost);
  measured.largest_pending = parameters.pending;
  measured.event_bytes = queue.resident_bytes();
  return measured;
}

Report run(const CaseOptions& options, const Setting& setting, comm::Communicator& communicator) {
  if (communicator.size() > 1) {
    throw ConfigError("hold: on one rank only");
  }
  HoldParameters parameters;
  parameters.pending = options.count32("pending", 1);
  parameters.lookahead = options.time("lookahead");
  parameters.mean = options.time("mean", SimTime::zero());
  const std::uint64_t events = options.count("events", 1, std::uint64_t{1} << 40);
  parameters.until = (parameters.lookahead + parameters.mean) *
                     static_cast<std::int64_t>(events / parameters.pending);
  parameters.seed = setting.seed;
  Report report;
  report.parameters = {{"pending", parameters.pending},
                       {"lookahead_ps", parameters.lookahead.ps()},
                       {"mean_ps", parameters.mean.ps()},
                       {"until_ps", parameters.until.ps()}};
  run_engines(
      report, setting, communicator, [&] { return run_on_calendar(parameters); },
      [&] { return run_on_queue(parameters); });
  return report;
}

}  // namespace

Case hold_case() {
  return {"hold", "the pending-event set alone", engines_of_models(), describe, run};
}

}  // namespace tessera::bench
