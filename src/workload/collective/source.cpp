// The `collective` workload: nothing but collectives, to measure a network.
#include <utility>

#include "tessera/config/conditional_key.hpp"
#include "tessera/config/key.hpp"
#include "tessera/workload/graph_workload.hpp"
#include "unused_collective_keys.hpp"

namespace tessera::workload {
namespace {

class CollectiveSource final : public GraphSource {
 public:
  // `parts`: [npus][npus] of an all-to-all with a size for each pair, or empty.
  CollectiveSource(GraphNode node, std::vector<std::vector<Bytes>> parts, std::uint32_t npus,
                   std::uint64_t repeat)
      : node_(std::move(node)), parts_(std::move(parts)), npus_(npus), repeat_(repeat) {}

  std::uint32_t npus() const override { return npus_; }
  std::string name_of(std::uint32_t npu) const override {
    return "collectives of NPU " + std::to_string(npu);
  }
  const GraphGroups& groups() const override { return groups_; }
  // All NPUs do the same, which has been checked as it was read.
  std::optional<GraphSurvey> known() const override {
    GraphSurvey survey;
    survey.nodes = npus_ * repeat_;
    GraphNode node = node_;
    node.parts = parts_.empty() ? std::vector<Bytes>() : parts_.front();
    survey.add_collective(node, survey.nodes);
    survey.reach = 1;
    survey.at_work.assign(npus_, true);
    survey.names.insert(node_.name);
    return survey;
  }

  std::vector<GraphNode> read(std::uint32_t npu, GraphPosition& position,
                              std::size_t most) const override {
    std::vector<GraphNode> nodes;
    for (; nodes.size() < most && position.nodes < repeat_; ++position.nodes) {
      GraphNode& node = nodes.emplace_back(node_);
      node.id = position.nodes;
      if (!parts_.empty()) {
        node.parts = parts_[npu];
      }
      if (node.id > 0) {
        node.data_dependencies.push_back(node.id - 1);
      }
    }
    return nodes;
  }

 private:
  GraphNode node_;
  std::vector<std::vector<Bytes>> parts_;
  std::uint32_t npus_;
  std::uint64_t repeat_;
  GraphGroups groups_;
};

const config::NameKey collective{"collective", collective::kind_names, "",
                                 "all-reduce, reduce, all-gather, gather, scatter, broadcast, "
                                 "all-to-all, reduce-scatter, reduce-scatter-block or barrier"};
const config::RequiredKey<Bytes> size_key{
    "size",
    "vector of a member; for all-gather, gather and scatter "
    "the part of a member; not used by a barrier",
    config::between(Bytes(0), Bytes(std::uint64_t{1} << 50U))};
const config::OtherKey sizes_key =
    config::counted_in("B", config::OtherKey("sizes", "list of lists of size", "none",
                                             "for all-to-all, instead of size: for each NPU, a "
                                             "list of the sizes that it sends to each NPU"));
const config::Key<std::uint64_t> repeat_key{
    "repeat", 1, "number of times that the collective runs, one after the other",
    config::between<std::uint64_t>(1, 1'000'000'000)};

config::Key<std::int64_t> root_key(const config::Range<std::int64_t>& npus) {
  return {"root", 0, "number of the root NPU, for collectives that have one", npus};
}

// A row an NPU, a size for each NPU it sends to.
std::vector<std::vector<Bytes>> read_parts(config::Section& section, std::uint32_t npus) {
  const config::Value table = section.raw("sizes");
  std::vector<std::vector<Bytes>> parts;
  const std::string shape = "must be " + std::to_string(npus) + " lists of " +
                            std::to_string(npus) + " sizes, from each NPU to each";
  if (table.kind != config::Value::Kind::sequence || table.items.size() != npus) {
    section.error("sizes", table, shape);
    return parts;
  }
  for (const config::Value& row : table.items) {
    if (row.kind != config::Value::Kind::sequence || row.items.size() != npus) {
      section.error("sizes", row, shape);
      return {};
    }
    std::vector<Bytes>& own = parts.emplace_back();
    for (const config::Value& cell : row.items) {
      std::string problem;
      const auto size = config::parse_as<Bytes>(cell.text, problem);
      if (cell.kind != config::Value::Kind::scalar || !size) {
        section.error("sizes", cell, problem.empty() ? shape : problem);
        return {};
      }
      own.push_back(*size);
    }
  }
  return parts;
}

std::unique_ptr<GraphSource> make_collective(config::Section& section,
                                             const GraphRequest& request) {
  const std::string name = collective.read(section);
  GraphNode node;
  node.name = name;
  node.action = GraphAction::collective;
  std::vector<std::vector<Bytes>> parts;
  if (section.has("sizes")) {
    parts = read_parts(section, request.npus);
    if (name != "all-to-all") {
      section.error("sizes", "are for all-to-all");
    }
  } else if (name != "barrier" || section.has(size_key.key())) {
    node.bytes = size_key.read(section);
  }
  const std::uint64_t repeat = repeat_key.read(section);
  const std::int64_t root =
      root_key(config::between<std::int64_t>(0, std::int64_t{request.npus} - 1)).read(section);
  const std::optional<collective::Kind> kind = collective::kind_named(name);
  if (!kind) {
    return nullptr;
  }
  note_unused_root(section, *kind, root);
  note_unused_size(section, size_key.key(), *kind);
  node.collective = *kind;
  node.root = static_cast<std::uint32_t>(root);
  return std::make_unique<CollectiveSource>(std::move(node), std::move(parts), request.npus,
                                            repeat);
}

const Registration collective_registration(
    graph_workloads(),
    {"collective",
     "one collective of all NPUs",
     {collective, config::where_used(size_key), sizes_key, repeat_key,
      root_key(config::at_least<std::int64_t>(0)), samples_of_graphs()}},
    make_collective);

}  // namespace
}  // namespace tessera::workload
