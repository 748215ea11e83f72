#include "models/ring.hpp"

#include "case.hpp"
#include "model_run.hpp"
#include "reference/simgrid.hpp"
#include "tessera/core/error.hpp"

namespace tessera::bench {
namespace {

void describe(OptionList& options) {
  options("lps", "accelerators in the ring", text_option("256"), "N");
  options("chunk", "bytes that a step moves", text_option("1 MiB"), "SIZE");
  options("bandwidth", "of a link", text_option("100 GB/s"), "RATE");
  options("latency", "of a link", text_option("1 us"), "TIME");
  options("iterations", "all-reduces", text_option("10"), "N");
}

// Each flow is a chunk on its link; the times agree with the model's.
Measurement run_on_simgrid(const RingParameters& parameters, const RingOnSimgrid& ring) {
  const SimgridCost cost = run_simgrid(ring);
  Measurement measured;
  measured.engine = "simgrid";
  measured.lps = parameters.lps;
  measured.events = cost.flows;
  note_cost(measured, cost.cost);
  measured.simulated = cost.simulated;
  return measured;
}

Report run(const CaseOptions& options, const Setting& setting, comm::Communicator& communicator) {
  RingParameters parameters;
  const Bytes chunk = options.bytes("chunk");
  const Bandwidth bandwidth = options.bandwidth("bandwidth");
  const SimTime latency = options.time("latency", SimTime::zero());
  const std::uint64_t iterations = options.count("iterations", 1, 1'000'000'000);
  parameters.lps = options.count32("lps", 2, 1U << 30);
  parameters.serialization = serialization_time(chunk, bandwidth);
  parameters.lookahead = latency + parameters.serialization;
  parameters.steps = iterations * 2 * (parameters.lps - 1);
  Report report;
  report.parameters = {{"lps", parameters.lps},
                       {"chunk_bytes", chunk.count()},
                       {"bandwidth_bytes_per_s", bandwidth.bytes_per_second()},
                       {"latency_ps", latency.ps()},
                       {"iterations", iterations}};
  if (setting.engine != "simgrid") {
    run_model<Ring>(report, parameters, setting, communicator);
  } else if (communicator.size() > 1) {
    throw ConfigError("--engine simgrid: on one rank only");
  } else {
    const RingOnSimgrid ring{parameters.lps, chunk, bandwidth, latency, iterations};
    report.run = repeated(setting, [&] { return run_on_simgrid(parameters, ring); });
  }
  return report;
}

}  // namespace

Case ring_case() {
  std::vector<std::string> engines = engines_of_models();
  engines.emplace_back("simgrid");
  return {"ring", "ring all-reduce among accelerators", engines, describe, run};
}

}  // namespace tessera::bench
