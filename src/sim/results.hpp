// What a run found out and what it cost, gathered from all ranks.
#pragma once

#include <string>
#include <vector>

#include "rank_models.hpp"
#include "tessera/trace/records.hpp"
#include "tessera/trace/store/segment.hpp"
#include "tessera/trace/summary.hpp"

namespace tessera::sim {

std::string name_of(TraceLevel level);

// Of a part of the work.
trace::PeakMemory peak_row(const std::string& name, const plan::MemoryWalk::Peak& peak);

// What is known before the run.
trace::Summary described(const Experiment& experiment, const comm::Communicator& communicator,
                         const CutChoice& cut);

// A progress report of this rank.
trace::EngineRow engine_row(const RankModels& models, double wall_s);

// Simulated time of the last event of all ranks. Collective.
SimTime last_event(const RankModels& models);

// What this segment has cost so far; `end` is the simulated time it came to. Collective.
trace::SegmentCost cost_so_far(const RankModels& models, SimTime begin, SimTime end, double wall_s);

// Fills in the results up to `end`, and the costs of all `segments`, the last of which is this one;
// tells the recorder the totals. A run that did not come to its end has no time of an iteration.
// Collective.
void gather_results(RankModels& models, const std::vector<trace::Segment>& segments, SimTime end,
                    bool complete, trace::Summary& summary);

// Of tenants whose requests are served. Collective.
void fill_services(const RankModels& models, SimTime end, trace::Summary& summary);

// Time of an iteration and what follows from it, given the simulated time of all.
void note_iteration(const Experiment& experiment, trace::Summary& summary);

// Peak memory of each rank. Collective.
void gather_memory(comm::Communicator& communicator, trace::Summary& summary);
// Of the ranks' traces.
std::vector<trace::FileSum> gather_sums(comm::Communicator& communicator,
                                        const trace::FileSum& own);

// Events that each rank handled, those before a checkpoint counted by the rank that took them up.
// Collective.
void gather_events(const RankModels& models, trace::Summary& summary);

// [nodes] events that each has sent, from the beginning of the run, modulo 2^32. Collective.
std::vector<std::uint64_t> gather_node_events(const RankModels& models);

// Empty when every tile finished; else who waits for what. The same text on every rank. Collective.
std::string deadlock_report(const RankModels& models);

}  // namespace tessera::sim
