// A stack of dimensions as a machine.
#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "readers.hpp"
#include "routing_by.hpp"
#include "tessera/config/conditional_key.hpp"
#include "tessera/machine/routings.hpp"
#include "tessera/machine/topology/stack.hpp"

namespace tessera::machine {
namespace {

// One class of links a dimension.
class StackTopology final : public Topology {
 public:
  StackTopology(Stack stack, std::vector<LinkClass> classes) : stack_(std::move(stack)) {
    classes_ = std::move(classes);
    const auto dimensions = static_cast<std::uint32_t>(stack_.dimensions().size());
    for (std::uint32_t d = 0; d < dimensions; ++d) {
      dimension_of_port_.insert(dimension_of_port_.end(), stack_.ports(d), d);
    }
  }

  std::uint32_t nodes() const override { return stack_.nodes(); }
  unsigned ports(EntityId node) const override {
    const StackPlace place = stack_.place(node);
    return place.is_npu ? stack_.npu_ports() : stack_.size(place.dimension);
  }
  Link link(EntityId node, unsigned port) const override;
  Position position(EntityId node) const override;
  std::string node_name(EntityId node) const override;
  bool computes(EntityId node) const override { return node.value() < stack_.npus(); }
  std::optional<std::uint32_t> first_tiles() const override { return stack_.npus(); }
  EntityId nearest_tile(EntityId node) const override {
    const StackPlace place = stack_.place(node);
    return place.is_npu ? node : EntityId(stack_.member(place, 0));
  }
  SimTime smallest_latency() const override;
  std::uint64_t links() const override;
  const Stack* stack() const override { return &stack_; }
  std::string default_routing() const override { return "stack"; }
  std::size_t resident_bytes() const override {
    return Topology::resident_bytes() - sizeof(Topology) + sizeof(*this) +
           dimension_of_port_.capacity() * sizeof(std::uint32_t) +
           stack_.dimensions().size() * 32;  // its small vectors
  }

 private:
  std::string coordinates(std::uint32_t npu) const;

