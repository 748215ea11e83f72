// What each rank knows of a run, added up over ranks or put side by side.
#pragma once

#include <cstdint>
#include <vector>

#include "run/rank_models.hpp"
#include "tessera/core/wide.hpp"
#include "tessera/trace/store/segment.hpp"
#include "tessera/trace/summary.hpp"

namespace tessera::sim {

// Sums over all ranks of numbers that may exceed 64 bits together. Collective, as all below.
std::vector<Wide> sums_over_ranks(comm::Communicator& communicator,
                                  const std::vector<Wide>& values);

// Simulated time of the last event of all ranks that the run lasts for.
SimTime last_event(const RankModels& models);
// When nothing more is to be told of by time: after any event, such as a credit on its way back,
// and when all links are free.
SimTime end_of_bins(const RankModels& models);

// Peak memory of each rank.
void gather_memory(comm::Communicator& communicator, trace::Summary& summary);
// Of the ranks' traces.
std::vector<trace::FileSum> gather_sums(comm::Communicator& communicator,
                                        const trace::FileSum& own);

// Events that each rank handled, those before a checkpoint counted by the rank that took them up.
void gather_events(const RankModels& models, trace::Summary& summary);

// [nodes] events that each has sent, from the beginning of the run, modulo 2^32.
std::vector<std::uint64_t> gather_node_events(const RankModels& models);

}  // namespace tessera::sim
