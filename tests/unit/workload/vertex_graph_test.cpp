// Graphs of vertices with cycles, as what each NPU does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <string>

#include "tessera/core/error.hpp"
#include "tessera/workload/graph_survey.hpp"
#include "tessera/workload/graph_workload.hpp"

namespace tessera::workload::vertex_graph_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

struct Made {
  std::unique_ptr<GraphSource> source;
  std::string complaint;
  std::vector<std::string> notes;
};

Made make(const std::string& text, std::uint32_t npus) {
  config::Diagnostics diagnostics;
  config::Section section(config::parse("g.yaml", text, diagnostics), "", diagnostics);
  Made made;
  made.source = graph_workloads().at("graph")(section, {npus, config::load_text_file});
  section.finish();
  for (const Diagnostic& diagnostic : diagnostics.list()) {
    made.complaint += diagnostic.to_string() + "\n";
  }
  made.notes = diagnostics.notes();
  return made;
}

// In pieces of `most`.
std::vector<GraphNode> read_all(const GraphSource& source, std::uint32_t npu,
                                std::size_t most = 1000) {
  std::vector<GraphNode> nodes;
  GraphPosition position;
  for (;;) {
    const std::vector<GraphNode> more = source.read(npu, position, most);
    if (more.empty()) {
      return nodes;
    }
    nodes.insert(nodes.end(), more.begin(), more.end());
  }
}

std::vector<std::string> names_before(const std::vector<GraphNode>& nodes, std::size_t at) {
  std::vector<std::string> names;
  for (const std::uint64_t id : nodes[at].data_dependencies) {
    names.push_back(nodes.at(id).name);
    EXPECT_LT(id, nodes[at].id);
  }
  return names;
}

// Two layers of data-parallel training, as Fig. 3 of the paper.
const char* const training = R"(
iterations: 3
access: ACCESS
vertices:
  - {name: fp1, start: true, flops: 1 GFLOP, bytes: 3 MB, remote: 2 MB}
  - {name: fp2, flops: 1 GFLOP}
  - {name: bp2, flops: 2 GFLOP}
  - {name: bp1, flops: 2 GFLOP}
  - {name: sync2, collective: all-reduce, bytes: 4 MB, gather: GATHER}
  - {name: sync1, collective: all-reduce, bytes: 4 MB}
edges:
  - {from: fp1, to: fp2}
  - {from: fp2, to: bp2}
  - {from: bp2, to: bp1}
  - {from: bp2, to: sync2}
  - {from: bp1, to: sync1}
  - {from: sync1, to: fp1}
  - {from: sync2, to: fp2, first: false}
)";

std::string training_with(const std::string& access, const std::string& gather) {
  std::string text = training;
  text.replace(text.find("ACCESS"), 6, access);
  text.replace(text.find("GATHER"), 6, gather);
  return text;
}

TEST(VertexGraph, ABarrierNeedsNoBytesAndNotesThem) {
  const auto of = [](const std::string& keys) {
    return make("vertices: [{name: a, start: true, collective: " + keys + "}]\n", 4);
  };
  EXPECT_EQ(of("barrier").complaint, "");
  EXPECT_THAT(of("barrier").notes, IsEmpty());
  EXPECT_EQ(of("barrier, bytes: 4 MB").complaint, "");
  EXPECT_THAT(of("barrier, bytes: 4 MB").notes,
              ElementsAre("vertices[0].bytes has no effect with barrier, which sends no bytes"));
  EXPECT_THAT(of("all-reduce").complaint, HasSubstr("bytes: missing"));
}

TEST(VertexGraph, UnrollsIterationsInOrder) {
  const Made made = make(training_with("move", "sent"), 4);
  ASSERT_EQ(made.complaint, "");
  const std::vector<GraphNode> nodes = read_all(*made.source, 2);
  ASSERT_EQ(nodes.size(), 3U * 7);
  for (std::size_t at = 0; at < nodes.size(); ++at) {
    EXPECT_EQ(nodes[at].id, at);
    EXPECT_EQ(nodes[at].iteration, at / 7);
  }
  EXPECT_EQ(made.source->iterations(), 3U);
  // fp1 moves, then computes; edges into it, which starts, do not count at first.
  EXPECT_EQ(nodes[0].action, GraphAction::load);
  EXPECT_TRUE(nodes[0].in_remote);
  EXPECT_EQ(nodes[0].bytes, Bytes(2'000'000));
  EXPECT_THAT(names_before(nodes, 0), IsEmpty());
  EXPECT_EQ(nodes[1].action, GraphAction::compute);
  EXPECT_EQ(nodes[1].bytes, Bytes(3'000'000));
  EXPECT_THAT(nodes[1].data_dependencies, ElementsAre(0U));
  EXPECT_THAT(names_before(nodes, 2), ElementsAre("fp1"));
  // Later each waits for itself, too, and fp2 for sync2 of the iteration before.
  EXPECT_THAT(names_before(nodes, 7), UnorderedElementsAre("fp1", "sync1"));
  EXPECT_THAT(names_before(nodes, 9), UnorderedElementsAre("fp2", "fp1", "sync2"));
  for (const std::uint64_t id : nodes[9].data_dependencies) {
    EXPECT_EQ(id / 7, nodes[id].name == "fp1" ? 1U : 0U);
  }
}

