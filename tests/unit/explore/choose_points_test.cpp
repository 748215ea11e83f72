#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "files.hpp"
#include "tessera/explore/sweep.hpp"

namespace tessera::explore::choose_points_test {
namespace {

using ::testing::ElementsAre;
using testing::Files;
using ::testing::HasSubstr;
using testing::loader_of;
using testing::small_sweep;
using testing::with_line;

std::vector<PointNumber> points_of(const Files& files) {
  const config::TextLoader load = loader_of(files);
  return choose_points(read_sweep("lab/sweep.yaml", {}, load), load);
}

std::string complaint_of(const Files& files) {
  try {
    points_of(files);
  } catch (const ConfigError& error) {
    return error.diagnostics().front().to_string();
  }
  return "";
}

// Points are (pipeline, tensor, data), the last fastest: number = 6 p + 2 t + d.

TEST(ChoosePoints, TakesTheWholeGrid) {
  EXPECT_EQ(points_of(small_sweep()).size(), 18U);
}

TEST(ChoosePoints, KnowsShortNamesAndFullOnes) {
  EXPECT_THAT(points_of(with_line("constraints: ['tensor * strategy.pipeline * data == 4']")),
              ElementsAre(3, 7, 8, 12));
}

TEST(ChoosePoints, KnowsOtherKeysAndDefaults) {
  EXPECT_THAT(points_of(with_line("constraints: ['pipeline == layers and tensor == rows - 1']")),
              ElementsAre(16, 17));
  // The default of micro_batch; of machine.topology.kind and workload.kind the latter is higher up.
  EXPECT_THAT(points_of(with_line("constraints: ['data == 2 * micro_batch and tensor == 1', "
                                  "kind == 'transformer']")),
              ElementsAre(1, 7, 13));
}

TEST(ChoosePoints, KnowsNoDefaultsInWords) {
  EXPECT_EQ(points_of(with_line("constraints: [schedule == '1f1b']")).size(), 18U);
  EXPECT_THAT(complaint_of(with_line("constraints: [layout == 's-shape']")),
              HasSubstr("unknown name 'layout'"));
  EXPECT_THAT(complaint_of(with_line("constraints: [depth == 1]")),
              HasSubstr("unknown name 'depth'"));
}

TEST(ChoosePoints, KnowsFacts) {
  // 16 devices, 4 layers with embedding and head, a batch of 4.
  EXPECT_THAT(points_of(with_line("constraints: ['pipeline * tensor * data * 4 > devices * 3']")),
              ElementsAre(15, 17));
  EXPECT_THAT(points_of(with_line("constraints: ['layers == pipeline and data * 4 == batch']")),
              ElementsAre(12, 14, 16));
}

TEST(ChoosePoints, FactsFollowTheAxes) {
  Files files = small_sweep();
  files.at("lab/sweep.yaml") =
      "experiment: experiment.yaml\n"
      "axes: {machine.topology.rows: [2, 4, -1], workload.batch: [4, 8]}\n"
      "constraints: ['devices == 2 * batch']\n";
  // Impossible rows leave the point to fail with its own message.
  EXPECT_THAT(points_of(files), ElementsAre(0, 3, 4, 5));
}

TEST(ChoosePoints, SamplesWithoutRepetitionFromTheSeedAlone) {
  const std::vector<PointNumber> sample = points_of(with_line("sample: {random: 7, seed: 3}"));
  EXPECT_EQ(sample.size(), 7U);
  EXPECT_TRUE(std::is_sorted(sample.begin(), sample.end()));
  EXPECT_EQ(std::adjacent_find(sample.begin(), sample.end()), sample.end());
  EXPECT_EQ(sample, points_of(with_line("sample: {random: 7, seed: 3}")));
  EXPECT_NE(sample, points_of(with_line("sample: {random: 7, seed: 4}")));
  EXPECT_EQ(points_of(with_line("sample: {random: 100}")).size(), 18U);
}

TEST(ChoosePoints, SamplesEveryPointAlikeOften) {
  std::vector<int> times(18);
  for (int seed = 0; seed < 900; ++seed) {
    for (const PointNumber point :
         points_of(with_line("sample: {random: 2, seed: " + std::to_string(seed) + "}"))) {
      ++times[point];
    }
  }
  // 100 each, standard deviation below 10.
  for (const int count : times) {
    EXPECT_NEAR(count, 100, 50);
  }
}

TEST(ChoosePoints, DrawsFromGridsThatAreTooLargeToLookThrough) {
  Files files = small_sweep();
  files.at("lab/sweep.yaml") =
      "experiment: experiment.yaml\n"
      "axes:\n"
      "  strategy.micro_batch: {from: 1, to: 100000, step: 1}\n"
      "  run.iterations: {from: 1, to: 100000, step: 1}\n"
      "constraints: ['micro_batch % 2 == 0']\n";
  EXPECT_THAT(complaint_of(files), HasSubstr("give 10000000000 points"));
  files.at("lab/sweep.yaml") += "sample: {random: 50}\n";
  const std::vector<PointNumber> sample = points_of(files);
  EXPECT_EQ(sample.size(), 50U);
  for (const PointNumber point : sample) {
    EXPECT_EQ(point / 100'000 % 2, 1U);  // the second value is 2
  }
}

struct Fault {
  const char* line;
  const char* complaint;
};

class FaultyConstraint : public ::testing::TestWithParam<Fault> {};

TEST_P(FaultyConstraint, IsRefusedAtItsPlace) {
  EXPECT_THAT(complaint_of(with_line(GetParam().line)), HasSubstr(GetParam().complaint));
}

INSTANTIATE_TEST_SUITE_P(
    All, FaultyConstraint,
    ::testing::Values(
        Fault{"constraints: [tensr == 1]",
              "lab/sweep.yaml:6:15: error: 'tensr == 1': unknown name 'tensr'; did you mean "
              "'tensor'?"},
        Fault{"constraints: ['1 == nothing_like_it']", "6:21: error: "},
        Fault{"constraints: [tensor / (data - 1) == 1]", "6:22: error: "},
        Fault{"constraints: [tensor * 2]", "is no condition but a number"},
        Fault{"constraints: [tensor > 99]", "no point of the 18 meets all constraints"},
        Fault{"set: {machine.x.cost: 1, workload.y.cost: 2}\nconstraints: [cost == 1]",
              "7:15: error: 'cost == 1': 'cost' may mean machine.x.cost or workload.y.cost"}));

TEST(ChoosePoints, RefusesNamesThatMeanTwoAxes) {
  Files files = small_sweep();
  files.at("lab/sweep.yaml") =
      "experiment: experiment.yaml\n"
      "axes: {a.bandwidth: [1], b.bandwidth: [2]}\n"
      "constraints: ['bandwidth == 1']\n";
  EXPECT_THAT(complaint_of(files), HasSubstr("may mean a.bandwidth or b.bandwidth"));
  files.at("lab/sweep.yaml") =
      "experiment: experiment.yaml\n"
      "axes: {strategy: [a.yaml]}\n"
      "constraints: ['tensor == 1']\n";
  EXPECT_THAT(complaint_of(files), HasSubstr("is set by the axis 'strategy' as a whole"));
}

}  // namespace
}  // namespace tessera::explore::choose_points_test
