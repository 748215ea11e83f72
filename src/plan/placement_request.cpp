#include "placement_request.hpp"

#include <limits>

#include "given_stages.hpp"
#include "grid_layout.hpp"
#include "placement_starts.hpp"

namespace tessera::plan {
namespace {

constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();

std::optional<std::array<std::uint32_t, 2>> read_shape(config::Section& section,
                                                       std::string_view key) {
  const std::vector<std::int64_t> sides = section.get_list<std::int64_t>(key);
  if (sides.empty()) {
    return std::nullopt;
  }
  if (sides.size() != 2 || sides[0] < 1 || sides[1] < 1 || sides[0] > most || sides[1] > most) {
    section.error(key, "expected [rows, columns], both at least 1");
    return std::nullopt;
  }
  return std::array<std::uint32_t, 2>{static_cast<std::uint32_t>(sides[0]),
                                      static_cast<std::uint32_t>(sides[1])};
}

Optimization read_optimization(config::Section& section) {
  Optimization optimization;
  optimization.seed = static_cast<std::uint64_t>(
      section.get_or<std::int64_t>("seed", 1, config::at_least<std::int64_t>(0)));
  constexpr std::int64_t most_moves = 1'000'000'000'000;
  if (const auto moves = section.get_optional<std::int64_t>(
          "moves", config::between<std::int64_t>(0, most_moves))) {
    optimization.moves = static_cast<std::uint64_t>(*moves);
  }
  optimization.start = section.get_name("start", start_names(), "best");
  return optimization;
}

}  // namespace

std::vector<ParameterInfo> placement_parameters() {
  return {
      {"placement.layout", "", "s-shape on grids, else linear", "how stages lie on the machine"},
      {"placement.group", "tiles", "", "[rows, columns] of the tiles of one stage"},
      {"placement.tensor_group", "tiles", "", "[rows, columns] of one tensor group inside it"},
      {"placement.tensor_members", "", "near",
       "near: a tensor group close together; far: spread over the tiles of its stage"},
      {"placement.band", "rows", "the side of a square of one tensor group",
       "of layout replicas: rows of a band"},
      {"placement.replica_order", "", "rows",
       "of layout replicas: rows: band after band; columns: down the first column of replicas and "
       "up "
       "the next, so that each is beside the next one, as rings over replicas want it"},
      {"placement.tiles", "", "", "of layout given: the tiles of each stage, or a file of them"},
      {"placement.seed", "", "1", "of layout optimized: of its random numbers"},
      {"placement.moves", "tiles", "6000 a role, 10 million at most",
       "of layout optimized: moved on trial"},
      {"placement.start", "", "best",
       "of layout optimized: line, s-shape, linear, or the best of these and more"}};
}

void read_placement(config::Section section, const workload::Workload& workload,
                    const machine::Topology& topology, Strategy& strategy) {
  PlacementRequest& request = strategy.placement;
  strategy.layout = section.get_name("layout", placements().names(),
                                     field_of(topology, request.nodes) ? "s-shape" : "linear");
  request.degrees = strategy.degrees;
  request.group = read_shape(section, "group");
  request.tensor_group = read_shape(section, "tensor_group");
  request.tensor_members = section.get_name("tensor_members", {"near", "far"}, "near") == "far"
                               ? TensorMembers::far
                               : TensorMembers::near;
  if (const auto band =
          section.get_optional<std::int64_t>("band", config::between<std::int64_t>(1, most))) {
    request.band = static_cast<std::uint32_t>(*band);
  }
  request.replica_order =
      section.get_name("replica_order", {"rows", "columns"}, "rows") == "columns"
          ? ReplicaOrder::columns
          : ReplicaOrder::rows;
  request.optimization = read_optimization(section);
  if (strategy.layout == "given") {
    read_given_stages(section, workload, topology, strategy.chunks, request);
  } else if (section.has("tiles")) {
    section.raw("tiles");
    section.error("tiles", "is only for 'layout: given'");
  }
}

}  // namespace tessera::plan