// 5 MB read, 2 MB of 7 written; b follows a.
const char* const stored = R"(
access: ACCESS
vertices:
  - {name: a, start: true, flops: 1 GFLOP, bytes: 10 MB, remote: 7 MB, remote_written: 2 MB}
  - {name: b, bytes: 1 MB, remote: 1 MB, remote_written: 1 MB}
edges: [{from: a, to: b}]
)";

TEST(VertexGraph, ReadsBeforeAndWritesBehind) {
  std::string text = stored;
  const Made made = make(text.replace(text.find("ACCESS"), 6, "move"), 1);
  ASSERT_EQ(made.complaint, "");
  const std::vector<GraphNode> nodes = read_all(*made.source, 0);
  ASSERT_EQ(nodes.size(), 5U);
  using enum GraphAction;
  const std::array actions{load, compute, store, compute, store};
  const std::array<std::uint64_t, 5> bytes{5, 10, 2, 1, 1};
  for (std::size_t at = 0; at < nodes.size(); ++at) {
    EXPECT_EQ(nodes[at].id, at);
    EXPECT_EQ(nodes[at].action, actions[at]);
    EXPECT_EQ(nodes[at].bytes, Bytes(bytes[at] * 1'000'000));
    EXPECT_EQ(nodes[at].in_remote, actions[at] != compute);
    if (at > 0) {
      EXPECT_THAT(nodes[at].data_dependencies, ElementsAre(at - 1));
    }
  }
  EXPECT_EQ(made.source->known()->nodes, 5U);
  EXPECT_EQ(made.source->known()->remote_accesses, 3U);
}

TEST(VertexGraph, ReadsAndWritesWhileItComputes) {
  std::string text = stored;
  const Made made = make(text.replace(text.find("ACCESS"), 6, "coherent"), 1);
  ASSERT_EQ(made.complaint, "");
  const std::vector<GraphNode> nodes = read_all(*made.source, 0);
  ASSERT_EQ(nodes.size(), 5U);
  for (const std::size_t at : {0U, 1U, 2U}) {
    EXPECT_THAT(nodes[at].data_dependencies, IsEmpty());
  }
  EXPECT_EQ(nodes[1].bytes, Bytes(3'000'000));
  for (const std::size_t at : {3U, 4U}) {
    EXPECT_THAT(nodes[at].data_dependencies, ElementsAre(0U, 1U, 2U));
  }
  EXPECT_EQ(nodes[3].bytes, Bytes());
}

TEST(VertexGraph, PiecesOfAnySizeAreTheSame) {
  const Made made = make(training_with("coherent", "read"), 3);
  ASSERT_EQ(made.complaint, "");
  const std::vector<GraphNode> whole = read_all(*made.source, 1);
  for (const std::size_t most : {1U, 2U, 5U}) {
    const std::vector<GraphNode> pieces = read_all(*made.source, 1, most);
    ASSERT_EQ(pieces.size(), whole.size());
    for (std::size_t at = 0; at < whole.size(); ++at) {
      EXPECT_EQ(pieces[at].id, whole[at].id);
      EXPECT_EQ(pieces[at].data_dependencies, whole[at].data_dependencies);
    }
  }
}

TEST(VertexGraph, CoherentAccessGoesBesideComputing) {
  const Made made = make(training_with("coherent", "sent"), 4);
  ASSERT_EQ(made.complaint, "");
  const std::vector<GraphNode> nodes = read_all(*made.source, 0);
  EXPECT_EQ(nodes[0].action, GraphAction::load);
  EXPECT_EQ(nodes[1].action, GraphAction::compute);
  EXPECT_EQ(nodes[1].bytes, Bytes(1'000'000));
  EXPECT_THAT(nodes[1].data_dependencies, IsEmpty());
  EXPECT_THAT(nodes[2].data_dependencies, ElementsAre(0U, 1U));
}

TEST(VertexGraph, GathersByReadsOrNotAtAll) {
  const auto collectives = [](const char* gather) {
    const Made made = make(training_with("move", gather), 4);
    EXPECT_EQ(made.complaint, "");
    std::vector<std::pair<collective::Kind, std::uint64_t>> found;
    for (const GraphNode& node : read_all(*made.source, 0)) {
      if (node.name == "sync2" && node.id < 8) {
        found.emplace_back(node.collective, node.bytes.count());
      }
    }
    return found;
  };
  EXPECT_THAT(collectives("sent"),
              ElementsAre(std::pair(collective::Kind::all_reduce, 4'000'000U)));
  EXPECT_THAT(collectives("free"),
              ElementsAre(std::pair(collective::Kind::reduce_scatter, 4'000'000U)));
  EXPECT_THAT(collectives("read"),
              ElementsAre(std::pair(collective::Kind::reduce_scatter, 4'000'000U),
                          std::pair(collective::Kind::all_gather, 1'000'000U)));
}

