// Tensors of vertices: what fits in the memory of NPUs, and what they access elsewhere.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tessera/workload/graph_survey.hpp"
#include "tessera/workload/graph_workload.hpp"

namespace tessera::workload::vertex_tensors_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Home = TensorPlacement::Home;
constexpr Home none = Home::none;
constexpr Home local = Home::local;
constexpr Home remote = Home::remote;

struct Made {
  std::unique_ptr<GraphSource> source;
  std::string complaint;
};

Made make(const std::string& text, const NpuMemories& memories) {
  config::Diagnostics diagnostics;
  config::Section section(config::parse("g.yaml", text, diagnostics), "", diagnostics);
  Made made;
  made.source =
      graph_workloads().at("graph")(section, {static_cast<std::uint32_t>(memories.kind_of.size()),
                                              config::load_text_file, [&] { return memories; }});
  section.finish();
  for (const Diagnostic& diagnostic : diagnostics.list()) {
    made.complaint += diagnostic.to_string() + "\n";
  }
  return made;
}

// NPUs 0 and 1 of 10 B, 2 of 4 B, 3 not stated; two memories, of 17 B and without a limit.
NpuMemories four() {
  return {{{"large", Bytes(10)}, {"small", Bytes(4)}, {"", Bytes()}},
          {0, 0, 1, 2},
          {{"near", Bytes(17)}, {"far", Bytes()}},
          {0, 1, 0, 1}};
}

std::vector<Home> homes(const GraphSource& source, std::uint32_t npu) {
  const TensorPlacement& placement = *source.tensors();
  return placement.classes[placement.class_of[npu]].homes;
}

// [name, bytes] of remote loads of an NPU, in order.
std::vector<std::pair<std::string, std::uint64_t>> loads(const GraphSource& source,
                                                         std::uint32_t npu) {
  std::vector<std::pair<std::string, std::uint64_t>> found;
  GraphPosition position;
  for (const GraphNode& node : source.read(npu, position, 1000)) {
    if (node.action == GraphAction::load) {
      EXPECT_TRUE(node.in_remote);
      found.emplace_back(node.name, node.bytes.count());
    }
  }
  return found;
}

const char* const work = R"(
access: ACCESS
iterations: 2
tensors:
  - {name: a, bytes: 6 B}
  - {name: b, bytes: 3 B}
  - {name: c, bytes: 5 B, priority: 1}
  - {name: d, bytes: 1 B, at: [0, 2]}
vertices:
  - {name: v, start: true, flops: 1 FLOP, bytes: 2 B, uses: [b, {tensor: a, bytes: 20 B}]}
  - {name: w, flops: 1 FLOP, remote: 1 B, bytes: 4 B, uses: [c, c]}
  - {name: x, at: [0, 2], uses: [d]}
edges: [{from: v, to: w}, {from: w, to: x}, {from: x, to: v}]
)";

std::string work_with(const std::string& access) {
  std::string text = work;
  return text.replace(text.find("ACCESS"), 6, access);
}

// By hand: c goes first for its priority, then a and b, which v uses, in the order given, then d.
// Of 10 B: c, then a (6) is too large for what is left (5), b fits, d fits. Of 4 B: c and a are too
// large, b fits, d fits. Without a limit all is local.
TEST(VertexTensors, FillMemoriesInOrder) {
  const Made made = make(work_with("move"), four());
  ASSERT_EQ(made.complaint, "");
  EXPECT_THAT(homes(*made.source, 0), ElementsAre(remote, local, local, local));
  EXPECT_THAT(homes(*made.source, 1), ElementsAre(remote, local, local, none));
  EXPECT_THAT(homes(*made.source, 2), ElementsAre(remote, local, remote, local));
  EXPECT_THAT(homes(*made.source, 3), ElementsAre(local, local, local, none));
  const TensorPlacement& placement = *made.source->tensors();
  ASSERT_EQ(placement.classes.size(), 4U);
  EXPECT_EQ(placement.classes[0].local, Bytes(9));
  EXPECT_EQ(placement.classes[0].remote, Bytes(6));
  EXPECT_EQ(placement.classes[2].local, Bytes(4));
  EXPECT_EQ(placement.classes[2].remote, Bytes(11));
  EXPECT_THAT(placement.held, ElementsAre(Bytes(17), Bytes(6)));
}