  Stack stack_;
  std::vector<std::uint32_t> dimension_of_port_;  // of an NPU
};

Link StackTopology::link(EntityId node, unsigned port) const {
  const StackPlace place = stack_.place(node);
  if (!place.is_npu) {
    return {EntityId(stack_.member(place, port)), static_cast<std::uint16_t>(place.dimension)};
  }
  const std::uint32_t dimension = dimension_of_port_[port];
  const auto link_class = static_cast<std::uint16_t>(dimension);
  const std::uint32_t size = stack_.size(dimension);
  const std::uint32_t here = stack_.coordinate(place.index, dimension);
  const std::uint32_t number = port - stack_.first_port(dimension);
  switch (stack_.dimensions()[dimension].block) {
    case Block::ring: {
      const std::uint32_t there = number == 0 ? (here + 1) % size : (here + size - 1) % size;
      return {EntityId(stack_.moved(place.index, dimension, there)), link_class};
    }
    case Block::fully_connected:
      return {EntityId(stack_.moved(place.index, dimension, (here + 1 + number) % size)),
              link_class};
    default:
      return {stack_.switch_of(place.index, dimension), link_class};
  }
}

SimTime StackTopology::smallest_latency() const {
  std::vector<bool> used;
  for (const StackDimension& dimension : stack_.dimensions()) {
    used.push_back(dimension.size > 1);
  }
  return smallest_latency_of(used);
}

std::uint64_t StackTopology::links() const {
  const std::uint64_t npus = stack_.npus();
  std::uint64_t back = 0;  // of switches, one to each member
  for (const StackDimension& dimension : stack_.dimensions()) {
    back += dimension.block == Block::switched && dimension.size > 1 ? npus : 0;
  }
  return npus * stack_.npu_ports() + back;
}

// Even dimensions go to the right, odd ones down; switches stand below and to the right of all.
Position StackTopology::position(EntityId node) const {
  const auto dimensions = static_cast<std::uint32_t>(stack_.dimensions().size());
  const auto place_of = [&](std::uint32_t npu) {
    Position at;
    double across = 1;
    double down = 1;
    for (std::uint32_t d = 0; d < dimensions; ++d) {
      double& side = d % 2 == 0 ? across : down;
      (d % 2 == 0 ? at.x : at.y) += side * stack_.coordinate(npu, d);
      side *= stack_.size(d);
    }
    return at;
  };
  const StackPlace place = stack_.place(node);
  if (place.is_npu) {
    return place_of(place.index);
  }
  Position at = place_of(stack_.member(place, 0));
  const Position last = place_of(stack_.member(place, stack_.size(place.dimension) - 1));
  const double aside = 0.4 * (place.dimension + 1.0) / dimensions;
  at.x = (at.x + last.x) / 2 + (place.dimension % 2 == 0 ? 0 : aside);
  at.y = (at.y + last.y) / 2 + (place.dimension % 2 == 0 ? aside : 0);
  return at;
}

std::string StackTopology::coordinates(std::uint32_t npu) const {
  std::vector<std::string> words;
  for (std::uint32_t d = 0; d < stack_.dimensions().size(); ++d) {
    words.push_back(std::to_string(stack_.coordinate(npu, d)));
  }
  return "(" + join(words, ",") + ")";
}

std::string StackTopology::node_name(EntityId node) const {
  const StackPlace place = stack_.place(node);
  return place.is_npu ? "NPU " + coordinates(place.index)
                      : "switch of dimension " + std::to_string(place.dimension) + " at " +
                            coordinates(stack_.member(place, 0));
}

const config::OtherKey shape_key{"shape", "text", "none",
                                 "dimensions from the innermost, e.g. Ring(4)_FC(8)_Switch(4)"};
const config::OtherKey stack_dimensions_key{
    "dimensions", "list", "", "a list of dimensions from the innermost, each with the keys below"};
const config::NameKey dimension_block_key{
    "dimensions[].block",
    [] {
      return std::vector<std::string>{"ring", "fully-connected", "switch"};
    },
    "", "without shape: ring, fully-connected or switch"};
const auto dimension_size_key = count_key(
    "dimensions[].size", "without shape: number of NPUs that differ only in this dimension");

// One entry of `dimensions`, which has its block in it or takes that of `shape`.
struct Entry {
  std::optional<StackDimension> dimension;
  LinkClass links;
};

Entry read_entry(config::Section& section, const std::optional<StackDimension>& given,
                 std::size_t number) {
  Entry entry;
  entry.dimension = given;
  if (!given) {
    const std::string name = dimension_block_key.read(section);
    const std::uint32_t size = dimension_size_key.read(section);
    if (!name.empty() && size > 0) {
      const Block block = name == "ring"     ? Block::ring
                          : name == "switch" ? Block::switched
                                             : Block::fully_connected;
      entry.dimension = StackDimension{block, size};
    }
  }
  entry.links = read_link_class(section, "dimension " + std::to_string(number));
  return entry;
}

bool fits(config::Section& section, const std::vector<StackDimension>& dimensions) {
  std::uint64_t npus = 1;
  for (const StackDimension& dimension : dimensions) {
    npus *= dimension.size;  // each below 2^28, and checked before the next
    if (npus >= node_limit) {
      section.error("", to_string(dimensions) + " has too many NPUs; there must be fewer than " +
                            std::to_string(node_limit));
      return false;
    }
  }
  std::uint64_t nodes = npus;
  std::uint64_t links = 0;
  for (const StackDimension& dimension : dimensions) {
    const bool switched = dimension.block == Block::switched && dimension.size > 1;
    nodes += switched ? npus / dimension.size : 0;
    links += dimension.block == Block::fully_connected ? dimension.size - 1 : 0;
  }
  if (nodes >= node_limit || links * npus >= std::uint64_t{node_limit} * 16) {
    section.error("", to_string(dimensions) + " has too many switches or links");
    return false;
  }
  return true;
}

std::unique_ptr<Topology> make_stack(config::Section& section) {
  std::vector<StackDimension> shape;
  bool good = true;
  if (section.has(shape_key.key())) {
    const auto text = section.get<std::string>(shape_key.key());
    std::string problem;
    auto parsed = parse_stack(text, problem);
    if (!parsed) {
      section.error(shape_key.key(), problem);
      for (config::Section& entry : section.sections(stack_dimensions_key.key())) {
        for (const std::string& key : entry.keys()) {
          entry.raw(key);
        }
      }
      return nullptr;
    }
    shape = *std::move(parsed);
  }
  std::vector<config::Section> entries = section.sections(stack_dimensions_key.key());
  if (entries.empty() || (!shape.empty() && entries.size() != shape.size())) {
    section.error(stack_dimensions_key.key(),
                  shape.empty() ? "must list at least one dimension"
                                : "has " + std::to_string(entries.size()) + " entries, but " +
                                      to_string(shape) + " has " + std::to_string(shape.size()) +
                                      " dimensions");
    good = false;
  }
  std::vector<StackDimension> dimensions;
  std::vector<LinkClass> classes;
  for (std::size_t number = 0; number < entries.size(); ++number) {
    const auto given = number < shape.size() ? std::optional(shape[number]) : std::nullopt;
    Entry entry = read_entry(entries[number], given, number);
    good = good && entry.dimension && was_read(entry.links);
    if (good) {
      dimensions.push_back(*entry.dimension);
      classes.push_back(std::move(entry.links));
    }
  }
  if (!good || !fits(section, dimensions)) {
    return nullptr;
  }
  return std::make_unique<StackTopology>(Stack(std::move(dimensions)), std::move(classes));
}

std::vector<ParameterInfo> stack_parameters() {
  return with_links({shape_key, stack_dimensions_key, config::where_used(dimension_block_key),
                     config::where_used(dimension_size_key)},
                    std::array{"dimensions[]."});
}

const Registration stack_registration(
    topologies(),
    {"stack", "dimensions of rings, full meshes and switches, in ASTRA-sim's notation",
     stack_parameters()},
    make_stack);

const Registration stack_routing(
    routings(), {"stack", "dimension by dimension; stacks", {}},
    RoutingKind{.make =
                    [](const Topology& topology) {
                      return make_routing_by(StackRouting(*topology.stack()));
                    },
                .fits = [](const Topology& topology) { return topology.stack() != nullptr; },
                .needs = "a stack"});

}  // namespace
}  // namespace tessera::machine
