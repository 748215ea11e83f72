#include "tessera/workload/graph_survey.hpp"

#include <algorithm>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "tessera/core/error.hpp"
#include "tessera/core/wide.hpp"

namespace tessera::workload {
namespace {

constexpr std::size_t nodes_at_a_time = 4096;

struct NodePlace {
  std::uint64_t id = 0;
  std::optional<std::uint64_t> offset;
};

NodePlace place_of(const GraphNode& node) {
  return {node.id, node.offset};
}

std::string named(const NodePlace& place) {
  return "node " + std::to_string(place.id) +
         (place.offset ? " at byte " + std::to_string(*place.offset) : "");
}

// What the members of a communicator must have in common.
struct SeenCollective {
  collective::Kind kind = collective::Kind::all_reduce;
  Bytes bytes;
  bool has_parts = false;
  std::uint32_t root = 0;
  std::vector<bool> dimensions;
  std::uint32_t channels = 1;
  NodePlace node;  // may differ
  bool matches(const SeenCollective& other) const {
    return kind == other.kind && bytes == other.bytes && has_parts == other.has_parts &&
           root == other.root && dimensions == other.dimensions && channels == other.channels;
  }
};

std::string text_of(const SeenCollective& seen) {
  return to_string(seen.kind) + " of " +
         (seen.has_parts ? "a size for each member" : to_string(seen.bytes)) +
         (seen.channels == 1 ? "" : " in " + std::to_string(seen.channels) + " channels");
}

// Work of the host has no model.
bool takes_no_time(const GraphNode& node) {
  const bool has_work = node.flops.count() > 0 || node.bytes.count() > 0;
  return !node.recorded_duration && (node.on_host || !has_work);
}

bool is_device_work(const GraphNode& node) {
  return (node.flops.count() > 0 || node.bytes.count() > 0) && !node.on_host;
}

bool is_recorded_work(const GraphNode& node) {
  return is_device_work(node) && node.recorded_duration;
}

bool has_vector_work(const GraphNode& node) {
  const bool is_product = node.shape && node.shape->product.count > 0;
  return is_device_work(node) && !is_product;
}

bool is_fused_attention(const GraphNode& node) {
  return is_device_work(node) && node.shape && node.shape->kernel == Kernel::fused_attention;
}

// Of the nodes of a graph, one after the other.
class Reach {
 public:
  // False: its number is given twice.
  bool add(const GraphNode& node) {
    const std::uint64_t place = places_.size();
    if (!places_.emplace(node.id, place).second) {
      return false;
    }
    std::uint64_t nearest = 0;  // counted from 1; 0: the begin
    for (const auto* dependencies : {&node.data_dependencies, &node.control_dependencies}) {
      for (const std::uint64_t on : *dependencies) {
        const auto found = places_.find(on);
        if (found == places_.end()) {
          return true;  // it is read before that one in any case
        }
        nearest = std::max(nearest, found->second + 1);
      }
    }
    most_ = std::max(most_, place + 1 - nearest);
    return true;
  }
  bool knows(std::uint64_t id) const { return places_.contains(id); }
  std::uint64_t most() const { return most_; }

 private:
  std::unordered_map<std::uint64_t, std::uint64_t> places_;
  std::uint64_t most_ = 0;
};

class Look {
 public:
  explicit Look(const GraphSource& source) : source_(source) {}

  GraphSurvey make() {
    check_groups();
    survey_.at_work.resize(source_.npus());
    survey_.computed_bytes = SparseTableOf<Wide>(source_.npus(), 0);
    for (std::uint32_t npu = 0; npu < source_.npus(); ++npu) {
      look_at(npu);
    }
    check_messages();
    check_missing();
    return std::move(survey_);
  }

 private:
  struct Sequence {
    std::uint32_t npu = 0;  // the first one that has any
    std::vector<SeenCollective> seen;
  };
  struct Messages {
    std::uint64_t sent = 0;
    std::uint64_t received = 0;
    Wide sent_bytes = 0;
    Wide received_bytes = 0;
    bool is_open = false;  // a receive does not say how much
    NodePlace sender;      // the last node
    NodePlace receiver;
  };

  [[noreturn]] void refuse(std::uint32_t npu, const NodePlace& node,
                           const std::string& fault) const {
    throw ConfigError(source_.name_of(npu) + ": " + named(node) + ": " + fault);
  }

  [[noreturn]] void refuse_missing(std::uint32_t npu, const std::string& group,
                                   const Sequence& sequence, std::size_t own) const {
    throw ConfigError(source_.name_of(npu) + ": has " + std::to_string(own) + " collectives of " +
                      group_name(group) + ", " + source_.name_of(sequence.npu) +
                      " has more; the next one there is " + named(sequence.seen[own].node) + ", " +
                      text_of(sequence.seen[own]));
  }

