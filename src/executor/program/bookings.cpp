#include "program/bookings.hpp"

#include <algorithm>

namespace tessera::executor {

Activity Bookings::activity_of(plan::Traffic traffic) {
  switch (traffic) {
    case plan::Traffic::tensor:
      return Activity::tensor;
    case plan::Traffic::data:
      return Activity::data;
    case plan::Traffic::context:
      return Activity::context;
    case plan::Traffic::expert:
      return Activity::expert;
    default:
      return Activity::pipeline;
  }
}

void Bookings::book_until_sent(const pdes::Context& context, TileState& tile,
                               const InboxPool::Message& message) const {
  const SimTime under_way = std::max(tile.since, message.sent);
  book(context, tile, Activity::bubble, tile.since, under_way);
  tile.since = under_way;
}

void Bookings::note_output(const pdes::Context& context, const TileState& tile) {
  if (outputs_.empty() || plan_.placement.stage(tile.role) + 1 != plan_.stages.size()) {
    return;
  }
  Outputs& outputs = outputs_[context.index()];
  outputs.last = context.now();
  if (outputs.first == SimTime::zero()) {
    outputs.first = context.now();
  }
}

void Bookings::put_outputs(std::uint32_t index, TileResult& result) const {
  if (!outputs_.empty()) {
    result.first_output = outputs_[index].first;
    result.last_output = outputs_[index].last;
  }
}

void Bookings::save(std::uint32_t index, pdes::StateWriter& writer) const {
  if (!outputs_.empty()) {
    writer.put(outputs_[index].first);
    writer.put(outputs_[index].last);
  }
}

void Bookings::restore(std::uint32_t index, pdes::StateReader& reader) {
  if (!outputs_.empty()) {
    outputs_[index].first = reader.get<SimTime>();
    outputs_[index].last = reader.get<SimTime>();
  }
}

}  // namespace tessera::executor
