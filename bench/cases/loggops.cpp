#include "models/loggops.hpp"

#include <bit>

#include "case.hpp"
#include "model_run.hpp"
#include "tessera/core/error.hpp"
#include "tessera/core/text.hpp"

namespace tessera::bench {
namespace {

const std::vector<std::string>& patterns() {  // in the order of MessagePattern
  static const std::vector<std::string> names{"dissemination", "binomial", "recursive-doubling",
                                              "random-pairs"};
  return names;
}

// The times are those that LogGOPSim has when it is told nothing.
void describe(OptionList& options) {
  options("lps", "processes", text_option("1024"), "N");
  options("pattern", join(patterns()), text_option(patterns().front()), "NAME");
  options("iterations", "times the pattern is gone through", text_option("100"), "N");
  options("size", "of a message", text_option("8 B"), "SIZE");
  options("L", "latency", text_option("2500 ns"), "TIME");
  options("o", "processor time of a message", text_option("1500 ns"), "TIME");
  options("g", "time between messages on an interface", text_option("1000 ns"), "TIME");
  options("G", "time of a byte on an interface", text_option("6 ns"), "TIME");
  options("O", "processor time of a byte", text_option("0 ns"), "TIME");
  options("S", "largest message without rendezvous", text_option("65535 B"), "SIZE");
}

LogGopsParameters read(const CaseOptions& options, std::uint64_t seed) {
  LogGopsParameters parameters;
  parameters.lps = options.count32("lps", 2, 1U << 30);
  const auto pattern = static_cast<MessagePattern>(options.choice("pattern", patterns()));
  if (pattern == MessagePattern::recursive_doubling && !std::has_single_bit(parameters.lps)) {
    throw ConfigError("--lps: recursive doubling needs a power of two");
  }
  parameters.schedule = MessageSchedule(pattern, parameters.lps, seed);
  parameters.iterations = options.count("iterations", 1, std::uint64_t{1} << 40);
  parameters.bytes = options.bytes("size").count();
  parameters.L = options.time("L", SimTime::zero());
  parameters.o = options.time("o", SimTime::zero());
  parameters.g = options.time("g", SimTime::zero());
  parameters.G = options.time("G", SimTime::zero());
  parameters.O = options.time("O", SimTime::zero());
  parameters.S = options.bytes("S").count();
  parameters.lookahead = parameters.L + parameters.o;
  if (parameters.lookahead == SimTime::zero()) {
    throw ConfigError("--L: must be above zero when o is zero");
  }
  return parameters;
}

Report run(const CaseOptions& options, const Setting& setting, comm::Communicator& communicator) {
  const LogGopsParameters parameters = read(options, setting.seed);
  Report report;
  report.parameters = {{"lps", parameters.lps},
                       {"pattern", options.text("pattern")},
                       {"iterations", parameters.iterations},
                       {"size_bytes", parameters.bytes},
                       {"L_ps", parameters.L.ps()},
                       {"o_ps", parameters.o.ps()},
                       {"g_ps", parameters.g.ps()},
                       {"G_ps", parameters.G.ps()},
                       {"O_ps", parameters.O.ps()},
                       {"S_bytes", parameters.S}};
  run_model<LogGops>(report, parameters, setting, communicator);
  return report;
}

}  // namespace

Case loggops_case() {
  return {"loggops", "message passing in the LogGOPS model", engines_of_models(), describe, run};
}

}  // namespace tessera::bench
