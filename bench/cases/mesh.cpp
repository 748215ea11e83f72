#include "models/mesh.hpp"

#include "case.hpp"
#include "model_run.hpp"

namespace tessera::bench {
namespace {

const std::vector<std::string>& patterns() {  // in the order of MeshPattern
  static const std::vector<std::string> names{"uniform", "transpose", "neighbour"};
  return names;
}

void describe(OptionList& options) {
  options("side", "routers along an edge of the mesh", text_option("64"), "K");
  options("in-flight", "packets in flight (default: four a router, as in SST-core's message mesh)",
          text_option(), "N");
  options("pattern", "uniform, transpose or neighbour", text_option("uniform"), "NAME");
  options("lookahead", "latency of a hop", text_option("1 ns"), "TIME");
  options("serialization", "time a packet takes a link", text_option("500 ps"), "TIME");
  options("events", "hops to make, at most about", text_option("10000000"), "N");
  options("until", "instead: end of the simulated time", text_option(), "TIME");
}

Report run(const CaseOptions& options, const Setting& setting, comm::Communicator& communicator) {
  MeshParameters parameters;
  parameters.side = options.count32("side", 2, 65'535);
  parameters.lps = parameters.side * parameters.side;
  parameters.in_flight = options.given("in-flight")
                             ? options.count("in-flight", 1, std::uint64_t{1} << 40)
                             : std::uint64_t{4} * parameters.lps;
  parameters.pattern = static_cast<MeshPattern>(options.choice("pattern", patterns()));
  parameters.lookahead = options.time("lookahead");
  parameters.serialization = options.time("serialization", SimTime::zero());
  const std::uint64_t events = options.count("events", 1, std::uint64_t{1} << 40);
  parameters.until =
      options.given("until")
          ? options.time("until")
          : parameters.lookahead * static_cast<std::int64_t>(events / parameters.in_flight + 1);
  parameters.seed = setting.seed;
  Report report;
  report.parameters = {{"side", parameters.side},
                       {"in_flight", parameters.in_flight},
                       {"pattern", options.text("pattern")},
                       {"lookahead_ps", parameters.lookahead.ps()},
                       {"serialization_ps", parameters.serialization.ps()},
                       {"until_ps", parameters.until.ps()}};
  run_model<Mesh>(report, parameters, setting, communicator);
  return report;
}

}  // namespace

Case mesh_case() {
  return {"mesh", "packets on a square mesh of routers", engines_of_models(), describe, run};
}

}  // namespace tessera::bench
