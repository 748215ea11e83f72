// The `graph` workload, as YAML.
#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "tessera/config/conditional_key.hpp"
#include "tessera/config/key.hpp"
#include "tessera/config/without_effect.hpp"
#include "tessera/workload/graph_workload.hpp"
#include "unused_collective_keys.hpp"
#include "vertices/graph.hpp"
#include "vertices/tensors.hpp"

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
  const auto last = dash == std::string_view::npos ? first : read_number(text.substr(dash + 1));
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

using config::Key;
using config::OtherKey;
using config::RequiredKey;
using Number = config::Range<std::int64_t>;

constexpr Number any_number{0, {}};

const OtherKey places_key{"vertices[].at", "NPUs", "all",
                          "NPUs: all, a number, a range such as 0-7, or a list of these"};
const config::NameKey kind_of_vertex{
    "vertices[].collective", collective::kind_names, "",
    "makes the vertex a collective among `at` instead of a compute vertex"};
const RequiredKey<Bytes> sent_bytes{
    "vertices[].bytes", "size of a collective, as `size` of kind collective, or of a message"};
const config::ChoiceKey<Vertex::Gather> gather{
    "vertices[].gather",
    {{"sent", Vertex::Gather::sent},
     {"read", Vertex::Gather::read},
     {"free", Vertex::Gather::free}},
    Vertex{}.gather,
    "for an all-reduce: sent (members receive the sum), read (members read each part where it was "
    "summed) or free (these reads are not counted)"};

Key<std::int64_t> root_of_vertex(const Number& members) {
  return {"vertices[].root", 0, "root, for collectives that have one: its position in `at`",
          members};
}

void read_collective(Section& section, std::uint32_t npus, Vertex& vertex) {
  vertex.kind = Vertex::Kind::collective;
  vertex.collective =
      collective::kind_named(kind_of_vertex.read(section)).value_or(vertex.collective);
  if (vertex.collective != collective::Kind::barrier || section.has("bytes")) {
    vertex.bytes = sent_bytes.read(section);
    note_unused_size(section, "bytes", vertex.collective);
  }
  read_places(section, "at", npus, vertex.everywhere, vertex.places);
  const auto members = static_cast<std::int64_t>(vertex.everywhere ? npus : vertex.places.size());
  const std::int64_t root =
      root_of_vertex({0, std::max<std::int64_t>(0, members - 1)}).read(section);
  note_unused_root(section, vertex.collective, root);
  vertex.root = static_cast<std::uint32_t>(root);
  vertex.gather = gather.read(section);
  if (vertex.gather != Vertex::Gather::sent && vertex.collective != collective::Kind::all_reduce) {
    section.error("gather", "of an all-reduce only");
  }
}

RequiredKey<std::int64_t> from_key(const Number& npus) {
  return {"vertices[].from",
          "makes the vertex a message instead of a compute vertex: NPU that sends it", npus};
}

RequiredKey<std::int64_t> to_key(const Number& npus) {
  return {"vertices[].to", "NPU that receives the message", npus};
}

void read_message(Section& section, std::uint32_t npus, Vertex& vertex) {
  vertex.kind = Vertex::Kind::message;
  const Number number{0, std::int64_t{npus} - 1};
  const auto from = static_cast<std::uint32_t>(from_key(number).read(section));
  const auto to = static_cast<std::uint32_t>(to_key(number).read(section));
  vertex.places = {from, to};
  vertex.bytes = sent_bytes.read(section);
  if (npus > 1 && vertex.places[0] == vertex.places[1]) {
    section.error("to", "a message to where it comes from");
  }
}

const Key<Flops> flops{"vertices[].flops", Flops(), "for a compute vertex: operations"};
const Key<Bytes> moved_bytes{"vertices[].bytes", Bytes(),
                             "for a compute vertex: bytes that it reads and writes"};
const Key<Bytes> remote_key{"vertices[].remote", Bytes(),
                            "part of `bytes` that is in memory other than the NPU's own"};
const Key<Bytes> written_key{"vertices[].remote_written", Bytes(),
                             "part of `remote` that is written"};
const OtherKey uses_key{
    "vertices[].uses", "list", "none",
    "for a compute vertex: tensors that it accesses, by name or as {tensor, bytes, written}"};

