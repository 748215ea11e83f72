#include "models/phold.hpp"

#include "case.hpp"
#include "model_run.hpp"

namespace tessera::bench {
namespace {

void describe(OptionList& options) {
  options("lps", "logical processes", text_option("4096"), "N");
  options("lookahead", "smallest delay", text_option("1 ns"), "TIME");
  options("mean", "mean of the exponential part of a delay", text_option("9 ns"), "TIME");
  options("remote", "share of the events that go to another process", text_option("0.25"), "SHARE");
  options("events", "events to handle, about", text_option("10000000"), "N");
  options("events-per-lp", "instead: events a process, about", text_option(), "N");
  options("until", "instead: end of the simulated time", text_option(), "TIME");
}

SimTime end_of(const CaseOptions& options, const PholdParameters& parameters) {
  if (options.given("until")) {
    return options.time("until");
  }
  constexpr std::uint64_t most = 1'000'000'000'000;
  const std::uint64_t each = options.given("events-per-lp")
                                 ? options.count("events-per-lp", 1, most)
                                 : options.count("events", 1, most) / parameters.lps;
  return (parameters.lookahead + parameters.mean) * static_cast<std::int64_t>(each);
}

Report run(const CaseOptions& options, const Setting& setting, comm::Communicator& communicator) {
  PholdParameters parameters;
  parameters.lps = options.count32("lps", 2);
  parameters.lookahead = options.time("lookahead");
  parameters.mean = options.time("mean", SimTime::zero());
  parameters.remote = options.share("remote");
  parameters.until = end_of(options, parameters);
  parameters.seed = setting.seed;
  Report report;
  report.parameters = {{"lps", parameters.lps},
                       {"lookahead_ps", parameters.lookahead.ps()},
                       {"mean_ps", parameters.mean.ps()},
                       {"remote", parameters.remote},
                       {"until_ps", parameters.until.ps()}};
  run_model<Phold>(report, parameters, setting, communicator);
  return report;
}

}  // namespace

Case phold_case() {
  return {"phold", "events that hop among logical processes at random", engines_of_models(),
          describe, run};
}

}  // namespace tessera::bench
