// Where messages of synthetic traffic go.
#include <set>
#include <utility>

#include "tessera/config/key.hpp"
#include "tessera/network/traffic/traffic.hpp"

namespace tessera::network {
namespace {

using Section = config::Section;

class Uniform final : public TrafficPattern {
 public:
  explicit Uniform(std::uint32_t nodes) : nodes_(nodes) {}
  std::uint32_t target(std::uint32_t, RandomStream& random) const override {
    return static_cast<std::uint32_t>(random.next_below(nodes_));
  }

 private:
  std::uint32_t nodes_;
};

class BitComplement final : public TrafficPattern {
 public:
  explicit BitComplement(std::uint32_t nodes) : nodes_(nodes) {}
  std::uint32_t target(std::uint32_t source, RandomStream&) const override {
    return nodes_ - 1 - source;
  }
  bool is_fixed() const override { return true; }

 private:
  std::uint32_t nodes_;
};

class Transpose final : public TrafficPattern {
 public:
  explicit Transpose(std::uint32_t side) : side_(side) {}
  std::uint32_t target(std::uint32_t source, RandomStream&) const override {
    return source % side_ * side_ + source / side_;
  }
  bool is_fixed() const override { return true; }

 private:
  std::uint32_t side_;
};

// So many rows and columns further, round the rim.
class Shift final : public TrafficPattern {
 public:
  Shift(const TrafficNodes& nodes, std::uint32_t rows, std::uint32_t columns)
      : nodes_(nodes), rows_(rows), columns_(columns) {}
  std::uint32_t target(std::uint32_t source, RandomStream&) const override {
    const std::uint32_t row = (source / nodes_.columns + rows_) % nodes_.rows;
    const std::uint32_t column = (source % nodes_.columns + columns_) % nodes_.columns;
    return row * nodes_.columns + column;
  }
  bool is_fixed() const override { return true; }

 private:
  TrafficNodes nodes_;
  std::uint32_t rows_;
  std::uint32_t columns_;
};

class Hotspot final : public TrafficPattern {
 public:
  Hotspot(std::uint32_t nodes, std::vector<std::int64_t> spots, double share)
      : others_(nodes), spots_(std::move(spots)), share_(share) {}
  std::uint32_t target(std::uint32_t source, RandomStream& random) const override {
    if (random.next_uniform() < share_) {
      return static_cast<std::uint32_t>(spots_[random.next_below(spots_.size())]);
    }
    return others_.target(source, random);
  }

 private:
  Uniform others_;
  std::vector<std::int64_t> spots_;
  double share_;
};

bool is_grid(Section& section, const TrafficNodes& nodes) {
  if (nodes.rows == 0) {
    section.error("pattern", "this pattern is for meshes and tori");
  }
  return nodes.rows > 0;
}

std::unique_ptr<TrafficPattern> make_transpose(Section& section, const TrafficNodes& nodes) {
  if (!is_grid(section, nodes)) {
    return nullptr;
  }
  if (nodes.rows != nodes.columns) {
    section.error("pattern", "'transpose' is for machines with as many rows as columns");
    return nullptr;
  }
  return std::make_unique<Transpose>(nodes.columns);
}

const config::ListKey<std::int64_t> spots_key{"spots", {0}, "nodes to which this share is sent"};
const config::Key<double> share_key{"share", 0.1, "share of the messages",
                                    config::between(0.0, 1.0)};

std::unique_ptr<TrafficPattern> make_hotspot(Section& section, const TrafficNodes& nodes) {
  std::vector<std::int64_t> spots = spots_key.read(section);
  const double share = share_key.read(section);
  if (spots.empty()) {
    section.error("spots", "no node");
    return nullptr;
  }
  std::set<std::int64_t> listed;
  for (const std::int64_t spot : spots) {
    if (spot < 0 || spot >= nodes.nodes) {
      section.error("spots", "there are nodes 0 to " + std::to_string(nodes.nodes - 1));
      return nullptr;
    }
    if (!listed.insert(spot).second) {
      section.error("spots", "node " + std::to_string(spot) + " is listed twice");
      return nullptr;
    }
  }
  return std::make_unique<Hotspot>(nodes.nodes, std::move(spots), share);
}

std::uint32_t half_way(std::uint32_t size) {
  return (size + 1) / 2 - 1;
}

const Registration uniform(
    traffic_patterns(),
    {"uniform", "to every node with equal probability, including the sender", {}},
    [](Section&, const TrafficNodes& nodes) { return std::make_unique<Uniform>(nodes.nodes); });
const Registration bit_complement(traffic_patterns(),
                                  {"bit-complement", "node i to node n - 1 - i", {}},
                                  [](Section&, const TrafficNodes& nodes) {
                                    return std::make_unique<BitComplement>(nodes.nodes);
                                  });
const Registration transpose(traffic_patterns(),
                             {"transpose", "(row, column) to (column, row); square grids", {}},
                             make_transpose);
const Registration tornado(
    traffic_patterns(),
    {"tornado", "ceil(k / 2) - 1 positions further in each dimension; grids", {}},
    [](Section& section, const TrafficNodes& nodes) -> std::unique_ptr<TrafficPattern> {
      return is_grid(section, nodes)
                 ? std::make_unique<Shift>(nodes, half_way(nodes.rows), half_way(nodes.columns))
                 : nullptr;
    });
const Registration neighbour(
    traffic_patterns(),
    {"neighbour", "one position further in each dimension, with wrap-around; grids", {}},
    [](Section& section, const TrafficNodes& nodes) -> std::unique_ptr<TrafficPattern> {
      return is_grid(section, nodes) ? std::make_unique<Shift>(nodes, 1, 1) : nullptr;
    });
const Registration hotspot(traffic_patterns(),
                           {"hotspot",
                            "a share of the messages to a few nodes, the rest uniform",
                            {spots_key, share_key}},
                           make_hotspot);

}  // namespace

Registry<PatternMaker>& traffic_patterns() {
  static Registry<PatternMaker> registry("pattern");
  return registry;
}

}  // namespace tessera::network
