// Copies between units of served models and the memory of their hosts.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>

#include "files.hpp"
#include "run_on.hpp"
#include "stopped_runs.hpp"
#include "tessera/sim/simulation.hpp"

namespace tessera::sim::serving_copies_test {
namespace {

using testing::Files;
using testing::run_on;

constexpr std::uint64_t latency_ps = 10'000'000'000;
const std::string host = "  host: {bandwidth: 36864 GB/s, latency: 10 ms}\n";
const std::string remote =
    "  remote_memory: {kind: per-npu, bandwidth: 36864 GB/s, latency: 10 ms}\n";

// Copies an adapter, which takes 36 864 B, before its request is computed.
std::string tenant(const std::string& name, const std::string& npu) {
  return "    - name: " + name +
         "\n      language_model: {layers: 2, hidden: 64, heads: 4, sequence: 512, vocabulary: "
         "64}\n      npus: [" +
         npu +
         "]\n      adapters: {count: 3, rank: 8, loaded: 1}\n"
         "      requests: {arrivals: list, list: [{at: 0 us, prompt: 64, generate: 3, adapter: "
         "1}]}\n";
}

Files two_models(const std::string& memory, const std::string& second_npu) {
  return {{"lab/experiment.yaml",
           "name: copies\nmachine:\n"
           "  topology: {kind: mesh, rows: 1, columns: 4, bandwidth: 64 GB/s, latency: 10 ns}\n"
           "  tile: {peak: {fp16: 1 TFLOP/s}, operands: dram}\n"
           "  dram: {at: each, bandwidth: 64 GB/s, latency: 100 ns, capacity: 2 MB}\n"
           "  network: {model: analytical}\n  compute: {model: roofline}\n" +
               memory + "run: {trace: none}\nworkload:\n  kind: serving\n  tenants:\n" +
               tenant("a", "0") + tenant("b", second_npu)}};
}

// The first tokens of both in copies.
std::pair<std::uint64_t, std::uint64_t> copies_before(const std::string& memory,
                                                      const std::string& second_npu) {
  const trace::Summary summary = run_on(1, two_models(memory, second_npu));
  EXPECT_EQ(summary.status, "finished");
  return {summary.services.at(0).first_token.mean / latency_ps,
          summary.services.at(1).first_token.mean / latency_ps};
}

// They had gone over one link at one time, each with all of its bandwidth.
TEST(CopiesToHosts, OfOneLinkFollowEachOther) {
  using Both = std::pair<std::uint64_t, std::uint64_t>;
  EXPECT_EQ(copies_before(host, "0"), Both(1, 2));
  EXPECT_EQ(copies_before(host, "1"), Both(1, 1));
  EXPECT_EQ(copies_before(remote, "0"), Both(1, 1));  // no links
}

TEST(CopiesToHosts, AreTheSameOnRanksAndFromCheckpoints) {
  const Files files = two_models(host, "0");
  const std::string one = run_on(1, files).result_digest;
  EXPECT_EQ(run_on(3, files).result_digest, one);
  testing::expect_goes_on(testing::read(files), "tessera_copies");
}

}  // namespace
}  // namespace tessera::sim::serving_copies_test
