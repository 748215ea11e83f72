// The `collective` workload: nothing but collectives, to measure a network.
#include <algorithm>
#include <utility>

#include "tessera/core/error.hpp"
#include "tessera/workload/graph_workload.hpp"

namespace tessera::workload {
namespace {

class CollectiveSource final : public GraphSource {
 public:
  CollectiveSource(GraphNode node, std::uint32_t npus, std::uint64_t repeat)
      : node_(std::move(node)), npus_(npus), repeat_(repeat) {}

  std::uint32_t npus() const override { return npus_; }
  std::string name_of(std::uint32_t npu) const override {
    return "collectives of NPU " + std::to_string(npu);
  }
  const GraphGroups& groups() const override { return groups_; }

  std::vector<GraphNode> read(std::uint32_t /*npu*/, GraphPosition& position,
                              std::size_t most) const override {
    std::vector<GraphNode> nodes;
    for (; nodes.size() < most && position.nodes < repeat_; ++position.nodes) {
      GraphNode& node = nodes.emplace_back(node_);
      node.id = position.nodes;
      if (node.id > 0) {
        node.data_dependencies.push_back(node.id - 1);
      }
    }
    return nodes;
  }

 private:
  GraphNode node_;
  std::uint32_t npus_;
  std::uint64_t repeat_;
  GraphGroups groups_;
};

std::unique_ptr<GraphSource> make(config::Section& section, const GraphRequest& request) {
  const std::vector<std::string> names = graph_collective_names();
  const std::string name = section.get_name("collective", names);
  GraphNode node;
  node.name = name;
  node.action = GraphAction::collective;
  node.bytes = section.get<Bytes>("size");
  const auto repeat =
      section.get_or<std::int64_t>("repeat", 1, config::between<std::int64_t>(1, 1'000'000'000));
  const auto root = section.get_or<std::int64_t>(
      "root", 0, config::between<std::int64_t>(0, std::int64_t{request.npus} - 1));
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    return nullptr;
  }
  node.collective = static_cast<GraphCollective>(found - names.begin());
  node.root = static_cast<std::uint32_t>(root);
  return std::make_unique<CollectiveSource>(std::move(node), request.npus,
                                            static_cast<std::uint64_t>(repeat));
}

const Registration registration(
    graph_workloads(),
    {"collective",
     "one collective of all NPUs",
     {{"collective", "", "",
       "all-reduce, reduce, all-gather, gather, scatter, broadcast, "
       "all-to-all, reduce-scatter, reduce-scatter-block or barrier"},
      {"size", "B", "", "vector of a member; of all-gather, gather and scatter its part"},
      {"repeat", "", "1", "one after the other"},
      {"root", "", "0", "number of the NPU; of collectives that have one"}}},
    make);

}  // namespace
}  // namespace tessera::workload
