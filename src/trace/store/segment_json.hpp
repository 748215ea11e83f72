// Segments as JSON, in segments.json and in the checkpoints.
#pragma once

#include <vector>

#include "tessera/trace/store/json.hpp"
#include "tessera/trace/store/segment.hpp"

namespace tessera::trace {

// Calls visit(key, member) for every member of a segment's cost.
template <class AnyCost, class Visit>
void visit_cost(AnyCost& cost, Visit visit) {
  visit("ranks", cost.ranks);
  visit("communicator", cost.communicator);
  visit("partition", cost.partition);
  visit("begin_ps", cost.begin_ps);
  visit("end_ps", cost.end_ps);
  visit("wall_s", cost.wall_s);
  visit("cpu_s", cost.cpu_s);
  visit("waiting_s", cost.waiting_s);
  visit("windows", cost.windows);
  visit("rounds", cost.rounds);
  visit("waits", cost.waits);
  visit("remote_events", cost.remote_events);
}

Json to_json(const std::vector<Segment>& segments);

// Throws JsonError when `json` holds something else.
std::vector<Segment> segments_from(const Json& json);

}  // namespace tessera::trace
