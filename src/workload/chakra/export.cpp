// All graphs of a machine as execution traces.
#include <fstream>

#include "tessera/core/error.hpp"
#include "tessera/workload/chakra/chakra.hpp"

namespace tessera::workload {
namespace {

constexpr std::size_t nodes_a_read = 4'096;

std::string quoted(const std::string& name) {
  std::string text = "\"";
  for (const char letter : name) {
    if (letter == '"' || letter == '\\') {
      text += '\\';
    }
    text += letter;
  }
  return text + '"';
}

std::string json_of(const GraphGroups& groups) {
  std::string text = "{";
  for (const auto& [name, members] : groups) {
    text += text.size() > 1 ? ",\n " : "";
    text += quoted(name) + ": [";
    for (std::size_t i = 0; i < members.size(); ++i) {
      text += (i > 0 ? ", " : "") + std::to_string(members[i]);
    }
    text += "]";
  }
  return text + "}\n";
}

}  // namespace

void write_chakra(const GraphSource& source, const std::string& prefix) {
  for (std::uint32_t npu = 0; npu < source.npus(); ++npu) {
    ChakraWriter writer(chakra_path(prefix, npu));
    GraphPosition position;
    for (std::vector<GraphNode> nodes = source.read(npu, position, nodes_a_read); !nodes.empty();
         nodes = source.read(npu, position, nodes_a_read)) {
      for (const GraphNode& node : nodes) {
        writer.write(node);
      }
    }
    writer.close();
  }
  if (!source.groups().empty()) {
    const std::string path = prefix + ".json";
    std::ofstream file(path, std::ios::trunc);
    file << json_of(source.groups());
    file.close();
    if (!file) {
      throw IoError(path + ": error: cannot be written");
    }
  }
}

}  // namespace tessera::workload
