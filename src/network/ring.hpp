// A ring of members each of which sends on to the next, at once, what it received: its messages one
// by one, or all at once as a recurrence.
//
// Edge e leads from member e to the next. In step s the message on it is that of chain e - s, which
// began at that member and goes once from edge to edge with each step. With E(e, s) the time at
// which it is over, while nobody else is on the links of the ring and those of its edges are apart,
//
//   E(e, s) = max(E(e - 1, s - 1) + wait(e), E(e, s - 1)) + flow(e)
//
// where messages of an edge go in turn; where they go together, as long as the second term does not
// decide. That is what a simulation of every message computes; `lump` computes it row by row, some
// rows ahead of time. `disband` says what each message does at an instant, so that they go on one
// by one; the next one over each edge tells its receiver how many came before it.
//
// Links and times are the network's; this class knows no events.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "tessera/core/ids.hpp"
#include "tessera/core/time.hpp"
#include "tessera/pdes/state.hpp"

namespace tessera::network {

class Ring {
 public:
  struct Edge {
    std::vector<std::uint32_t> links;
    SimTime wait;  // from the end of a message to when the one that follows could flow here
    std::array<SimTime, 2> flow;  // from begin to end alone, of messages of `sizes`
    double rate = 0;              // alone [B/ps]
  };
  struct Chain {
    std::uint64_t bytes = 0;
    std::uint32_t steps_over = 0;
    std::uint32_t flow = 0;  // number of it, of the step under way
    SimTime over_at;         // the last of the steps that are over
    SimTime begun_at;        // the one under way
    bool is_flowing = false;
    bool is_coming = true;  // its member has begun to send the next message
  };

  Ring() = default;
  // More than one member, more than no step. `in_turn`: messages of an edge never share it.
  Ring(std::uint32_t members, std::uint32_t steps, bool in_turn);

  std::uint32_t members() const { return static_cast<std::uint32_t>(nodes_.size()); }
  std::uint32_t steps() const { return steps_; }
  EntityId node(std::uint32_t member) const { return nodes_[member % nodes_.size()]; }
  std::uint32_t edge_of(std::uint32_t chain, std::uint32_t step) const {
    return (chain + step) % members();
  }
  std::uint32_t chain_on(std::uint32_t edge, std::uint32_t step) const {
    return (edge + members() - step % members()) % members();
  }
  std::uint32_t member_at(EntityId node) const;
  const Chain& chain(std::uint32_t number) const { return chains_[number]; }

  void join(std::uint32_t member, EntityId node);
  // Messages, one by one.
  void comes(std::uint32_t chain, std::uint64_t bytes);
  void begins(std::uint32_t chain, std::uint32_t flow, SimTime now);
  void ends(std::uint32_t chain, SimTime now);
  // The receiver of an edge is told of the message of `step`, and of those before it that it has
  // not been told of. Returns their number.
  std::uint32_t tell(std::uint32_t edge, std::uint32_t step);
  bool is_told(std::uint32_t edge) const { return told_[edge] == steps_; }
  bool is_over() const { return told_steps_ == std::uint64_t{members()} * steps_; }

  // Whether all have joined and every chain has begun.
  bool has_begun() const { return joined_ == members() && begun_ == members(); }
  // Whether messages came over each edge in order, and edges are set.
  bool is_regular() const { return is_in_order_ && !edges_.empty(); }
  // Smallest and largest message.
  std::array<std::uint64_t, 2> sizes() const;
  // [members]; none: it cannot be lumped.
  void set_edges(std::vector<Edge> edges);
  std::span<const Edge> edges() const { return edges_; }
  // When a message that is flowing ends if it has been alone since its begin.
  SimTime end_alone(std::uint32_t chain) const;
  // Messages on each edge: 1 where one is flowing.
  std::vector<std::uint32_t> flowing() const;