void read_compute(Section& section, std::uint32_t npus, VertexTensors& tensors, Vertex& vertex) {
  vertex.flops = flops.read(section);
  vertex.bytes = moved_bytes.read(section);
  Bytes remote = remote_key.read(section);
  if (remote > vertex.bytes) {
    section.error("remote", "is more than bytes, " + to_string(vertex.bytes));
    remote = Bytes();
  }
  Bytes written = written_key.read(section);
  if (written > remote) {
    section.error("remote_written", "is more than remote, " + to_string(remote));
    written = Bytes();
  }
  vertex.remote = {remote - written, written};
  read_places(section, "at", npus, vertex.everywhere, vertex.places);
  tensors.read_uses(section, vertex);
}

const config::ChoiceKey<bool> coherent_key{"access",
                                           {{"move", false}, {"coherent", true}},
                                           "move",
                                           "access to remote bytes: move (read before computing, "
                                           "written afterwards) or coherent (while computing)"};
const Key<std::uint32_t> iterations_key{"iterations", 1, "number of times that each vertex runs",
                                        config::between(1U, 1'000'000'000U)};
const OtherKey vertices_key{"vertices", "list", "", "vertices, each a mapping"};
const RequiredKey<std::string> name_key{"vertices[].name", "name of the vertex, unique"};
const Key<bool> starts{
    "vertices[].start", false,
    "the vertex starts the work: edges to it do not count in the first iteration"};
const OtherKey edges_key{"edges", "list", "none", "edges from vertex to vertex, each a mapping"};
const RequiredKey<std::string> edge_from{"edges[].from", "name of a vertex"};
const RequiredKey<std::string> edge_to{
    "edges[].to", "name of a vertex, which runs when all its predecessors have ended"};
const Key<bool> at_first{"edges[].first", VertexEdge{}.at_first,
                         "false: the edge does not count in the first iteration, and in later ones "
                         "refers to the previous iteration"};

std::unique_ptr<GraphSource> make_vertices(Section& section, const GraphRequest& request) {
  const bool coherent = coherent_key.read(section);
  const std::uint32_t iterations = iterations_key.read(section);
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
    vertex.name = name_key.read(one);
    vertex.starts = starts.read(one);
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
    const auto vertex = [&](const RequiredKey<std::string>& key) {
      const std::string name = key.read(one);
      const auto found = numbers.find(name);
      if (found == numbers.end()) {
        one.error(key.key(), "there is no vertex '" + name + "'");
        good = false;
        return std::uint32_t{0};
      }
      return found->second;
    };
    VertexEdge edge;
    edge.from = vertex(edge_from);
    edge.to = vertex(edge_to);
    edge.at_first = at_first.read(one);
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
  auto source =
      make_vertex_source(std::move(graph), request.npus, iterations, std::move(placement));
  const std::optional<GraphSurvey> survey = source->known();
  if (coherent && survey && survey->remote_accesses == 0) {
    config::note_without_effect(section, coherent_key.key(),
                                "vertices that access no remote memory");
  }
  return source;
}

std::vector<ParameterInfo> vertex_parameters() {
  using config::where_used;
  std::vector<ParameterInfo> list{coherent_key, iterations_key, samples_of_graphs()};
  for (ParameterInfo& info : tensor_parameters()) {
    list.push_back(std::move(info));
  }
  const std::vector<ParameterInfo> own{vertices_key,
                                       name_key,
                                       starts,
                                       places_key,
                                       flops,
                                       moved_bytes,
                                       remote_key,
                                       written_key,
                                       uses_key,
                                       where_used(kind_of_vertex),
                                       where_used(sent_bytes),
                                       root_of_vertex(any_number),
                                       gather,
                                       where_used(from_key(any_number)),
                                       where_used(to_key(any_number)),
                                       edges_key,
                                       edge_from,
                                       edge_to,
                                       at_first};
  list.insert(list.end(), own.begin(), own.end());
  return list;
}

const Registration vertices_registration(
    graph_workloads(),
    {"graph", "vertices that compute and communicate, in a graph with cycles (HCSim)",
     vertex_parameters()},
    make_vertices);

}  // namespace
}  // namespace tessera::workload
