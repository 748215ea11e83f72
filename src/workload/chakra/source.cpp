// Traces of all NPUs: one file each, opened for the time of a read only.
#include <filesystem>
#include <utility>

#include "tessera/config/key.hpp"
#include "tessera/core/error.hpp"
#include "tessera/workload/chakra/chakra.hpp"
#include "tessera/workload/graph_workload.hpp"

namespace tessera::workload {
namespace {

class ChakraSource final : public GraphSource {
 public:
  ChakraSource(std::string prefix, std::uint32_t npus, GraphGroups groups)
      : prefix_(std::move(prefix)), npus_(npus), groups_(std::move(groups)) {}

  std::uint32_t npus() const override { return npus_; }
  std::string name_of(std::uint32_t npu) const override { return chakra_path(prefix_, npu); }
  const GraphGroups& groups() const override { return groups_; }

  std::vector<GraphNode> read(std::uint32_t npu, GraphPosition& position,
                              std::size_t most) const override {
    ChakraFile file(name_of(npu), position);
    std::vector<GraphNode> nodes;
    GraphNode node;
    while (nodes.size() < most && file.next(node)) {
      nodes.push_back(std::move(node));
    }
    position = file.position();
    return nodes;
  }

 private:
  std::string prefix_;
  std::uint32_t npus_;
  GraphGroups groups_;
};

std::uint32_t count_files(const std::string& prefix) {
  std::uint32_t count = 0;
  while (std::filesystem::exists(chakra_path(prefix, count))) {
    ++count;
  }
  return count;
}

const config::OtherKey traces{"traces", "file", "", "trace files PREFIX.<npu>.et"};
const config::OtherKey groups_key{"groups", "file", "those in the traces",
                                  "JSON file of communicators"};

std::unique_ptr<GraphSource> make_chakra(config::Section& section, const GraphRequest& request) {
  const std::string prefix = section.get_file(traces.key());
  const auto groups_file = section.get_optional_file(groups_key.key());
  if (prefix.empty()) {
    return nullptr;
  }
  const std::uint32_t files = count_files(prefix);
  if (files == 0) {
    section.error("traces", "there is no " + chakra_path(prefix, 0));
    return nullptr;
  }
  if (files != request.npus) {
    section.error("traces", "there are traces of " + std::to_string(files) + " NPUs (" +
                                chakra_path(prefix, 0) + " …), but the machine has " +
                                std::to_string(request.npus));
    return nullptr;
  }
  GraphGroups groups;
  if (groups_file) {
    groups = read_groups(*groups_file, request.load);
  }
  // Communicators may also stand in the traces; every NPU names those that it is in.
  for (std::uint32_t npu = 0; npu < files; ++npu) {
    ChakraFile file(chakra_path(prefix, npu));
    GraphNode node;
    while (file.next(node)) {
    }
    for (const auto& [name, members] : file.groups()) {
      const auto [entry, is_new] = groups.try_emplace(name, members);
      if (!is_new && entry->second != members) {
        throw ConfigError(chakra_path(prefix, npu) + ": communicator " + name +
                          " has other members than elsewhere");
      }
    }
  }
  return std::make_unique<ChakraSource>(prefix, files, std::move(groups));
}

const Registration chakra_registration(graph_workloads(),
                                       {"chakra",
                                        "Chakra execution traces, one per NPU",
                                        {traces, groups_key, samples_of_graphs()}},
                                       make_chakra);

}  // namespace
}  // namespace tessera::workload
