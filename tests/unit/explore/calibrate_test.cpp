// Constants from measurements that were made with known ones.

#include "tessera/explore/calibrate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "calibrate/constants.hpp"
#include "calibrate/least_squares.hpp"
#include "files.hpp"

namespace tessera::explore::calibrate_test {
namespace {

using ::testing::ElementsAre;
using testing::Files;
using ::testing::HasSubstr;
using testing::loader_of;

std::string machine_of(const std::string& matrix, const std::string& launch,
                       const std::string& memory, const std::string& link = "100 GB/s",
                       const std::string& message = "2 us") {
  return "name: card\n"
         "topology: {kind: mesh, rows: 2, columns: 2, bandwidth: " +
         link +
         ", latency: 1 us}\n"
         "tile: {peak: {fp16: 100 TFLOP/s}, operands: dram}\n"
         "dram: {at: each, bandwidth: 1000 GB/s, latency: 0 ns}\n"
         "network: {model: packet, message_overhead: " +
         message +
         "}\n"
         "compute:\n"
         "  model: gemm\n"
         "  units: 64\n"
         "  tiles: [128x128, 64x64]\n"
         "  matrix_efficiency: " +
         matrix +
         "  # a guess\n"
         "  memory_efficiency: " +
         memory +
         "\n"
         "  launch_overhead: " +
         launch + "\n";
}

const std::vector<std::string> shapes{"product,128x4096x4096", "product,2048x4096x4096",
                                      "product,8192x8192x8192", "product,64x128x64",
                                      "product,16x8192x8192"};

// The measurements as the model with these constants has them.
std::string measured_with(const std::string& machine, const std::vector<std::string>& what,
                          const std::string& head, const std::vector<std::string>& keys) {
  std::string guess = head + "\n";
  for (const std::string& row : what) {
    guess += row + ",1 ms\n";
  }
  const Files files{{"m.yaml", machine}, {"t.csv", guess}};
  const Calibration known = calibrate({"m.yaml", {"t.csv"}, keys, {}}, loader_of(files));
  std::string text = head + "\n";
  for (std::size_t i = 0; i < what.size(); ++i) {
    text += what[i] + "," + std::to_string(known.rows[i].before.ps()) + " ps\n";
  }
  return text;
}

double number_of(const std::string& text) {
  return std::stod(text);
}

TEST(Calibrate, FindsConstantsOfProducts) {
  const std::string times = measured_with(machine_of("0.7", "5 us", "0.8"), shapes,
                                          "operator,shape,time", {"compute.matrix_efficiency"});
  const Files files{{"m.yaml", machine_of("0.9", "2 us", "0.5")}, {"t.csv", times}};
  const Calibration found = calibrate(
      {"m.yaml",
       {"t.csv"},
       {"compute.matrix_efficiency", "compute.launch_overhead", "compute.memory_efficiency"},
       {}},
      loader_of(files));
  EXPECT_NEAR(number_of(found.constants[0].after), 0.7, 0.002);
  EXPECT_NEAR(number_of(found.constants[1].after), 5, 0.02);
  EXPECT_NEAR(number_of(found.constants[2].after), 0.8, 0.002);
  EXPECT_GT(found.before.mean_absolute, 0.1);
  EXPECT_LT(found.after.mean_absolute, 0.002);
  EXPECT_LT(found.after.worst, 0.005);
  EXPECT_TRUE(found.confusions.empty());
  for (const Constant& each : found.constants) {
    EXPECT_TRUE(each.has_effect);
    EXPECT_LT(each.standard_error, 0.01);
  }
  EXPECT_EQ(found.constants[1].before, "2 us");
  EXPECT_THAT(found.machine_text, HasSubstr("matrix_efficiency: " + found.constants[0].after));
  EXPECT_THAT(found.machine_text, HasSubstr("fitted: tessera calibrate, t.csv (5 times"));
  EXPECT_THAT(found.machine_text, HasSubstr("was 0.9; before: a guess"));
}

TEST(Calibrate, FindsConstantsOfCollectives) {
  const std::vector<std::string> what{"all-reduce,1 kB,4", "all-reduce,1 MB,4",
                                      "all-reduce,64 MB,4", "all-gather,8 MB,4"};
  const std::string head = "collective,size,ranks,time";
  const std::string times = measured_with(machine_of("0.7", "5 us", "0.8", "80 GB/s", "3 us"), what,
                                          head, {"network.message_overhead"});
  const Files files{{"m.yaml", machine_of("0.7", "5 us", "0.8")}, {"t.csv", times}};
  const Calibration found =
      calibrate({"m.yaml", {"t.csv"}, {"topology.bandwidth", "network.message_overhead"}, {}},
                loader_of(files));
  EXPECT_NEAR(number_of(found.constants[0].after), 80, 0.5);
  EXPECT_NEAR(number_of(found.constants[1].after), 3, 0.05);
  EXPECT_LT(found.after.mean_absolute, 0.002);
  // Flow mappings have their comment above.
  EXPECT_THAT(found.machine_text, HasSubstr("# topology.bandwidth: fitted"));
  EXPECT_THAT(found.machine_text,
              HasSubstr("bandwidth: " + found.constants[0].after + ", latency"));
}

TEST(Calibrate, FindsConstantsOfIterations) {
  Files files{{"m.yaml", machine_of("0.9", "5 us", "0.8")},
              {"e.yaml",
               "machine: m.yaml\n"
               "workload: {kind: transformer, layers: 2, hidden: 2048, heads: 16, sequence: 512,\n"
               "  vocabulary: 1000, batch: 8}\n"
               "strategy: {data: 4, capacity: ignore}\n"},
              {"t.csv", "experiment,time\ne.yaml,1 ms\n"}};
  Files truth = files;
  truth.at("m.yaml") = machine_of("0.6", "5 us", "0.8");
  const Calibration known =
      calibrate({"m.yaml", {"t.csv"}, {"compute.matrix_efficiency"}, {}}, loader_of(truth));
  files.at("t.csv") =
      "experiment,time\ne.yaml," + std::to_string(known.rows[0].before.ps()) + " ps\n";
  const Calibration found =
      calibrate({"m.yaml", {"t.csv"}, {"compute.matrix_efficiency"}, {}}, loader_of(files));
  EXPECT_NEAR(number_of(found.constants[0].after), 0.6, 0.002);
}

// Large products feel the product of the peak and the share of it alone.
TEST(Calibrate, NamesConstantsThatTimesDoNotTellApart) {
  const std::vector<std::string> large{"product,8192x8192x8192", "product,4096x8192x8192",
                                       "product,8192x4096x8192", "product,8192x8192x16384"};
  const std::string times = measured_with(machine_of("0.7", "5 us", "0.8"), large,
                                          "operator,shape,time", {"compute.matrix_efficiency"});
  const Files files{{"m.yaml", machine_of("0.8", "5 us", "0.8")}, {"t.csv", times}};
  const Calibration found = calibrate(
      {"m.yaml", {"t.csv"}, {"compute.matrix_efficiency", "tile.peak.fp16"}, {}}, loader_of(files));
  ASSERT_EQ(found.confusions.size(), 1U);
  EXPECT_THAT(found.confusions[0].constants, ElementsAre(0U, 1U));
  EXPECT_GT(found.confusions[0].condition_index, 30);
  EXPECT_NEAR(found.confusions[0].powers[0] * found.confusions[0].powers[1], -1, 0.01);
  EXPECT_FALSE(std::isfinite(found.constants[0].standard_error));
  EXPECT_LT(found.after.mean_absolute, 0.002);  // met all the same
}

// A comment of one stood where the number of the other was looked for.
TEST(Calibrate, WritesSeveralNumbersOfALine) {
  const std::string line = "dram: {bandwidth: 100 GB/s, latency: 100 ns}";
  const std::string text = "name: m\n" + line + "\n";
  config::Diagnostics diagnostics;
  const auto numbers =
      find_numbers("m.yaml", text, {"dram.latency", "dram.bandwidth"}, diagnostics);
  ASSERT_EQ(numbers.size(), 2U);
  EXPECT_EQ(with_numbers(text, numbers, {"441.4 ns", "112 GB/s"}, {"one", "two"}),
            "name: m\n# dram.bandwidth: two\n# dram.latency: one\n"
            "dram: {bandwidth: 112 GB/s, latency: 441.4 ns}\n");
}

TEST(Calibrate, NamesConstantsWithoutEffect) {
  const std::string times = measured_with(machine_of("0.7", "5 us", "0.8"), shapes,
                                          "operator,shape,time", {"compute.matrix_efficiency"});
  const Files files{{"m.yaml", machine_of("0.8", "5 us", "0.8")}, {"t.csv", times}};
  const Calibration found = calibrate(
      {"m.yaml", {"t.csv"}, {"compute.matrix_efficiency", "network.message_overhead"}, {}},
      loader_of(files));
  EXPECT_TRUE(found.constants[0].has_effect);
  EXPECT_FALSE(found.constants[1].has_effect);
  EXPECT_EQ(found.constants[1].after, "2 us");  // left as it was
}

// Products that take no time but a launch, and those of more than the peak.
TEST(Calibrate, SaysWhatIsAtItsBound) {
  const Files slow{{"m.yaml", machine_of("0.7", "5 us", "0.8")},
                   {"t.csv",
                    "operator,shape,time\nproduct,8192x8192x8192,1 ms\n"
                    "product,4096x8192x8192,0.5 ms\nproduct,8192x8192x4096,0.5 ms\n"}};
  const Calibration most =
      calibrate({"m.yaml", {"t.csv"}, {"compute.matrix_efficiency"}, {}}, loader_of(slow));
  EXPECT_EQ(most.constants[0].bound, "upper");
  EXPECT_TRUE(most.constants[0].has_effect);
  EXPECT_NEAR(number_of(most.constants[0].after), 1, 0.001);
  EXPECT_FALSE(std::isfinite(most.constants[0].standard_error));
  EXPECT_THAT(most.machine_text, HasSubstr("at its upper bound, was 0.7"));
  // Less than what the rest of the model takes: no launch is short enough.
  Files fast = slow;
  fast.at("t.csv") = "operator,shape,time\nproduct,512x4096x4096,1 us\nproduct,64x128x64,1 ns\n";
  const Calibration least =
      calibrate({"m.yaml", {"t.csv"}, {"compute.launch_overhead"}, {}}, loader_of(fast));
  EXPECT_EQ(least.constants[0].bound, "lower");
  EXPECT_TRUE(least.constants[0].has_effect);
  EXPECT_LT(number_of(least.constants[0].after), 0.05);
}

std::string with_attention(const std::string& efficiency) {
  return machine_of("0.7", "5 us", "0.8") + "  attention_efficiency: " + efficiency +
         "\n  attention_fill: 200\n";
}

TEST(Calibrate, FindsConstantsOfAttention) {
  const std::vector<std::string> what{"attention,4096x4096x128x16",
                                      "causal-attention,4096x4096x128x16",
                                      "attention,512x512x128x64", "attention,1024x2048x64x32"};
  const std::string times = measured_with(with_attention("0.6"), what, "operator,shape,time",
                                          {"compute.attention_efficiency"});
  const Files files{{"m.yaml", with_attention("0.3")}, {"t.csv", times}};
  const Calibration found =
      calibrate({"m.yaml", {"t.csv"}, {"compute.attention_efficiency"}, {}}, loader_of(files));
  EXPECT_NEAR(number_of(found.constants[0].after), 0.6, 0.002);
  EXPECT_LT(found.after.worst, 0.005);
  // 4 * 4096 * 4096 * 128 * 16 FLOPs, and half of them.
  EXPECT_GT(found.rows[0].after.ps(), 1.374e11 / 100e12 / 0.6 * 1e12);
  EXPECT_NEAR(
      static_cast<double>(found.rows[1].after.ps()) / static_cast<double>(found.rows[0].after.ps()),
      0.5, 0.1);
}

// A server whose links are a list of a graph.
TEST(Calibrate, FindsConstantsOfLinksOfAGraph) {
  const auto server = [](const std::string& bandwidth) {
    return "name: server\n"
           "topology:\n"
           "  kind: graph\n"
           "  nodes:\n"
           "    - {name: gpu, count: 4}\n"
           "    - {name: switch, kind: switch}\n"
           "  links:\n"
           "    - from: gpu\n"
           "      to: switch\n"
           "      bandwidth: " +
           bandwidth +
           "\n"
           "      latency: 500 ns\n"
           "tile: {peak: {fp16: 100 TFLOP/s}, operands: dram}\n"
           "dram: {at: each, bandwidth: 1000 GB/s, latency: 0 ns}\n";
  };
  const std::string key = "topology.links.0.bandwidth";
  const std::string times =
      measured_with(server("200 GB/s"), {"all-reduce,1 MB,4", "all-reduce,64 MB,4"},
                    "collective,size,ranks,time", {key});
  const Files files{{"m.yaml", server("100 GB/s")}, {"t.csv", times}};
  const Calibration found = calibrate({"m.yaml", {"t.csv"}, {key}, {}}, loader_of(files));
  EXPECT_NEAR(number_of(found.constants[0].after), 200, 1);
  EXPECT_THAT(found.machine_text, HasSubstr("bandwidth: " + found.constants[0].after + "  # fit"));
}

std::string refusal_of(const std::string& times,
                       const std::vector<std::string>& keys = {"compute.matrix_efficiency"}) {
  const Files files{{"m.yaml", machine_of("0.8", "5 us", "0.8")}, {"t.csv", times}};
  try {
    calibrate({"m.yaml", {"t.csv"}, keys, {}}, loader_of(files));
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(Calibrate, RefusesBadMeasurementsWithTheirPlace) {
  const std::string head = "operator,shape,time\n";
  EXPECT_THAT(refusal_of(""), HasSubstr("t.csv:1:1: error: no measurements"));
  EXPECT_THAT(refusal_of("what,time\n"), HasSubstr("t.csv:1:1: error: no column 'operator'"));
  EXPECT_THAT(refusal_of("operator,shape,time,colour\n"),
              HasSubstr("t.csv:1:21: error: unknown column"));
  EXPECT_THAT(refusal_of(head + "product,64x64,1 us\n"), HasSubstr("t.csv:2:9: error: '64x64'"));
  EXPECT_THAT(refusal_of(head + "# later\nproduct,64x64x64, 5\n"),
              HasSubstr("t.csv:3:19: error: "));
  EXPECT_THAT(refusal_of(head + "product,64x64x64,0 ns\n"),
              HasSubstr("t.csv:2:18: error: a measured time"));
  EXPECT_THAT(refusal_of(head + "produkt,64x64x64,5 us\n"), HasSubstr("did you mean 'product'"));
  EXPECT_THAT(refusal_of(head + "product,64x64x64\n"), HasSubstr("t.csv:2:9: error: 2 fields"));
  EXPECT_THAT(refusal_of(head + "attention,64x64x64,5 us\n"),
              HasSubstr("t.csv:2:11: error: '64x64x64' is no attention"));
  EXPECT_THAT(refusal_of(head + "norm,12 apples,5 us\n"), HasSubstr("t.csv:2:6: error: "));
  EXPECT_THAT(refusal_of(head + "lookup,12 apples,5 us\n"), HasSubstr("t.csv:2:8: error: "));
  EXPECT_THAT(refusal_of("collective,size,ranks,time\nall-reduce,1 MB,one,5 us\n"),
              HasSubstr("t.csv:2:17: error: 'one'"));
}

TEST(Calibrate, RefusesKeysThatAreNoNumbersOfTheFile) {
  const std::string times = "operator,shape,time\nproduct,64x64x64,5 us\n";
  EXPECT_THAT(refusal_of(times, {"compute.fill"}), HasSubstr("compute.fill: is not in the file"));
  EXPECT_THAT(refusal_of(times, {"compute.tiles.5"}), HasSubstr("compute.tiles.5: is not in"));
  EXPECT_THAT(refusal_of(times, {"compute.model"}),
              HasSubstr("m.yaml:7:10: error: compute.model: only a number"));
  EXPECT_THAT(refusal_of(times, {"compute.units", "compute.launch_overhead"}),
              HasSubstr("1 measurements cannot tell 2 constants"));
}

// Misra1a of NIST's Statistical Reference Datasets, y = b1 (1 - exp(-b2 x)), its second start;
// certified b1 = 238.94212918, b2 = 5.5015643181e-4.
TEST(LeastSquares, MeetsCertifiedValues) {
  const std::vector<double> y{10.07, 14.73, 17.94, 23.93, 29.61, 35.18, 40.02,
                              44.82, 50.76, 55.05, 61.01, 66.40, 75.47, 81.78};
  const std::vector<double> x{77.6,  114.9, 141.1, 190.8, 239.9, 289.0, 332.8,
                              378.4, 434.8, 477.3, 536.8, 593.1, 689.1, 760.0};
  // As logarithms, in which a step of the method is of order one.
  const LeastSquares found = fit(
      [&](const std::vector<double>& b) {
        std::vector<double> residuals;
        for (std::size_t i = 0; i < x.size(); ++i) {
          residuals.push_back(std::exp(b[0]) * (1 - std::exp(-std::exp(b[1]) * x[i])) - y[i]);
        }
        return residuals;
      },
      {std::log(250), std::log(5e-4)}, {{1e-6, 1e-6}, 200});
  EXPECT_NEAR(std::exp(found.unknowns[0]), 238.94212918, 1e-3);
  EXPECT_NEAR(std::exp(found.unknowns[1]), 5.5015643181e-4, 1e-8);
}

}  // namespace
}  // namespace tessera::explore::calibrate_test
