// Requests a processor second of the DRAM channel model, outside of the engine.
#include "tessera/memory/dram/drive.hpp"

#include "case.hpp"
#include "cost.hpp"
#include "tessera/core/error.hpp"

namespace tessera::bench {
namespace {

void describe(OptionList& options) {
  options("preset", "the device", text_option("HBM2"), "NAME");
  options("scheduler", "oldest-ready or bank-queues", text_option("oldest-ready"), "NAME");
  options("pattern", "stream or random", text_option("stream"), "NAME");
  options("requests", "how many", text_option("3000000"), "N");
}

Report run(const CaseOptions& options, const Setting& setting, comm::Communicator& communicator) {
  if (communicator.size() > 1) {
    throw ConfigError("dram: on one rank only");
  }
  const std::string pattern = options.text("pattern");
  if (pattern != "stream" && pattern != "random") {
    throw ConfigError("--pattern: '" + pattern + "' is neither stream nor random");
  }
  memory::DramSpec spec = memory::dram_presets().at(options.text("preset"))();
  spec.controller.scheduler = options.text("scheduler");
  memory::DramDrive drive;
  drive.pattern = pattern == "stream" ? memory::DramPattern::stream : memory::DramPattern::random;
  drive.requests = options.count32("requests", 1, 1U << 30);
  drive.seed = setting.seed;
  memory::DramMeasure measure;
  Cost best;
  for (unsigned i = 0; i < setting.repeats; ++i) {
    const Cost cost = cost_of(false, [&] { measure = memory::drive_dram(spec, drive); });
    best = i == 0 || cost.cpu_s < best.cpu_s ? cost : best;
  }
  Report report;
  report.parameters = {{"preset", options.text("preset")},
                       {"scheduler", spec.controller.scheduler},
                       {"pattern", pattern},
                       {"requests", drive.requests}};
  report.fields = {{"cycles", measure.cycles},
                   {"utilization", measure.utilization(spec)},
                   {"mean_latency_cycles", measure.mean_latency()},
                   {"cpu_s", best.cpu_s},
                   {"requests_per_cpu_s", static_cast<double>(drive.requests) / best.cpu_s}};
  return report;
}

}  // namespace

Case dram_case() {
  return {"dram", "requests to a DRAM, outside of the engine", {"tessera"}, describe, run};
}

}  // namespace tessera::bench
