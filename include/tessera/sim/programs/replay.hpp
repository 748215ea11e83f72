// Runs of many equal micro-batches, of which few are simulated.
#pragma once

#include "tessera/comm/communicator.hpp"
#include "tessera/sim/experiment.hpp"
#include "tessera/sim/simulation.hpp"
#include "tessera/trace/summary.hpp"

namespace tessera::sim {

// Runs the experiment like `run`, but where run.replay is `exact` simulates three iterations with
// few micro-batches: m, m + p and m + 2p, where p is one (with chunks: one a stage), and m a few
// more than fill the pipeline, with a multiple of p left to the whole number. When
// the second takes as much longer than the first as the third than the second, in all and in each
// activity of each stage, the pipeline has settled, and every further p micro-batches add the same
// again: times of the whole iteration follow. Else m grows, once also with steps of twelve times p
// (work beside collectives may repeat every few micro-batches only), and when it has become too
// large to be worth it, or has been tried RunRequest::replay_trials times, everything is simulated.
// Summary::replayed_micro_batches says how many were not simulated; events, messages, digest and
// the run folder's trace are of the longest run that was. What a later micro-batch changes is not
// seen; docs/design/0009 tells of one such case. Where run.partition is `auto` and fewer ranks are
// predicted to be as fast (choose_cut), the others stay idle. Throws ConfigError where replay and
// checkpoints are both asked for, or the schedule is the user's own.
trace::Summary run_with_replay(Experiment& experiment, comm::Communicator& communicator,
                               const RunRequest& request);

}  // namespace tessera::sim