  void check_groups() {
    for (const auto& [name, members] : source_.groups()) {
      std::unordered_set<std::uint32_t>& seen = members_[name];
      for (const std::uint32_t npu : members) {
        if (npu >= source_.npus()) {
          throw ConfigError("communicator " + name + " has a member " + std::to_string(npu) +
                            ", but there are " + std::to_string(source_.npus()) + " NPUs");
        }
        if (!seen.insert(npu).second) {
          throw ConfigError("communicator " + name + " has member " + std::to_string(npu) +
                            " twice");
        }
      }
    }
  }

  void look_at(std::uint32_t npu) {
    Reach nodes_so_far;
    std::map<std::uint64_t, NodePlace> open;    // not seen yet, and who depends on it
    std::map<std::string, std::size_t> counts;  // of collectives, by communicator
    GraphPosition position;
    for (auto nodes = source_.read(npu, position, nodes_at_a_time); !nodes.empty();
         nodes = source_.read(npu, position, nodes_at_a_time)) {
      for (const GraphNode& node : nodes) {
        if (!nodes_so_far.add(node)) {
          refuse(npu, place_of(node), "its number is given twice");
        }
        open.erase(node.id);
        for (const auto* dependencies : {&node.data_dependencies, &node.control_dependencies}) {
          for (const std::uint64_t on : *dependencies) {
            if (!nodes_so_far.knows(on)) {
              open.try_emplace(on, place_of(node));
            } else if (on == node.id) {
              refuse(npu, place_of(node), "depends on itself");
            }
          }
        }
        take(npu, node, counts);
      }
    }
    survey_.reach = std::max(survey_.reach, nodes_so_far.most());
    if (!open.empty()) {
      refuse(npu, open.begin()->second,
             "depends on node " + std::to_string(open.begin()->first) + ", which is not there");
    }
    for (const auto& [group, sequence] : sequences_) {
      const auto count = counts.find(group);
      const std::size_t own = count == counts.end() ? 0 : count->second;
      if (is_member(npu, group) && own < sequence.seen.size()) {
        refuse_missing(npu, group, sequence, own);
      }
    }
  }

  // Members that came before the first one that has a collective have none.
  void check_missing() const {
    for (const auto& [group, sequence] : sequences_) {
      for (std::uint32_t npu = 0; npu < sequence.npu; ++npu) {
        if (is_member(npu, group)) {
          refuse_missing(npu, group, sequence, 0);
        }
      }
    }
  }

  static std::string group_name(const std::string& group) {
    return group.empty() ? "all NPUs" : "communicator " + group;
  }

  bool is_member(std::uint32_t npu, const std::string& group) const {
    if (group.empty()) {
      return true;
    }
    return members_.at(group).contains(npu);
  }

  void take(std::uint32_t npu, const GraphNode& node, std::map<std::string, std::size_t>& counts) {
    ++survey_.nodes;
    survey_.at_work[npu] = true;
    survey_.names.insert(node.name);
    switch (node.action) {
      case GraphAction::nothing:
        ++survey_.without_action;
        break;
      case GraphAction::compute:
        survey_.flops += static_cast<double>(node.flops.count());
        if (node.shape && node.shape->data_type && !node.on_host) {
          survey_.types.insert(*node.shape->data_type);
          survey_.flops_of_types[*node.shape->data_type] += static_cast<double>(node.flops.count());
        }
        survey_.has_vector_work = survey_.has_vector_work || has_vector_work(node);
        survey_.has_fused_attention = survey_.has_fused_attention || is_fused_attention(node);
        survey_.computed_bytes.at(npu) += node.on_host ? 0 : node.bytes.count();
        survey_.without_work += takes_no_time(node) ? 1 : 0;
        survey_.device_work += is_device_work(node) ? 1 : 0;
        survey_.untyped_work +=
            is_device_work(node) && !(node.shape && node.shape->data_type) ? 1 : 0;
        survey_.recorded += is_recorded_work(node) ? 1 : 0;
        survey_.without_shape +=
            node.flops.count() > 0 && !node.on_host && !node.shape && !node.recorded_duration ? 1
                                                                                              : 0;
        break;
      case GraphAction::load:
      case GraphAction::store:
        ++(node.in_remote ? survey_.remote_accesses : survey_.local_accesses);
        survey_.remote_loads += node.in_remote && node.action == GraphAction::load ? 1 : 0;
        survey_.gathered_accesses += node.in_remote && node.in_switch ? 1 : 0;
        break;
      case GraphAction::send:
      case GraphAction::receive: {
        if (node.peer >= source_.npus()) {
          refuse(npu, place_of(node), "its peer " + std::to_string(node.peer) + " is no NPU");
        }
        const bool sends = node.action == GraphAction::send;
        Messages& messages =
            messages_[{sends ? npu : node.peer, sends ? node.peer : npu, node.tag}];
        (sends ? messages.sent : messages.received) += 1;
        survey_.sends += sends ? 1 : 0;
        (sends ? messages.sent_bytes : messages.received_bytes) += node.bytes.count();
        messages.is_open = messages.is_open || (!sends && node.bytes == Bytes());
        survey_.open_receives += !sends && node.bytes == Bytes() ? 1 : 0;
        (sends ? messages.sender : messages.receiver) = place_of(node);
        break;
      }
      case GraphAction::collective:
        take_collective(npu, node, counts[node.group]);
        break;
    }
  }

