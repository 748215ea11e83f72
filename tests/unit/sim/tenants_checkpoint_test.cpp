// Tenants that go on from a checkpoint.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "files.hpp"
#include "tenants.hpp"
#include "tessera/sim/simulation.hpp"

namespace tessera::sim::tenants_checkpoint_test {
namespace {

using tenancy::collective;
using tenancy::Machine;
using tenancy::npu_keys;
using tenancy::operators;
using tenancy::run_it;
using tenancy::serving;
using tenancy::tenant;
using tenancy::together;
using tenancy::transformer;
using testing::Files;
using testing::read;

void expect_to_go_on_from_checkpoints(const Files& files) {
  const trace::Summary expected = run_it(files);
  const std::string folder = (std::filesystem::path(::testing::TempDir()) /
                              ::testing::UnitTest::GetInstance()->current_test_info()->name())
                                 .string();
  struct Stop {
    int ranks;  // that go on
    SimTime at;
  };
  for (const Stop& stop :
       {Stop{1, SimTime::from_ps(2'000'000)}, Stop{3, SimTime::from_ps(8'000'000)}}) {
    std::filesystem::remove_all(folder);
    const Experiment experiment = read(files);
    bool written = false;
    RunRequest request;
    request.folder = folder;
    request.checkpoints.simulated = stop.at;
    request.hooks.on_checkpoint = [&](bool begins) { written = written || begins; };
    request.hooks.stop_requested = [&] { return written; };
    comm::run_ranks_as_threads(1, [&](comm::Communicator& communicator) {
      EXPECT_EQ(run(experiment, communicator, request).status, "stopped");
    });
    comm::run_ranks_as_threads(stop.ranks, [&](comm::Communicator& communicator) {
      const trace::Summary summary =
          run(read_run_folder(folder, config::load_text_file), communicator, {folder, {}, true});
      EXPECT_EQ(summary.result_digest, expected.result_digest) << stop.ranks;
      EXPECT_EQ(summary.events, expected.events);
      for (std::size_t i = 0; i < expected.tenants.size(); ++i) {
        EXPECT_EQ(summary.tenants.at(i).end_ps, expected.tenants[i].end_ps);
      }
      for (std::size_t i = 0; i < expected.services.size(); ++i) {
        EXPECT_EQ(summary.services.at(i).latency.p95, expected.services[i].latency.p95);
      }
    });
  }
  std::filesystem::remove_all(folder);
}

TEST(TenantsFromCheckpoints, GoOnFromACheckpoint) {
  Machine machine;
  machine.dram = "edge, edges: [west]";
  machine.compute = npu_keys;
  expect_to_go_on_from_checkpoints(
      together(machine, {tenant("a", "0-7", transformer.lines),
                         tenant("b", "8-11", operators.lines + "start: 5 us\n"),
                         tenant("c", "12-15", collective.lines)}));
}

TEST(TenantsFromCheckpoints, GoOnServingFromACheckpoint) {
  Machine machine;
  machine.dram = "edge, edges: [west]";
  machine.compute = npu_keys;
  expect_to_go_on_from_checkpoints(together(
      machine,
      {tenant("a", "8-15", serving.lines + "start: 1 us\n"), tenant("b", "0-7", serving.lines)}));
}

}  // namespace
}  // namespace tessera::sim::tenants_checkpoint_test
