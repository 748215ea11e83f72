#include "placement/request.hpp"

#include <limits>

#include "placement/grid_layout.hpp"
#include "placement/starts.hpp"
#include "stages/given_stages.hpp"
#include "tessera/config/key.hpp"
#include "tessera/config/without_effect.hpp"
#include "tessera/core/error.hpp"

namespace tessera::plan {
namespace {

using config::between;
using config::ChoiceKey;
using config::counted_in;
using config::Key;
using config::NameKey;
using config::OptionalKey;
using config::OtherKey;

constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();

const NameKey layout = NameKey(
                           "placement.layout", [] { return placements().names(); },
                           "s-shape on grids, else linear", "how stages are placed on the machine")
                           .derived();
const OtherKey group =
    counted_in("tiles", OtherKey("placement.group", "shape", "as square as possible",
                                 "[rows, columns] of the tiles of one stage"));
const OtherKey tensor_group =
    counted_in("tiles", OtherKey("placement.tensor_group", "shape", "as square as possible",
                                 "[rows, columns] of one tensor group inside a stage"));
const ChoiceKey<TensorMembers> tensor_members{
    "placement.tensor_members",
    {{"near", TensorMembers::near}, {"far", TensorMembers::far}},
    PlacementRequest{}.tensor_members,
    "near: a tensor group close together; far: spread over the tiles of its stage"};
const OptionalKey<std::uint32_t> band = counted_in(
    "rows", OptionalKey<std::uint32_t>("placement.band", "the side of a square of one tensor group",
                                       "with layout replicas: rows of a band",
                                       between<std::uint32_t>(1, most)));
const ChoiceKey<ReplicaOrder> replica_order{
    "placement.replica_order",
    {{"rows", ReplicaOrder::rows},
     {"columns", ReplicaOrder::columns},
     {"ring", ReplicaOrder::ring}},
    PlacementRequest{}.replica_order,
    "with layout replicas: rows: band after band; columns: down the first column of replicas and "
    "up the next, so that consecutive replicas are adjacent, as suits rings over replicas; ring: "
    "the last is also adjacent to the first (all bands hold equally many whole replicas)"};
const OtherKey tiles{"placement.tiles", "list or file", "none",
                     "with layout given: the tiles of each stage, or a file that lists them"};
const Key<std::uint64_t> seed{"placement.seed", Optimization{}.seed,
                              "with layout optimized: seed of its random numbers"};
const OptionalKey<std::uint64_t> moves = counted_in(
    "tiles", OptionalKey<std::uint64_t>("placement.moves", "6000 per role, at most 10 million",
                                        "with layout optimized: tiles moved on trial",
                                        between<std::uint64_t>(0, 1'000'000'000'000)));
const NameKey start{
    "placement.start", start_names, Optimization{}.start,
    "with layout optimized: layout to start from: line, s-shape, replicas, linear, or the best "
    "of these and more"};

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
  optimization.seed = seed.read(section);
  optimization.moves = moves.read(section);
  optimization.start = start.read(section);
  return optimization;
}

// Whether members of tensor groups are on the same tiles, near and far, as far as it is known.
bool near_is_far(const machine::Topology& topology, const Strategy& strategy) {
  if (strategy.degrees.tensor == 1 || strategy.degrees.data == 1) {
    return true;
  }
  const std::optional<Field> field = field_of(topology, strategy.placement.nodes);
  if (!field || strategy.layout == "given" || strategy.layout == "optimized") {
    return false;
  }
  PlacementRequest near = strategy.placement;
  near.tensor_members = TensorMembers::near;
  try {
    return lay_out(*field, near, false) == lay_out(*field, strategy.placement, false);
  } catch (const ConfigError&) {
    return false;  // which the plan complains about
  }
}

}  // namespace

std::vector<ParameterInfo> placement_parameters() {
  return {layout,        group, tensor_group, tensor_members, band,
          replica_order, tiles, seed,         moves,          start};
}

void read_placement(config::Section section, const workload::Workload& workload,
                    const machine::Topology& topology, Strategy& strategy) {
  PlacementRequest& request = strategy.placement;
  strategy.layout = layout.read(section, field_of(topology, request.nodes) ? "s-shape" : "linear");
  request.degrees = strategy.degrees;
  request.group = read_shape(section, group.key());
  request.tensor_group = read_shape(section, tensor_group.key());
  request.tensor_members = tensor_members.read(section);
  request.band = band.read(section);
  request.replica_order = replica_order.read(section);
  request.optimization = read_optimization(section);
  if (strategy.layout == "given") {
    read_given_stages(section, workload, topology, strategy.chunks, request);
  } else if (section.has("tiles")) {
    section.raw("tiles");
    section.error("tiles", "is only for 'layout: given'");
  }
  const bool has_rectangles = strategy.layout != "linear" && strategy.layout != "replicas";
  if (request.tensor_members == TensorMembers::far && has_rectangles &&
      near_is_far(topology, strategy)) {
    config::note_without_effect(section, tensor_members.key(),
                                "stages in which near and far members are the same tiles");
  }
}

}  // namespace tessera::plan