  void take_collective(std::uint32_t npu, const GraphNode& node, std::size_t& count) {
    survey_.add_collective(node, 1);
    if (!node.group.empty() && !source_.groups().contains(node.group)) {
      refuse(npu, place_of(node),
             "there is no communicator " + node.group + " (workload.groups names a file of them)");
    }
    if (!is_member(npu, node.group)) {
      refuse(
          npu, place_of(node),
          "is of " + group_name(node.group) + ", which NPU " + std::to_string(npu) + " is not in");
    }
    const std::size_t size =
        node.group.empty() ? source_.npus() : source_.groups().at(node.group).size();
    if (node.root >= size) {
      refuse(npu, place_of(node),
             "its root is member " + std::to_string(node.root) + " of " + group_name(node.group) +
                 ", which has " + std::to_string(size));
    }
    if (!node.parts.empty() && node.parts.size() != size) {
      refuse(npu, place_of(node),
             "has bytes for " + std::to_string(node.parts.size()) + " members, its communicator " +
                 std::to_string(size));
    }
    if (node.channels == 0 || size % node.channels != 0) {
      refuse(npu, place_of(node),
             "has " + std::to_string(node.channels) + " channels, which do not divide the " +
                 std::to_string(size) + " members of " + group_name(node.group));
    }
    const bool equal = node.parts.empty();
    const SeenCollective own{node.collective, equal ? node.bytes : Bytes(),
                             !equal,          node.root,
                             node.dimensions, node.channels,
                             place_of(node)};
    Sequence& sequence = sequences_[node.group];
    if (sequence.seen.empty()) {
      sequence.npu = npu;
    }
    if (sequence.npu == npu) {
      sequence.seen.push_back(own);
    } else if (count >= sequence.seen.size()) {
      refuse(npu, place_of(node),
             "is collective " + std::to_string(count) + " of " + group_name(node.group) + ", but " +
                 source_.name_of(sequence.npu) + " has " + std::to_string(sequence.seen.size()) +
                 " only");
    } else if (!own.matches(sequence.seen[count])) {
      refuse(npu, place_of(node),
             "is " + text_of(own) + " as collective " + std::to_string(count) + " of " +
                 group_name(node.group) + ", but " + source_.name_of(sequence.npu) + " has " +
                 text_of(sequence.seen[count]) + ", " + named(sequence.seen[count].node));
    }
    ++count;
  }

  void check_messages() const {
    for (const auto& [key, messages] : messages_) {
      const auto& [from, to, tag] = key;
      if (messages.sent == messages.received) {
        if (messages.sent_bytes != messages.received_bytes && !messages.is_open) {
          refuse(to, messages.receiver,
                 "what NPU " + std::to_string(to) + " receives with tag " + std::to_string(tag) +
                     " from NPU " + std::to_string(from) + " is " +
                     to_string(Bytes(static_cast<std::uint64_t>(messages.received_bytes))) +
                     ", but that sends " +
                     to_string(Bytes(static_cast<std::uint64_t>(messages.sent_bytes))));
        }
        continue;
      }
      const bool more_sent = messages.sent > messages.received;
      refuse(more_sent ? from : to, more_sent ? messages.sender : messages.receiver,
             "NPU " + std::to_string(from) + " sends " + std::to_string(messages.sent) +
                 " messages with tag " + std::to_string(tag) + " to NPU " + std::to_string(to) +
                 ", which receives " + std::to_string(messages.received));
    }
  }

  const GraphSource& source_;
  GraphSurvey survey_;
  std::map<std::string, std::unordered_set<std::uint32_t>> members_;
  std::map<std::string, Sequence> sequences_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, Messages> messages_;
};

}  // namespace

GraphSurvey look_through(const GraphSource& source) {
  return Look(source).make();
}

std::uint64_t reach_of_some(const GraphSource& source) {
  constexpr std::uint32_t some = 16;
  std::uint64_t most = 0;
  const std::uint32_t step = source.npus() / some + 1;
  for (std::uint32_t npu = 0; npu < source.npus(); npu += step) {
    Reach reach;
    GraphPosition position;
    for (auto nodes = source.read(npu, position, nodes_at_a_time); !nodes.empty();
         nodes = source.read(npu, position, nodes_at_a_time)) {
      std::for_each(nodes.begin(), nodes.end(), [&](const GraphNode& node) { reach.add(node); });
    }
    most = std::max(most, reach.most());
  }
  return most;
}

}  // namespace tessera::workload
