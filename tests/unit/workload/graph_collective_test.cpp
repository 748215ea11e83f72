// What a stack of collectives says of itself without being read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/workload/graph_survey.hpp"
#include "tessera/workload/graph_workload.hpp"

namespace tessera::workload::graph_collective_test {
namespace {

std::unique_ptr<GraphSource> collectives(const std::string& text, std::uint32_t npus) {
  config::Diagnostics diagnostics;
  config::Section section(config::parse("w.yaml", text, diagnostics), "", diagnostics);
  auto source = graph_workloads().at("collective")(section, {npus, config::load_text_file});
  diagnostics.throw_if_any();
  return source;
}

TEST(GraphCollective, KnowsWhatALookThroughItFinds) {
  for (const char* text :
       {"{collective: all-reduce, size: 1 MB, repeat: 7}",
        "{collective: broadcast, size: 1 kB, root: 2}",
        "{collective: all-to-all, sizes: [[0 B, 1 B, 2 B], [3 B, 0 B, 4 B], [5 B, 6 B, 0 B]]}"}) {
    const auto source = collectives(text, 3);
    const std::optional<GraphSurvey> known = source->known();
    ASSERT_TRUE(known.has_value());
    const GraphSurvey survey = look_through(*source);
    EXPECT_EQ(known->nodes, survey.nodes) << text;
    EXPECT_EQ(known->collectives, survey.collectives) << text;
    EXPECT_EQ(known->collective_sizes, survey.collective_sizes) << text;
    EXPECT_EQ(known->reach, survey.reach) << text;
    EXPECT_EQ(known->at_work, survey.at_work) << text;
    EXPECT_EQ(known->names, survey.names) << text;
    EXPECT_EQ(known->flops, survey.flops) << text;
    EXPECT_EQ(known->without_action, survey.without_action) << text;
  }
}

std::vector<std::string> notes_of(const std::string& text) {
  config::Diagnostics diagnostics;
  config::Section section(config::parse("w.yaml", text, diagnostics), "workload", diagnostics);
  EXPECT_NE(graph_workloads().at("collective")(section, {3, config::load_text_file}), nullptr);
  EXPECT_TRUE(diagnostics.empty()) << text;
  return diagnostics.notes();
}

TEST(GraphCollective, ABarrierNeedsNoSizeAndNotesOne) {
  EXPECT_THAT(notes_of("{collective: barrier}"), ::testing::IsEmpty());
  EXPECT_THAT(
      notes_of("{collective: barrier, size: 1 MB}"),
      ::testing::ElementsAre("workload.size has no effect with barrier, which sends no bytes"));
}

TEST(GraphCollective, ARootIsNotedWhereThereIsNone) {
  EXPECT_THAT(
      notes_of("{collective: all-reduce, size: 1 MB, root: 2}"),
      ::testing::ElementsAre("workload.root has no effect with all_reduce, which has none"));
  EXPECT_THAT(notes_of("{collective: all-reduce, size: 1 MB, root: 0}"), ::testing::IsEmpty());
  EXPECT_THAT(notes_of("{collective: broadcast, size: 1 MB, root: 2}"), ::testing::IsEmpty());
}

TEST(GraphCollective, ABillionOfThemTakeNoMemory) {
  const auto source = collectives("{collective: all-reduce, size: 1 MB, repeat: 1000000000}", 4);
  EXPECT_EQ(source->known()->nodes, 4'000'000'000U);
}

}  // namespace
}  // namespace tessera::workload::graph_collective_test
