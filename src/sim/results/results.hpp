// What a run found out and what it cost, gathered from all ranks.
#pragma once

#include <string>
#include <vector>

#include "run/rank_models.hpp"
#include "tessera/trace/records.hpp"
#include "tessera/trace/store/segment.hpp"
#include "tessera/trace/summary.hpp"

namespace tessera::sim {

// Of a part of the work.
trace::PeakMemory peak_row(const std::string& name, const plan::MemoryWalk::Peak& peak);

// Fills in times and rates of a tenant that has come to its end, by when that was.
void note_times(trace::TenantResult& tenant);

// Fills in the results up to `end`, and the costs of all `segments`, the last of which is this one;
// tells the recorder the totals. A run that did not come to its end has no time of an iteration.
// Collective.
void gather_results(RankModels& models, const std::vector<trace::Segment>& segments, SimTime end,
                    bool complete, trace::Summary& summary);

// Of tenants whose requests are served. Collective.
void fill_services(const RankModels& models, SimTime end, trace::Summary& summary);

}  // namespace tessera::sim
