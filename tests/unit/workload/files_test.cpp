// The workload files that come with Tessera.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "read_text.hpp"

namespace tessera::workload {
namespace {

using testing::IsEmpty;

Workload read_file(const std::string& path) {
  const ReadResult result = read_text(config::load_text_file(path), path);
  EXPECT_THAT(result.complaints, IsEmpty());
  return result.workload.value();
}

struct Published {
  std::string file;
  double billions;   // parameters, as published
  double tolerance;  // [billions], half a unit of the last digit unless stated
  std::uint64_t batch;
};

const std::vector<Published> published{
    // Narayanan et al., arXiv:2104.04473, table 1; without the final layer norm, which is lost in
    // the rounding.
    {"t_1_7b", 1.7, 0.05, 512},
    {"t_3_6b", 3.6, 0.05, 512},
    {"t_7_5b", 7.5, 0.05, 512},
    {"t_18b", 18.4, 0.05, 1024},
    {"t_39b", 39.1, 0.05, 1536},
    {"t_76b", 76.1, 0.05, 1792},
    {"t_145b", 145.6, 0.05, 2304},
    {"t_310b", 310.1, 0.05, 2160},
    {"t_530b", 529.6, 0.05, 2520},
    {"t_1t", 1008.0, 0.05, 3072},
    {"t_175b", 174.6, 0.05, 1536},  // table 2
    {"t_22b", 22, 0.5, 4},          // Korthikanti et al., arXiv:2205.05198, table 3
    // Radford et al., 2019: the published weights.
    {"gpt2_small", 0.124439808, 5e-10, 512},
    {"gpt2_medium", 0.354823168, 5e-10, 512},
    {"gpt2_large", 0.774030080, 5e-10, 512},
    {"gpt2_xl", 1.557611200, 5e-10, 512},
    // Brown et al., arXiv:2005.14165, table 2.1, which rounds names as 125M and 350M.
    {"gpt3_small", 0.125, 0.005, 256},
    {"gpt3_medium", 0.350, 0.01, 256},
    {"gpt3_large", 0.760, 0.005, 256},
    {"gpt3_6_7b", 6.7, 0.05, 1024},
    {"gpt3_175b", 175.0, 0.5, 1536},
    // Assumed, not published: 12 l h^2 + 13 l h + (V + s) h + 2 h.
    {"tiny", 0.029545472, 5e-10, 32},
    {"deep_narrow", 0.013220280, 5e-10, 844},
};

TEST(WorkloadFiles, HoldThePublishedNumberOfParameters) {
  for (const Published& model : published) {
    const Workload workload = read_file(WORKLOADS_DIRECTORY "/" + model.file + ".yaml");
    EXPECT_NEAR(static_cast<double>(workload.parameters()) * 1e-9, model.billions, model.tolerance)
        << model.file;
    EXPECT_EQ(workload.samples, model.batch) << model.file;
  }
}

TEST(WorkloadFiles, EachIsChecked) {
  std::vector<std::string> checked;
  for (const Published& model : published) {
    checked.push_back(model.file + ".yaml");
  }
  std::vector<std::string> present;
  for (const auto& entry : std::filesystem::directory_iterator(WORKLOADS_DIRECTORY)) {
    present.push_back(entry.path().filename().string());
  }
  EXPECT_THAT(present, testing::UnorderedElementsAreArray(checked));
}

}  // namespace
}  // namespace tessera::workload
