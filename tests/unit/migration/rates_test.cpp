// Rates of a source that no whole number of ours holds are refused, and none is written that wraps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tessera/core/error.hpp"
#include "tessera/migration/format.hpp"

namespace tessera::migration::rates_test {
namespace {

using ::testing::HasSubstr;

// What a configuration of ONNXim with these keys is refused with; "" for none.
std::string refusal_with(const std::string& keys) {
  const std::string text =
      R"({"num_cores": 8, "core_type": "systolic_ws", "spad_size": 64, "accum_spad_size": 16,
 "vector_process_bit": 65536, "add_latency": 1, "mul_latency": 1, "exp_latency": 1,
 "gelu_latency": 1, "add_tree_latency": 1, "scalar_sqrt_latency": 1, "scalar_mul_latency": 1,
 "div_latency": 1, "dram_type": "simple", "dram_latency": 10, "icnt_type": "simple",
 "precision": 2, )" +
      keys + "}";
  config::Diagnostics diagnostics;
  const config::Value given = config::parse("--with", "{}", diagnostics);
  Request request{"npu.json",
                  config::Section(given, "", diagnostics),
                  [&](const std::string&) { return text; },
                  "imported.yaml",
                  "imported",
                  "",
                  diagnostics};
  try {
    migrate("onnxim", request);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(Rates, OfAnArrayInterconnectOrMemoryBeyondWholeNumbersAreRefused) {
  EXPECT_EQ(refusal_with(R"("core_width": 16384, "core_height": 16384, "core_freq": 1000,
 "icnt_freq": 1000, "dram_freq": 1000, "dram_channels": 16)"),
            "");
  EXPECT_THAT(refusal_with(R"("core_width": 16384, "core_height": 16384, "core_freq": 1000000,
 "icnt_freq": 1000, "dram_freq": 1000, "dram_channels": 16)"),
              HasSubstr("core_freq: an array of this size does more than 2^63 FLOP/s"));
  EXPECT_THAT(refusal_with(R"("core_width": 8, "core_height": 8, "core_freq": 1000,
 "icnt_freq": 1000000, "icnt_injection_ports_per_core": 1024, "dram_req_size": 4096,
 "dram_freq": 1000, "dram_channels": 16)"),
              HasSubstr("icnt_freq: all cores together have more than 2^63 B/s"));
  EXPECT_THAT(refusal_with(R"("core_width": 8, "core_height": 8, "core_freq": 1000,
 "icnt_freq": 1, "dram_req_size": 4096, "dram_freq": 1000000, "dram_channels": 4096)"),
              HasSubstr("dram_freq: all channels together have more than 2^63 B/s"));
}

}  // namespace
}  // namespace tessera::migration::rates_test