// a, of which v accesses 20 B, is remote at NPUs 0 to 2; c, which w accesses twice beside a byte
// that is remote anyway, at NPU 2.
TEST(VertexTensors, AreAccessedWhereTheyAre) {
  const Made made = make(work_with("move"), four());
  ASSERT_EQ(made.complaint, "");
  using Load = std::pair<std::string, std::uint64_t>;
  EXPECT_THAT(loads(*made.source, 0),
              ElementsAre(Load("v", 20), Load("w", 1), Load("v", 20), Load("w", 1)));
  EXPECT_THAT(loads(*made.source, 2),
              ElementsAre(Load("v", 20), Load("w", 11), Load("v", 20), Load("w", 11)));
  EXPECT_THAT(loads(*made.source, 3), ElementsAre(Load("w", 1), Load("w", 1)));
  GraphPosition position;
  const std::vector<GraphNode> nodes = made.source->read(3, position, 1);
  EXPECT_EQ(nodes.at(0).action, GraphAction::compute);
  EXPECT_EQ(nodes.at(0).bytes, Bytes(25));  // all local: 2, b, and 20 of a
}

// Of a, which is remote at NPUs 0 to 2, v writes 5 of 20 B.
TEST(VertexTensors, AreWrittenWhereTheyAre) {
  std::string text = work_with("move");
  const std::string use = "bytes: 20 B}";
  text.replace(text.find(use), use.size(), "bytes: 20 B, written: 5 B}");
  const Made made = make(text, four());
  ASSERT_EQ(made.complaint, "");
  GraphPosition position;
  const std::vector<GraphNode> nodes = made.source->read(0, position, 3);
  EXPECT_EQ(nodes.at(0).action, GraphAction::load);
  EXPECT_EQ(nodes.at(0).bytes, Bytes(15));
  EXPECT_EQ(nodes.at(1).action, GraphAction::compute);
  EXPECT_EQ(nodes.at(2).action, GraphAction::store);
  EXPECT_EQ(nodes.at(2).bytes, Bytes(5));
  position = {};
  EXPECT_EQ(made.source->read(3, position, 1).at(0).action, GraphAction::compute);
  text.replace(text.find("written: 5 B"), 12, "written: 21 B");
  EXPECT_THAT(make(text, four()).complaint, HasSubstr("uses: written is more than bytes, 20 B"));
}

// Numbers of nodes count up without a gap though NPUs have different ones, and pieces of any size
// are the same.
TEST(VertexTensors, LeaveNoGaps) {
  for (const char* access : {"move", "coherent"}) {
    const Made made = make(work_with(access), four());
    ASSERT_EQ(made.complaint, "");
    for (const std::uint32_t npu : {0U, 1U, 2U, 3U}) {
      GraphPosition whole;
      const std::vector<GraphNode> nodes = made.source->read(npu, whole, 1000);
      GraphPosition position;
      std::uint64_t next = 0;
      while (next < nodes.size()) {
        for (const GraphNode& node : made.source->read(npu, position, 1)) {
          EXPECT_EQ(node.id, next);
          EXPECT_EQ(node.data_dependencies, nodes[next].data_dependencies);
          ++next;
        }
      }
      // Of v, w and x, and of messages from x at NPU 0 to v where x is not.
      const std::vector<std::size_t> counts = {2 + 2 + 1 + 2, 2 + 2 + 1, 2 + 2 + 1, 1 + 2 + 1};
      EXPECT_EQ(nodes.size(), 2 * counts[npu]) << npu;
    }
  }
}

TEST(VertexTensors, AreKnownAsFound) {
  const Made made = make(work_with("coherent"), four());
  ASSERT_EQ(made.complaint, "");
  const GraphSurvey survey = look_through(*made.source);
  const auto known = made.source->known();
  ASSERT_TRUE(known);
  EXPECT_EQ(known->nodes, survey.nodes);
  EXPECT_EQ(known->remote_accesses, survey.remote_accesses);
  EXPECT_EQ(known->remote_accesses, 2U * (2 + 2 + 2 + 1));
}