  // From `now` on, if all that is under way is alone. False if messages would share an edge, for
  // some steps at least; nothing has changed then.
  bool lump(SimTime now);
  bool is_lumped() const { return is_lumped_; }
  // How often it was lumped; tells plans of other times apart.
  std::uint32_t lumps() const { return lumps_; }
  // A message of before came: it is known already.
  void comes_late(std::uint32_t chain) { chains_[chain].is_coming = false; }
  // Until when its rows tell what happens; never() when they go to the last step.
  SimTime known_until() const;
  // At that time: more rows. False if messages would share an edge.
  bool look_ahead();
  // Of the last step; known_until() is never().
  SimTime last_end(std::uint32_t edge) const;

  // What a message does once the ring is disbanded.
  struct Resumed {
    enum class State : std::uint8_t {
      flows,  // since `begin`, until `end` if it stays alone
      waits,  // for its turn, behind others of the edge
      comes,  // at `begin`, by itself
      over,   // now, the last of its chain; to be told
    };
    std::uint32_t chain = 0;
    std::uint32_t step = 0;
    State state = State::comes;
    SimTime begin;
    SimTime end;
  };
  // Of every chain that is not over and told, along edges, and steps in order. Those that their
  // members send come without being named.
  void disband(SimTime now, const std::function<void(const Resumed&)>& resume);
  // Of messages that were over, and were sent, while the ring was lumped, over each edge since the
  // last call.
  using BySize = std::array<std::uint64_t, 2>;
  using EdgeUse = std::function<void(const Edge&, const BySize& over, const BySize& sent)>;
  void take_use(const EdgeUse& use);

  // All but edges, which follow from the rest and are set again before anything else.
  void save(pdes::StateWriter& writer) const;
  static Ring restored(pdes::StateReader& reader);

 private:
  using Row = std::vector<std::int64_t>;  // [edges] E of a step, in ps

  std::size_t size_of(std::uint32_t chain) const {
    return chains_[chain].bytes == sizes_[0] ? 0 : 1;
  }
  std::int64_t flow_ps(std::uint32_t edge, std::uint32_t step) const {
    return edges_[edge].flow[size_of(chain_on(edge, step))].ps();
  }
  const Row& row(std::uint32_t step) const { return rows_[step + 1 - first_row_]; }
  std::uint32_t last_row() const {
    return first_row_ + static_cast<std::uint32_t>(rows_.size()) - 2;
  }
  bool add_first_row(std::uint32_t step);
  bool add_row();
  std::vector<std::uint32_t> over_by(SimTime now) const;
  void note_use(std::span<const std::uint32_t> over);
  BySize by_size(std::uint32_t edge, std::uint32_t from, std::uint32_t to) const;

  std::uint32_t steps_ = 0;
  bool in_turn_ = false;
  bool is_in_order_ = true;
  std::uint32_t joined_ = 0;
  std::uint32_t begun_ = 0;
  std::uint64_t told_steps_ = 0;
  std::vector<EntityId> nodes_;                                 // [members]
  std::unordered_map<std::uint32_t, std::uint32_t> member_at_;  // by node
  std::vector<Chain> chains_;                                   // [members]
  std::vector<std::uint32_t> over_;                 // [edges] steps that are over, while not lumped
  std::vector<std::uint32_t> told_;                 // [edges] steps that the receiver knows of
  std::array<std::vector<std::uint64_t>, 2> used_;  // [edges] by size
  std::array<std::vector<std::uint64_t>, 2> sent_;  // [edges] by size

  std::array<std::uint64_t, 2> sizes_{};
  std::vector<Edge> edges_;
  // For rows: [edges] wait, flow of the smaller size, and what the larger takes more.
  std::vector<std::int64_t> wait_ps_;
  std::vector<std::int64_t> flow_ps_;
  std::vector<std::int64_t> more_ps_;
  std::vector<std::int64_t> is_large_;       // [2 chains] all bits set, or none; twice the same
  std::vector<std::uint32_t> large_before_;  // [2 chains + 1] how many

  bool is_lumped_ = false;
  std::uint32_t lumps_ = 0;
  std::uint32_t ahead_ = 0;      // rows to look ahead
  std::uint32_t first_row_ = 0;  // 1 + the step of the first row
  std::deque<Row> rows_;
};

}  // namespace tessera::network
