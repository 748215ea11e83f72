// The workload files that come with Tessera.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "read_text.hpp"

namespace tessera::workload::files_test {
namespace {

using ::testing::IsEmpty;

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
    // Touvron et al., arXiv:2307.09288; Grattafiori et al., arXiv:2407.21783: the published
    // weights.
    {"llama2_70b", 68.976648192, 5e-10, 1024},
    {"llama3_8b", 8.030261248, 5e-10, 2048},
    {"llama3_405b", 405.853388800, 5e-10, 2048},
    // Dey et al., arXiv:2304.03208: 13B; 12.85 with the position embeddings that the model card
    // has.
    {"cerebras_gpt_13b", 12.853386240, 5e-10, 1477},
    // Jiang et al., arXiv:2401.04088: 47B, and 46.7B in the announcement of the weights.
    {"mixtral_8x7b", 46.7, 0.05, 128},
    // DeepSeek-AI, arXiv:2405.04434 and arXiv:2412.19437: 236B and 671B; the published weights, of
    // which the latter have 14 848 biases of routers.
    {"deepseek_v2", 235.741434880, 5e-10, 9216},
    {"deepseek_v3", 671.026419200, 15e-6, 15360},
    // Jiang et al., arXiv:2310.06825: the published weights.
    {"mistral_7b", 7.241732096, 5e-10, 512},
    // Gemma Team, arXiv:2503.19786: the published weights, with norms that the file names.
    {"gemma3_27b", 27.009346304, 6.7e-4, 128},
    // Qwen Team, arXiv:2505.09388: the published weights.
    {"qwen3_8b", 8.190735360, 5e-10, 128},
    {"qwen3_32b", 32.762123264, 5e-10, 128},
    {"qwen3_30b_a3b", 30.532122624, 5e-10, 128},
    // Dao and Gu, arXiv:2405.21060; NVIDIA, arXiv:2504.03624: the published weights.
    {"mamba2_2_7b", 2.702599680, 5e-10, 512},
    {"nemotron_h_8b", 8.100852736, 5e-10, 768},
    // Devlin et al., arXiv:1810.04805: 110M; the published weights with and without the heads of
    // pre-training.
    {"bert_base", 0.110106428, 5e-10, 256},
    {"bert_base_inference", 0.109482240, 5e-10, 64},
    // He et al., arXiv:1512.03385, in the common variant.
    {"resnet50", 0.025557032, 5e-10, 256},
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

// Weights that a token uses, with so many of the experts; [billions].
double used(const Workload& workload, std::uint64_t experts) {
  std::uint64_t active = 0;
  for (const Layer& layer : workload.layers) {
    for (const Operator& op : layer.operators) {
      active += op.experts > 0 ? op.parameters / op.experts * experts : op.parameters;
    }
  }
  return static_cast<double>(active) * 1e-9;
}

// Of every token's two experts of eight: 12.9 billion, as announced with the weights.
TEST(WorkloadFiles, MixtralUsesTwoExpertsOfEight) {
  EXPECT_NEAR(used(read_file(WORKLOADS_DIRECTORY "/mixtral_8x7b.yaml"), 2), 12.9, 0.05);
}

// Six and two of 160, eight and one of 256, behind dense layers. The reports say 21B and 37B; the
// notes on the weights of the latter 36.6B, with the head and without the look-up.
TEST(WorkloadFiles, DeepSeekUsesFewOfItsExperts) {
  EXPECT_NEAR(used(read_file(WORKLOADS_DIRECTORY "/deepseek_v2.yaml"), 6), 21, 0.5);
  const Workload workload = read_file(WORKLOADS_DIRECTORY "/deepseek_v3.yaml");
  const double looked_up = static_cast<double>(workload.layers.front().parameters()) * 1e-9;
  EXPECT_NEAR(used(workload, 8) - looked_up, 36.6, 0.05);
}

// DeepSeek-AI, "Insights into DeepSeek-V3", arXiv:2505.09343, table 2: 155 and 250 GFLOP a token to
// train, half of the attention counted, at sequences of 4096 tokens.
TEST(WorkloadFiles, DeepSeekTakesThePublishedWork) {
  const auto gigaflops = [](const std::string& file) {
    const Workload workload = read_file(WORKLOADS_DIRECTORY "/" + file + ".yaml");
    std::uint64_t forward = 0;
    for (const Layer& layer : workload.layers) {
      forward += layer.matrix_flops().count();
    }
    return 3e-9 * static_cast<double>(forward) / static_cast<double>(workload.sequence_length);
  };
  EXPECT_NEAR(gigaflops("deepseek_v2"), 155, 1);
  EXPECT_NEAR(gigaflops("deepseek_v3"), 250, 1);
}

// 4.09 G multiply-adds an image, in 18 layers that a pipeline can be cut between; 3.8 G with the
// stride in the first convolution of a bottleneck, as the paper has it.
TEST(WorkloadFiles, ResNet50TakesThePublishedWork) {
  const Workload workload = read_file(WORKLOADS_DIRECTORY "/resnet50.yaml");
  std::uint64_t macs = 0;
  for (const Layer& layer : workload.layers) {
    macs += layer.matrix_flops().count() / 2;
  }
  EXPECT_NEAR(static_cast<double>(macs) * 1e-9, 4.09, 0.005);
  EXPECT_EQ(workload.layers.size(), 18U);
  EXPECT_EQ(workload.layers.front().boundary_elements, 56U * 56 * 64);
  EXPECT_EQ(workload.layers[16].boundary_elements, 7U * 7 * 2048);
  std::string text = config::load_text_file(WORKLOADS_DIRECTORY "/resnet50.yaml");
  const std::string plain = "kernel: 1, bias";
  const std::string stride = ", stride: 2, padding: 1";
  std::size_t at = text.find("conv3_x");
  while ((at = text.find(stride, at)) != std::string::npos) {
    text.replace(at, stride.size(), ", padding: 1");
    text.replace(text.rfind(plain, at), plain.size(), "kernel: 1, stride: 2, bias");
  }
  const ReadResult paper = read_text(text);
  ASSERT_TRUE(paper.workload);
  macs = 0;
  for (const Layer& layer : paper.workload->layers) {
    macs += layer.matrix_flops().count() / 2;
  }
  EXPECT_NEAR(static_cast<double>(macs) * 1e-9, 3.8, 0.06) << "convolutions and fc alone: 3.86";
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
  EXPECT_THAT(present, ::testing::UnorderedElementsAreArray(checked));
}

}  // namespace
}  // namespace tessera::workload::files_test
