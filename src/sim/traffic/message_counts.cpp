#include "traffic/message_counts.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <variant>

namespace tessera::sim {
namespace {

// All that ranks know, on the first one, which keeps its own as it is: there may be megabytes.
MessageCounts gathered(const MessageCounts& own, comm::Communicator& communicator) {
  pdes::StateWriter writer;
  if (communicator.rank() > 0) {
    own.save(writer);
  }
  const auto bytes = writer.bytes();
  MessageCounts all = own;
  for (const std::string& text :
       communicator.gather({reinterpret_cast<const char*>(bytes.data()), bytes.size()})) {
    if (!text.empty()) {
      pdes::StateReader reader(std::as_bytes(std::span(text)));
      MessageCounts one;
      one.restore(reader);
      all.add_all(one);
    }
  }
  return all;
}

}  // namespace

void MessageCounts::take(SimTime latency, bool came_in_time) {
  const auto ps = static_cast<std::uint64_t>(latency.ps());
  ++come;
  in_time += came_in_time ? 1 : 0;
  least_ps_ = std::min(least_ps_, ps);
  latencies_.add(ps);
}

void MessageCounts::add_all(const MessageCounts& other) {
  sent += other.sent;
  come += other.come;
  in_time += other.in_time;
  least_ps_ = std::min(least_ps_, other.least_ps_);
  latencies_.add_all(other.latencies_);
}

void MessageCounts::save(pdes::StateWriter& writer) const {
  for (const std::uint64_t number : {sent, come, in_time, least_ps_}) {
    writer.put(number);
  }
  latencies_.save(writer);
}

void MessageCounts::restore(pdes::StateReader& reader) {
  for (std::uint64_t* const number : {&sent, &come, &in_time, &least_ps_}) {
    *number = reader.get<std::uint64_t>();
  }
  latencies_.restore(reader);
}

std::vector<std::string> message_measures() {
  return {"messages_sent",    "messages_delivered", "sent_bytes",     "delivered_bytes",
          "latency_least_ps", "latency_mean_ps",    "latency_p50_ps", "latency_p95_ps",
          "latency_p99_ps",   "latency_most_ps",    "offered_rate",   "sent_rate",
          "accepted_rate"};
}

std::vector<trace::Measure> MessageCounts::measures(const TrafficWork& work,
                                                    comm::Communicator& communicator) const {
  const MessageCounts all = gathered(*this, communicator);
  std::array<std::uint64_t, 9> numbers{};  // stay so on all ranks but the first
  if (communicator.rank() == 0) {
    numbers = {all.sent, all.come, all.in_time};
  }
  if (communicator.rank() == 0 && all.come > 0) {
    const std::vector<std::uint64_t> at = all.latencies_.percentiles({50, 95, 99});
    numbers = {all.sent, all.come, all.in_time, all.least_ps_,        all.latencies_.mean(),
               at[0],    at[1],    at[2],       all.latencies_.most()};
  }
  communicator.reduce_sum(numbers);
  const auto rate = [&](std::uint64_t messages) {
    return static_cast<double>(messages * work.message_flits) /
           (static_cast<double>(work.tiles.size()) * static_cast<double>(work.cycles));
  };
  const std::uint64_t bytes = work.message().count();
  const std::vector<std::variant<std::uint64_t, double>> values{
      numbers[0], numbers[1],       numbers[0] * bytes, numbers[1] * bytes, numbers[3],
      numbers[4], numbers[5],       numbers[6],         numbers[7],         numbers[8],
      work.rate,  rate(numbers[0]), rate(numbers[2])};
  const std::vector<std::string> names = message_measures();
  std::vector<trace::Measure> measures;
  for (std::size_t i = 0; i < names.size(); ++i) {
    measures.push_back({names[i], values[i]});
  }
  return measures;
}

}  // namespace tessera::sim
