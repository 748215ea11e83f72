// One planned collective: the part of each NPU, whom it sends to, and its time on an idle machine.
#include <algorithm>

#include "collectives/plans.hpp"
#include "tessera/collective/unequal_all_to_all.hpp"
#include "tessera/core/error.hpp"
#include "tessera/executor/collectives/group_dimensions.hpp"

namespace tessera::executor {
namespace {

using collective::Kind;

// Of steps, one in so many stands for those after it: all where they have the same partners, else
// so that no more than `most` are looked at. Chunks are alike but for a byte.
std::uint32_t stride_of(bool is_steady, std::uint32_t steps, std::uint32_t most) {
  constexpr std::uint32_t few = 64;
  if (steps <= few) {
    return 1;
  }
  return is_steady ? steps : (steps - 1) / most + 1;
}

}  // namespace

std::vector<std::uint32_t> PlannedCollective::coordinates(std::uint32_t npu) const {
  const std::vector<std::uint32_t> own =
      is_list_ ? std::vector<std::uint32_t>{npu} : coordinates_of(npu, sizes_);
  std::vector<std::uint32_t> coordinates;
  for (std::size_t d = 0; d < members_.size(); ++d) {
    if (own[d] < members_[d].size() && members_[d][own[d]] == own[d]) {
      coordinates.push_back(own[d]);  // at its own place, as where all take part
      continue;
    }
    const auto found = std::find(members_[d].begin(), members_[d].end(), own[d]);
    ensure(members_[d].empty() || found != members_[d].end(), "an NPU outside its communicator");
    coordinates.push_back(static_cast<std::uint32_t>(found - members_[d].begin()));
  }
  return coordinates;
}

std::unique_ptr<collective::CollectiveRun> PlannedCollective::run(
    std::uint32_t npu, std::optional<std::uint32_t> root) const {
  std::vector<std::uint32_t> own = coordinates(npu);
  // Kinds without a root have it at the origin.
  std::vector<std::uint32_t> of_root =
      root ? coordinates(*root) : std::vector<std::uint32_t>(own.size());
  if (program_ != nullptr) {
    return std::make_unique<collective::ProgramRun>(*program_, shared_.bytes, own[0], of_root[0],
                                                    costs_);
  }
  return std::make_unique<collective::StackedRun>(shared_, std::move(own), std::move(of_root));
}

std::optional<network::RingPart> PlannedCollective::ring_part(std::uint32_t npu) const {
  const std::vector<collective::ChunkPlan>& chunks = shared_.turns.chunks;
  if (program_ != nullptr || chunks.size() != 1 || chunks[0].phases.size() != 1) {
    return std::nullopt;
  }
  const collective::Phase& phase = chunks[0].phases[0];
  const collective::RunDimension& dimension = shared_.dimensions[phase.dimension];
  const std::uint32_t size = dimension.dimension.size;
  const collective::StepCosts& costs = dimension.costs;
  if (size < 2 || !dimension.algorithm->is_passed_on(phase.kind) ||
      costs.endpoint > SimTime::zero() || costs.local_memory > Bandwidth() ||
      phase_bytes(npu, 0, 0) < Bytes(size)) {
    return std::nullopt;
  }
  const std::uint32_t steps = dimension.algorithm->steps(phase.kind, size);
  if (steps > network::RingPart::most_steps) {
    return std::nullopt;
  }
  return network::RingPart{0, size, coordinates(npu)[phase.dimension], steps, 0};
}

std::unique_ptr<collective::CollectiveRun> PlannedCollective::unequal_run(
    std::uint32_t npu, const std::vector<std::uint64_t>& bytes_to) const {
  return std::make_unique<collective::UnequalAllToAll>(bytes_to, coordinates(npu)[0], window_,
                                                       costs_, block_);
}

Bytes PlannedCollective::phase_bytes(std::uint32_t npu, std::uint32_t chunk,
                                     std::uint16_t phase) const {
  const std::vector<collective::ChunkPlan>& chunks = shared_.turns.chunks;
  return collective::phase_bytes(
      chunks[chunk], chunks[chunk].phases[phase],
      collective::chunk_bytes(shared_.bytes, static_cast<std::uint32_t>(chunks.size()), chunk),
      shared_.shape, coordinates(npu));
}

std::map<Kind, Bytes> PlannedCollective::kinds_in(std::uint32_t npu,
                                                  std::uint32_t dimension) const {
  std::map<Kind, Bytes> kinds;
  for (std::uint32_t chunk = 0; chunk < shared_.turns.chunks.size(); ++chunk) {
    const std::vector<collective::Phase>& phases = shared_.turns.chunks[chunk].phases;
    for (std::uint16_t phase = 0; phase < phases.size(); ++phase) {
      if (phases[phase].dimension == dimension) {
        const Bytes bytes = phase_bytes(npu, chunk, phase);
        const auto [known, is_new] = kinds.try_emplace(phases[phase].kind, bytes);
        known->second = std::min(known->second, bytes);
      }
    }
  }
  return kinds;
}

// By coordinate. Where members are counted from a root, or a program says, it may be all.
std::map<std::uint32_t, PlannedCollective::Sends> PlannedCollective::sends_in(
    std::uint32_t npu, std::uint32_t dimension, std::uint32_t most) const {
  const auto size = static_cast<std::uint32_t>(members_[dimension].size());
  std::map<std::uint32_t, Sends> sends;
  if (size < 2) {
    return sends;
  }
  if (shared_.dimensions.empty() || collective::has_root(shared_.kind)) {
    const std::uint32_t stride = (size - 1) / most + 1;
    const std::uint32_t own = coordinates(npu)[dimension];
    for (std::uint32_t further = 0; further < size; further += stride) {
      const std::uint32_t peers = std::min(stride, size - further);
      sends[(own + further) % size] = {peers, peers, Bytes(shared_.bytes.count() / size) * peers,
                                       Bytes()};
    }
    return sends;
  }
  const collective::RunDimension& run = shared_.dimensions[dimension];
  const std::uint32_t own = coordinates(npu)[dimension];
  const bool both_ways = run.dimension.queues > 1 && run.algorithm->turns_round();
  const auto chunks = static_cast<std::uint32_t>(shared_.turns.chunks.size());
  for (const auto& [kind, bytes] : kinds_in(npu, dimension)) {
    const std::uint32_t steps = run.algorithm->steps(kind, size);
    const bool is_steady = run.algorithm->is_steady(kind);
    const std::uint32_t stride = stride_of(is_steady, steps, most);
    const std::uint32_t lanes_of_kind = run.algorithm->lanes(kind);
    const auto take = [&, kind = kind, bytes = bytes](collective::Channel channel,
                                                      bool turned_round) {
      const std::uint32_t place = channel.turned(own);
      const std::uint32_t member = turned_round ? (size - place) % size : place;
      for (std::uint32_t lane = 0; lane < lanes_of_kind; ++lane) {
        const Bytes of_lane =
            lanes_of_kind == 1 ? bytes : collective::chunk_bytes(bytes, lanes_of_kind, lane);
        const Bytes chunk(of_lane.count() / size);
        for (std::uint32_t number = 0; number < steps; number += stride) {
          const collective::Step step =
              run.algorithm->step(kind, size, member, of_lane, number, lane);
          if (step.send_to != collective::nobody) {
            const std::uint32_t to =
                channel.turned_back(turned_round ? (size - step.send_to) % size : step.send_to);
            const std::uint32_t alike = std::min(stride, steps - number);
            const std::uint64_t messages = std::uint64_t{alike} * (chunks / shared_.channels);
            const Bytes least = stride == 1 ? step.send_bytes : std::min(step.send_bytes, chunk);
            const auto [known, is_new] = sends.try_emplace(to, Sends{1, 0, Bytes(), least});
            known->second.peers = is_steady ? 1 : std::max(known->second.peers, alike);
            known->second.messages += messages;
            known->second.bytes += step.send_bytes * messages;
            known->second.least = std::min(known->second.least, least);
          }
        }
      }
    };
    for (std::uint32_t channel = 0; channel < shared_.channels; ++channel) {
      take(shared_.channel_of(channel), false);
      if (both_ways) {
        take(shared_.channel_of(channel), true);
      }
    }
  }
  return sends;
}

// Chunks follow each other through the longest phase.
SimTime PlannedCollective::idle_time(
    std::uint32_t npu,
    const std::function<SimTime(std::uint32_t from, std::uint32_t to, Bytes)>& message) const {
  if (barrier_time_) {
    return *barrier_time_;
  }
  if (shared_.dimensions.empty()) {
    return message(members_[0].front(), members_[0].back(), shared_.bytes);
  }
  const std::vector<collective::ChunkPlan>& chunks = shared_.turns.chunks;
  SimTime sum;
  SimTime longest;
  for (std::uint16_t phase = 0; !chunks.empty() && phase < chunks[0].phases.size(); ++phase) {
    const collective::Phase& one = chunks[0].phases[phase];
    const collective::RunDimension& run = shared_.dimensions[one.dimension];
    const SimTime time = collective::phase_time(
        *run.algorithm, one.kind, run.dimension.size, phase_bytes(npu, 0, phase),
        [&](collective::Member from, collective::Member to, Bytes bytes) {
          return message(npu_at(npu, one.dimension, from), npu_at(npu, one.dimension, to), bytes);
        },
        run.costs);
    sum += time;
    longest = std::max(longest, time);
  }
  const std::size_t rounds = chunks.size() / shared_.channels;  // channels go at once
  return chunks.empty() ? sum : sum + longest * static_cast<std::int64_t>(rounds - 1);
}

std::uint32_t PlannedCollective::npu_at(std::uint32_t npu, std::uint32_t dimension,
                                        std::uint32_t coordinate) const {
  if (is_list_) {
    return members_[0][coordinate];
  }
  std::uint32_t stride = 1;
  for (std::uint32_t d = 0; d < dimension; ++d) {
    stride *= sizes_[d];
  }
  const std::uint32_t own = npu / stride % sizes_[dimension];
  return npu + (members_[dimension][coordinate] - own) * stride;
}

}  // namespace tessera::executor