// Edges between vertices without a place in common are messages.
TEST(VertexGraph, PlacesOfTheirOwn) {
  const Made made = make(R"(
iterations: 2
vertices:
  - {name: a, at: 0, start: true, flops: 1 GFLOP}
  - {name: b, at: [1, 2-3], flops: 1 GFLOP}
  - {name: c, flops: 1 GFLOP}
  - {name: m, from: 3, to: 1, bytes: 7 B}
  - {name: sub, at: 1-2, collective: broadcast, root: 1, bytes: 5 B}
edges:
  - {from: a, to: b}
  - {from: b, to: c}
  - {from: b, to: m}
  - {from: m, to: sub}
  - {from: c, to: a}
)",
                         4);
  ASSERT_EQ(made.complaint, "");
  const GraphSurvey survey = look_through(*made.source);  // every message is received, once
  const auto known = made.source->known();
  ASSERT_TRUE(known);
  EXPECT_EQ(known->nodes, survey.nodes);
  EXPECT_EQ(known->flops, survey.flops);
  EXPECT_EQ(known->computed_bytes.listed(), survey.computed_bytes.listed());
  EXPECT_EQ(known->collectives, survey.collectives);
  EXPECT_EQ(known->collective_sizes, survey.collective_sizes);
  EXPECT_EQ(known->names, survey.names);
  EXPECT_THAT(made.source->groups(),
              ElementsAre(std::pair(std::string("vertex sub"), std::vector<std::uint32_t>{1, 2})));
  std::map<std::string, int> at_0;
  for (const GraphNode& node : read_all(*made.source, 0)) {
    ++at_0[node.name];
  }
  EXPECT_THAT(at_0, ElementsAre(std::pair("a", 2), std::pair("a to b", 6), std::pair("b to c", 2),
                                std::pair("c", 2)));
  // NPU 2 takes part in sub, which NPU 3 leads up to by a message to NPU 1.
  const std::vector<GraphNode> nodes = read_all(*made.source, 2);
  const auto sub = std::find_if(nodes.begin(), nodes.end(),
                                [](const GraphNode& node) { return node.name == "sub"; });
  ASSERT_NE(sub, nodes.end());
  EXPECT_EQ(sub->root, 1U);
  EXPECT_THAT(names_before(nodes, static_cast<std::size_t>(sub - nodes.begin())),
              ElementsAre("m to sub"));
}

TEST(VertexGraph, IsRefusedWhereItCannotRun) {
  const auto refused = [](const std::string& text) { return make(text, 4).complaint; };
  const std::string two = "vertices:\n  - {name: a, start: true}\n  - {name: b}\n";
  EXPECT_THAT(refused(two), HasSubstr("g.yaml:3:5: error: vertices[1]: neither starts nor has an"));
  EXPECT_THAT(refused("vertices:\n  - {name: a}\n  - {name: b}\nedges:\n"
                      "  - {from: a, to: b}\n  - {from: b, to: a}\n"),
              HasSubstr("g.yaml:2:5: error: vertices[0]: waits for itself in the first iteration"));
  EXPECT_THAT(refused(two + "edges: [{from: a, to: c}]\n"),
              HasSubstr("g.yaml:4:19: error: edges[0].to: there is no vertex 'c'"));
  EXPECT_THAT(refused("vertices: [{name: a, start: true}, {name: a}]\n"),
              HasSubstr("vertex 'a' is there twice"));
  EXPECT_THAT(
      refused("vertices: [{name: a, start: true, at: [1, 4]}]\n"),
      HasSubstr("g.yaml:1:43: error: vertices[0].at: must be all, or numbers of NPUs below 4"));
  EXPECT_THAT(refused("vertices: [{name: a, start: true, at: [0-2, 1]}]\n"),
              HasSubstr("names an NPU twice"));
  EXPECT_THAT(refused("vertices: [{name: a, start: true, bytes: 1 B, remote: 2 B}]\n"),
              HasSubstr("remote: is more than bytes, 1 B"));
  EXPECT_THAT(refused("vertices: [{name: a, start: true, bytes: 3 B, remote: 2 B, "
                      "remote_written: 3 B}]\n"),
              HasSubstr("remote_written: is more than remote, 2 B"));
  EXPECT_THAT(refused("vertices: [{name: a, start: true, from: 1, to: 1, bytes: 1 B}]\n"),
              HasSubstr("a message to where it comes from"));
  EXPECT_THAT(refused("vertices: []\n"), HasSubstr("vertices: there is none"));
}

}  // namespace
}  // namespace tessera::workload::vertex_graph_test
