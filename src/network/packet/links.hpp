// The directed links that leave the nodes of a rank, as the network `packet` keeps them: the wire
// of each, and what each did until the last time bin ended.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "link_bins.hpp"
#include "packet/wire.hpp"
#include "tessera/core/large_pages.hpp"
#include "tessera/core/wide.hpp"
#include "tessera/network/network.hpp"
#include "tessera/pdes/component.hpp"

namespace tessera::network {

class Links {
 public:
  // Links are numbered node by node of `members`, in the order of the nodes' ports.
  Links(std::span<const EntityId> members, const machine::Topology& topology) : members_(members) {
    for (const machine::LinkClass& link_class : topology.link_classes()) {
      classes_.emplace_back(link_class);
    }
    if (topology.grid()) {
      stride_ = 4;
      states_.resize(std::size_t{stride_} * members_.size());
    } else {
      first_.reserve(members_.size() + 1);
      std::uint32_t links = 0;
      for (const EntityId node : members_) {
        first_.push_back(links);
        links += topology.ports(node);
      }
      first_.push_back(links);
      states_.resize(links);
    }
    if (classes_.size() > 1) {
      name_classes(topology);
    }
  }

  std::size_t size() const { return states_.size(); }
  std::uint32_t number(std::uint32_t index, unsigned port) const {
    return (stride_ != 0 ? index * stride_ : first_[index]) + port;
  }
  // First link of a node, and the one after its last.
  std::pair<std::uint32_t, std::uint32_t> of_node(std::uint32_t index) const {
    return stride_ != 0 ? std::pair(index * stride_, (index + 1) * stride_)
                        : std::pair(first_[index], first_[index + 1]);
  }
  LinkState& state(std::uint32_t link) { return states_[link]; }
  const WireClass& wire(std::uint32_t link) const {
    return classes_[classes_of_links_.empty() ? 0 : classes_of_links_[link]];
  }
  // Where all nodes have as many.
  pdes::StateArray state_array() const {
    return stride_ == 0 ? pdes::StateArray{}
                        : pdes::StateArray{states_.data(), stride_ * sizeof(LinkState)};
  }

  void report_bins(LinkUseSink sink) {
    bin_sink_ = std::move(sink);
    bins_.open(states_.size());
  }

  void pass_boundary(SimTime boundary) {
    if (!bin_sink_) {
      return;
    }
    for_each([&](std::uint32_t link, EntityId node, unsigned port) {
      LinkState& state = states_[link];
      if (state.busy_ps == 0 && state.bytes == 0) {
        return;
      }
      BinState& bin = bins_[link];
      BinState now = done_by(boundary, link, bin);
      if (now.busy_ps != bin.busy_ps || now.bytes != bin.bytes) {
        bin_sink_({node, port, bin_begin_, boundary, Bytes(now.bytes - bin.bytes),
                   SimTime::from_ps(now.busy_ps - bin.busy_ps),
                   queue_bytes(link, state.longest_wait_ps)});
      }
      now.longest_wait_ps = std::max(bin.longest_wait_ps, state.longest_wait_ps);
      state.longest_wait_ps = 0;
      bin = now;
    });
    bin_begin_ = boundary;
  }

  // Use of each link until `end`.
  void visit(SimTime end, const LinkUseSink& sink) const {
    for_each([&](std::uint32_t link, EntityId node, unsigned port) {
      const LinkState& state = states_[link];
      if (state.busy_ps > 0 || state.bytes > 0) {
        const BinState done = done_by(end, link, {});
        sink({node, port, SimTime::zero(), end, Bytes(done.bytes), SimTime::from_ps(done.busy_ps),
              queue_bytes(link, longest_wait_ps(link))});
      }
    });
  }

  void save_wire(std::uint32_t link, pdes::StateWriter& writer) const { writer.put(states_[link]); }
  void restore_wire(std::uint32_t link, pdes::StateReader& reader) {
    states_[link] = reader.get<LinkState>();
  }

  // Bins are part of a node's state when they are reported: `report_bins` comes before this, and so
  // does `restore_wire` of its links.
  void save_bins(std::uint32_t index, pdes::StateWriter& writer) const {
    if (!bins_.is_open()) {
      return;
    }
    writer.put(bin_begin_);
    const auto [first, last] = of_node(index);
    for (std::uint32_t link = first; link < last; ++link) {
      const BinState bin = bins_.value(link);
      writer.put(bin.busy_ps);
      writer.put(bin.bytes);
      writer.put(bin.longest_wait_ps);
    }
  }
  void restore_bins(std::uint32_t index, pdes::StateReader& reader) {
    if (!bins_.is_open()) {
      return;
    }
    bin_begin_ = reader.get<SimTime>();
    const auto [first, last] = of_node(index);
    for (std::uint32_t link = first; link < last; ++link) {
      BinState bin;
      bin.busy_ps = reader.get<std::int64_t>();
      bin.bytes = reader.get<std::uint64_t>();
      bin.longest_wait_ps = reader.get<float>();
      if (states_[link].bytes > 0 || states_[link].busy_ps > 0) {
        bins_[link] = bin;
      }
    }
  }

  std::size_t resident_bytes() const {
    return states_.capacity() * sizeof(LinkState) + bins_.resident_bytes() +
           first_.capacity() * sizeof(std::uint32_t) +
           classes_of_links_.capacity() * sizeof(std::uint16_t);
  }

 private:
  void name_classes(const machine::Topology& topology) {
    classes_of_links_.resize(states_.size());
    for_each([&](std::uint32_t link, EntityId node, unsigned port) {
      if (port < topology.ports(node)) {
        const machine::Link to = topology.link(node, port);
        if (to.to.valid()) {
          classes_of_links_[link] = to.link_class;
        }
      }
    });
  }

  template <class Visit>
  void for_each(const Visit& visit) const {
    for (std::uint32_t index = 0; index < members_.size(); ++index) {
      const auto [first, last] = of_node(index);
      for (std::uint32_t link = first; link < last; ++link) {
        visit(link, members_[index], link - first);
      }
    }
  }

  // What of the booked use lies before `time`, given what lay before an earlier one: a packet that
  // waits for its tail holds the wire longer than its bytes need. Everything booked came before
  // `time`.
  BinState done_by(SimTime time, std::uint32_t link, const BinState& before) const {
    const LinkState& state = states_[link];
    return without((state.free_at - time).ps(), {state.busy_ps, state.bytes, 0}, before);
  }

  // Over the whole run.
  float longest_wait_ps(std::uint32_t link) const {
    const float before = bins_.is_open() ? bins_.value(link).longest_wait_ps : 0;
    return std::max(before, states_[link].longest_wait_ps);
  }

  Bytes queue_bytes(std::uint32_t link, float wait_ps) const {
    return bytes_in(SimTime::from_ps(static_cast<std::int64_t>(wait_ps)), wire(link).bandwidth());
  }

  std::span<const EntityId> members_;
  std::vector<WireClass> classes_;
  std::uint32_t stride_ = 0;          // links of every node, where all have as many
  std::vector<std::uint32_t> first_;  // else where each node's links begin
  LargePageVector<LinkState> states_;
  std::vector<std::uint16_t> classes_of_links_;  // empty when the machine has one class
  BinTable bins_;
  LinkUseSink bin_sink_;
  SimTime bin_begin_;
};

}  // namespace tessera::network