TEST(VertexTensors, ThatAreUsedEarlierGoFirst) {
  const Made made = make(R"(
tensors:
  - {name: unused, bytes: 8 B}
  - {name: second, bytes: 6 B}
  - {name: first, bytes: 5 B}
  - {name: third, bytes: 5 B}
vertices:
  - {name: v, start: true, uses: [first]}
  - {name: w, uses: [second]}
  - {name: x, uses: [third, first]}
edges: [{from: v, to: w}, {from: w, to: x}]
)",
                         {{{"", Bytes(10)}}, {0}, {{"m", Bytes()}}, {0}});
  ASSERT_EQ(made.complaint, "");
  EXPECT_THAT(homes(*made.source, 0), ElementsAre(remote, remote, local, local));
}

TEST(VertexTensors, AreRefusedWhereTheyCannotBe) {
  NpuMemories memories = four();
  memories.holders[0].capacity = Bytes(14);
  EXPECT_THAT(make(work_with("move"), memories).complaint,
              HasSubstr("g.yaml:5:5: error: tensors[0]: 'a' of NPU 2 (small) does not fit in its "
                        "own memory, 4 B, nor in near, which holds 14 B: tensors there take 17 B, "
                        "3 B too much"));
  memories.holders.clear();
  memories.holder_of.clear();
  EXPECT_THAT(make(work_with("move"), memories).complaint,
              HasSubstr("'a' of NPU 0 (large) does not fit in its own memory, 10 B, which is 6 B "
                        "too small for all of its tensors, and the machine has no other memory"));
  const auto refused = [](const std::string& rest) {
    return make("vertices: [{name: v, start: true, uses: [t, {tensor: u, bytes: 9 B}]}]\n" + rest,
                four())
        .complaint;
  };
  const std::string both = "tensors: [{name: t, bytes: 1 B}, {name: u, bytes: 1 B}]\n";
  EXPECT_EQ(refused(both), "");
  EXPECT_EQ(refused("tensors: [{name: t, bytes: 1 B}, {name: u, bytes: 1 B, at: 0-3}]\n"), "");
  EXPECT_THAT(refused("tensors: [{name: t, bytes: 1 B}]\n"),
              HasSubstr("g.yaml:1:54: error: vertices[0].uses: there is no tensor 'u'"));
  EXPECT_THAT(refused("tensors: [{name: t, bytes: 1 B}, {name: t, bytes: 1 B}]\n"),
              HasSubstr("tensors[1].name: tensor 't' is there twice"));
  EXPECT_THAT(refused("tensors: [{name: t, bytes: 1 B}, {name: u, bytes: 1 B, at: 0-2}]\n"),
              HasSubstr("tensor 'u' is not at all NPUs of the vertex"));
  EXPECT_EQ(refused(both + "local_capacity: 1 B\n"), "");
  EXPECT_THAT(refused("local_capacity: 1 B\n"), HasSubstr("local_capacity: without tensors"));
  NpuMemories stated = four();
  stated.kind_of[3] = 0;
  stated.kinds.pop_back();
  EXPECT_THAT(
      make("vertices: [{name: v, start: true}]\nlocal_capacity: 1 B\n" + both, stated).complaint,
      HasSubstr("g.yaml:2:1: error: local_capacity: the machine says the capacity of all"));
}

// Where the machine says nothing, the workload may.
TEST(VertexTensors, FillTheStatedCapacity) {
  const Made made = make("local_capacity: 9 B\n" + work_with("move"), four());
  ASSERT_EQ(made.complaint, "");
  EXPECT_THAT(homes(*made.source, 1), ElementsAre(remote, local, local, none));  // of 10 B
  EXPECT_THAT(homes(*made.source, 3), ElementsAre(remote, local, local, none));
}

}  // namespace
}  // namespace tessera::workload::vertex_tensors_test
