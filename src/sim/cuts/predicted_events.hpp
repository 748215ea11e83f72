// Events of each node, added up from what tiles will do (weights.hpp).
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "tessera/core/sparse_table.hpp"
#include "tessera/network/network.hpp"
#include "tessera/sim/platform.hpp"

namespace tessera::sim {

inline constexpr std::uint64_t events_of_an_operator = 2;  // asked for, and done

class PredictedEvents {
 public:
  explicit PredictedEvents(const Platform& platform)
      : PredictedEvents(platform, platform.network->predict_traffic(platform.machine)) {}
  PredictedEvents(const Platform& platform, std::unique_ptr<network::PredictedTraffic> traffic)
      : platform_(platform),
        events_(platform.machine.topology->nodes(), 0),
        traffic_(std::move(traffic)) {}

  void add(EntityId node, std::uint64_t events) { events_.at(node.value()) += events; }
  void message(EntityId from, EntityId to, Bytes bytes, std::uint64_t count) {
    traffic_->visit_runs(from, to, bytes, [&](const network::PredictedTraffic::Run& run) {
      for (std::uint32_t i = 0; i < run.nodes; ++i) {
        events_.at(run.first + i * run.step) += run.events * count;
      }
    });
  }
  // To the memory of a tile.
  void access(EntityId tile, Bytes bytes, bool write, std::uint64_t count) {
    platform_.memory->predict_events(
        platform_.machine, tile, bytes, write,
        [&](EntityId node, std::uint64_t events) { add(node, events * count); },
        [&](EntityId from, EntityId to, Bytes size, std::uint64_t messages) {
          message(from, to, size, messages * count);
        });
  }
  // [nodes]
  SparseCounts take() { return std::move(events_); }

 private:
  const Platform& platform_;
  SparseCounts events_;
  std::unique_ptr<network::PredictedTraffic> traffic_;
};

}  // namespace tessera::sim
