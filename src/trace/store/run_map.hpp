// What the numbers in a run's tables stand for: nodes, stages, tenants, names.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "rank_trace.hpp"

namespace tessera::trace {

// A number that has a name as JSON string, if the run says so.
class NumberedNames {
 public:
  // `what` stands before a number that has no name: "operator 7".
  explicit NumberedNames(std::string what) : what_(std::move(what)) {}
  // Names 0, 1, … from "a,b,…".
  void set_list(std::string_view comma_separated);
  // The first name of a number counts.
  void set(std::uint32_t number, std::string_view name);
  // The name as a JSON string, with its quotes.
  const std::string& json(std::uint32_t number);
  // The name itself; "" for a number without.
  std::string plain(std::uint32_t number) const;

 private:
  struct Name {
    std::string plain;
    std::string json;
  };
  std::string what_;
  std::map<std::uint32_t, Name> names_;
};

// Gathered from all ranks: a rank's rows refer to nodes of other ranks and names of rank 0.
class RunMap {
 public:
  // The stage of nodes that have none.
  static constexpr std::int64_t no_stage = -1;

  // Throws IoError.
  void gather(const RankTrace& trace);
  // After the last rank.
  void settle();

  bool contains(std::uint32_t node) const { return find(node) != nullptr; }
  std::int64_t stage_of(std::uint32_t node) const;
  // Ascending, without `no_stage`.
  const std::vector<std::int64_t>& stages() const { return stages_; }

  // A stage of one tenant; of no tenant, -1, where one job has the whole machine.
  struct Group {
    std::int64_t tenant = -1;
    std::int64_t stage = no_stage;
    friend auto operator<=>(const Group&, const Group&) = default;
  };
  Group group_of(std::uint32_t node) const;
  // Ascending, of those that are stages.
  const std::vector<Group>& groups() const { return groups_; }

  NumberedNames operators{"operator"};
  NumberedNames phases{"phase"};
  NumberedNames activities{"activity"};
  NumberedNames traffic{"traffic"};
  NumberedNames tenants{"tenant"};

 private:
  struct Node {
    std::uint32_t number;
    Group group;
  };
  const Node* find(std::uint32_t node) const;

  std::vector<Node> nodes_;  // by number
  std::vector<std::int64_t> stages_;
  std::vector<Group> groups_;
};

}  // namespace tessera::trace
