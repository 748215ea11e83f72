#include "models/sparse.hpp"

#include "case.hpp"
#include "model_run.hpp"

namespace tessera::bench {
namespace {

void describe(OptionList& options) {
  options("lps", "accelerators", text_option("1000"), "N");
  options("lookahead", "smallest delay between two of them", text_option("1 ns"), "TIME");
  options("spacing", "time between two events of the whole machine", text_option("1 us"), "TIME");
  options("events", "events to handle", text_option("1000000"), "N");
}

Report run(const CaseOptions& options, const Setting& setting, comm::Communicator& communicator) {
  SparseParameters parameters;
  parameters.lps = options.count32("lps", 2, 1U << 30);
  parameters.lookahead = options.time("lookahead");
  parameters.spacing = options.time("spacing", parameters.lookahead);
  const std::uint64_t events = options.count("events", 1, std::uint64_t{1} << 40);
  parameters.until = parameters.spacing * static_cast<std::int64_t>(events);
  parameters.seed = setting.seed;
  Report report;
  report.parameters = {{"lps", parameters.lps},
                       {"lookahead_ps", parameters.lookahead.ps()},
                       {"spacing_ps", parameters.spacing.ps()},
                       {"until_ps", parameters.until.ps()}};
  run_model<Sparse>(report, parameters, setting, communicator);
  return report;
}

}  // namespace

Case sparse_case() {
  return {"sparse", "a large machine in which hardly anything happens", engines_of_models(),
          describe, run};
}

}  // namespace tessera::bench
