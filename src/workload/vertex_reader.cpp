// The `graph` workload, as YAML.
#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "tessera/workload/graph_workload.hpp"
#include "vertex_graph.hpp"
#include "vertex_tensors.hpp"

namespace tessera::workload {
namespace {

using config::Section;
using config::Value;

std::optional<std::uint32_t> read_number(std::string_view text) {
  std::uint32_t number = 0;
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && at == text.data() + text.size() ? std::optional(number)
                                                                 : std::nullopt;
}

// "7", or "0-15" with both ends.
std::optional<std::pair<std::uint32_t, std::uint32_t>> read_range(std::string_view text) {
  const std::size_t dash = text.find('-');
  const auto first = read_number(text.substr(0, dash));
  const auto last = dash == text.npos ? first : read_number(text.substr(dash + 1));
  return first && last && *first <= *last ? std::optional(std::pair(*first, *last)) : std::nullopt;
}

}  // namespace

void read_places(Section& section, const char* key, std::uint32_t npus, bool& everywhere,
                 std::vector<std::uint32_t>& places) {
  const Value value = section.raw(key);
  const std::string known = "must be all, or numbers of NPUs below " + std::to_string(npus) +
                            ", as 3, 0-7, or a list of these";
  if (value.kind == Value::Kind::null ||
      (value.kind == Value::Kind::scalar && value.text == "all")) {
    everywhere = true;
    return;
  }
  const bool is_list = value.kind == Value::Kind::sequence;
  const std::vector<Value> items = is_list ? value.items : std::vector{value};
  for (const Value& item : items) {
    const auto range = item.kind == Value::Kind::scalar ? read_range(item.text) : std::nullopt;
    if (!range || range->second >= npus) {
      section.error(key, item, known);
      return;
    }
    for (std::uint32_t npu = range->first; npu <= range->second; ++npu) {
      places.push_back(npu);
    }
  }
  std::sort(places.begin(), places.end());
  if (places.empty() || std::adjacent_find(places.begin(), places.end()) != places.end()) {
    section.error(key, value, places.empty() ? known : "names an NPU twice");
  }
}

namespace {

void read_collective(Section& section, std::uint32_t npus, Vertex& vertex) {
  vertex.kind = Vertex::Kind::collective;
  const std::vector<std::string> names = graph_collective_names();
  const std::string name = section.get_name("collective", names);
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) {
    vertex.collective = static_cast<GraphCollective>(found - names.begin());
  }
  vertex.bytes = section.get<Bytes>("bytes");
  read_places(section, "at", npus, vertex.everywhere, vertex.places);
  const auto members = static_cast<std::int64_t>(vertex.everywhere ? npus : vertex.places.size());
  vertex.root = static_cast<std::uint32_t>(section.get_or<std::int64_t>(
      "root", 0, config::between<std::int64_t>(0, std::max<std::int64_t>(0, members - 1))));
  const std::string gather = section.get_name("gather", {"sent", "read", "free"}, "sent");
  vertex.gather = gather == "read"   ? Vertex::Gather::read
                  : gather == "free" ? Vertex::Gather::free
                                     : Vertex::Gather::sent;
  if (vertex.gather != Vertex::Gather::sent && vertex.collective != GraphCollective::all_reduce) {
    section.error("gather", "of an all-reduce only");
  }
}

void read_message(Section& section, std::uint32_t npus, Vertex& vertex) {
  vertex.kind = Vertex::Kind::message;
  const auto place = [&](const char* key) {
    return static_cast<std::uint32_t>(
        section.get<std::int64_t>(key, config::between<std::int64_t>(0, std::int64_t{npus} - 1)));
  };
  vertex.places = {place("from"), place("to")};
  vertex.bytes = section.get<Bytes>("bytes");
  if (npus > 1 && vertex.places[0] == vertex.places[1]) {
    section.error("to", "a message to where it comes from");
  }
}

void read_compute(Section& section, std::uint32_t npus, VertexTensors& tensors, Vertex& vertex) {
  vertex.flops = section.get_or<Flops>("flops", Flops());
  vertex.bytes = section.get_or<Bytes>("bytes", Bytes());
  Bytes remote = section.get_or<Bytes>("remote", Bytes());
  if (remote > vertex.bytes) {
    section.error("remote", "is more than bytes, " + to_string(vertex.bytes));
    remote = Bytes();
  }
  Bytes written = section.get_or<Bytes>("remote_written", Bytes());
  if (written > remote) {
    section.error("remote_written", "is more than remote, " + to_string(remote));
    written = Bytes();
  }
  vertex.remote = {remote - written, written};
  read_places(section, "at", npus, vertex.everywhere, vertex.places);
  tensors.read_uses(section, vertex);
}

std::unique_ptr<GraphSource> make(Section& section, const GraphRequest& request) {
  const bool coherent = section.get_name("access", {"move", "coherent"}, "move") == "coherent";
  const auto iterations = section.get_or<std::int64_t>(
      "iterations", 1, config::between<std::int64_t>(1, 1'000'000'000));
  VertexTensors tensors(section, request);
  VertexGraph graph;
  std::map<std::string, std::uint32_t> numbers;
  bool good = true;
  std::vector<Section> sections = section.sections("vertices");
  if (sections.empty()) {
    section.error("vertices", "there is none");
    section.raw("edges");  // known, though of no use then
    return nullptr;
  }
  for (Section& one : sections) {
    Vertex vertex;
    vertex.name = one.get<std::string>("name");
    vertex.starts = one.get_or<bool>("start", false);
    vertex.coherent = coherent;
    if (one.has("collective")) {
      read_collective(one, request.npus, vertex);
    } else if (one.has("from") || one.has("to")) {
      read_message(one, request.npus, vertex);
    } else {
      read_compute(one, request.npus, tensors, vertex);
    }
    good = good && (vertex.everywhere || !vertex.places.empty());
    const auto number = static_cast<std::uint32_t>(graph.vertices.size());
    if (!numbers.emplace(vertex.name, number).second) {
      one.error("name", "vertex '" + vertex.name + "' is there twice");
      good = false;
    }
    graph.vertices.push_back(std::move(vertex));
  }
  for (Section& one : section.sections("edges")) {
    const auto vertex = [&](const char* key) {
      const auto name = one.get<std::string>(key);
      const auto found = numbers.find(name);
      if (found == numbers.end()) {
        one.error(key, "there is no vertex '" + name + "'");
        good = false;
        return std::uint32_t{0};
      }
      return found->second;
    };
    VertexEdge edge;
    edge.from = vertex("from");
    edge.to = vertex("to");
    edge.at_first = one.get_or<bool>("first", true);
    graph.edges.push_back(edge);
  }
  if (!good) {
    return nullptr;
  }
  std::uint32_t culprit = 0;
  if (const std::string problem = put_in_order(graph, request.npus, culprit); !problem.empty()) {
    if (culprit < sections.size()) {
      sections[culprit].error("", problem);
    } else {
      section.error("edges", problem);
    }
    return nullptr;
  }
  std::optional<TensorPlacement> placement = tensors.place();
  if (placement) {
    note_remote(*placement, graph);
  }
  return make_vertex_source(std::move(graph), request.npus, static_cast<std::uint32_t>(iterations),
                            std::move(placement));
}

const Registration registration(
    graph_workloads(),
    {"graph",
     "vertices that compute and communicate, in cycles (HCSim)",
     {{"access", "", "move",
       "to remote bytes: move (read before computing, written behind), coherent (while computing)"},
      {"iterations", "", "1", "how often each vertex runs"},
      {"tensors", "", "none", "list of {name, bytes, at, priority}, for vertices to use"},
      {"local_capacity", "B", "unlimited",
       "for tensors, of NPUs' own memory where the machine does not say it"},
      {"vertices", "", "",
       "list of {name, start, at} with {flops, bytes, remote, remote_written, uses}, {collective, "
       "bytes, root, gather} or {from, to, bytes}"},
      {"edges", "", "none", "list of {from, to, first}"},
      {"samples", "", "1", "of an iteration, which throughput counts"}}},
    make);

}  // namespace
}  // namespace tessera::workload
