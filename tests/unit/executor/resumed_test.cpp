// Programs that go on from a checkpoint do what they did before, on any number of ranks.

#include <gtest/gtest.h>

#include <string>

#include "../plan/planning.hpp"
#include "goes_on.hpp"
#include "harness.hpp"

namespace tessera::executor::resumed_test {
namespace {

using plan::testing::machine_text;
using plan::testing::planned;
using plan::testing::Planned;
using testing::Cut;
using testing::execute;
using testing::expect_goes_on;

void expect_plan_goes_on(const Planned& work, const std::string& what,
                         const std::string& models = "") {
  expect_goes_on(
      [&](int ranks, Cut* kept, const Cut* from) {
        return execute(work.machine, work.plan, models, 2, ranks, kept, from);
      },
      what);
}

TEST(ResumedPrograms, OfPlans) {
  const std::string dram = "at: each, bandwidth: 10 GB/s, latency: 10 ns";
  for (const std::string strategy :
       {"pipeline: 2\ntensor: 2\ndata: 4\noverlap_gradients: true\nzero: 1\n",
        "pipeline: 2\ntensor: 4\nboundary: scattered\nrecompute: full\n",
        "pipeline: 4\nchunks: 2\nschedule: zb-v\ndata: 2\nzero: 3\n",
        "pipeline: 4\nchunks: 2\ndata: 2\nschedule: dualpipe\nzero: 1\n",
        "pipeline: 2\ndata: 8\nzero: 3\nprefetch: none\naggregation: stage\n"}) {
    expect_plan_goes_on(planned(strategy, machine_text("sram: 200 kB", dram)), strategy);
  }
}

TEST(ResumedPrograms, WithEveryModelOfANetwork) {
  const Planned work = planned("pipeline: 2\ntensor: 2\ndata: 2\noverlap_gradients: true\n",
                               machine_text("sram: 0 B"));
  for (const std::string network : {"analytical", "flow", "packet"}) {
    expect_plan_goes_on(work, network, "network: {model: " + network + "}");
  }
}

// Activations that wait in the host's memory, some on their way.
TEST(ResumedPrograms, WithActivationsOnTheHost) {
  const Planned work =
      planned("offload: {layers: 8}\n", machine_text("sram: 0 B") + "host: {bandwidth: 1 GB/s}\n",
              "kind: layers\ninput: [32, 64]\nbatch: 4\ndata_type: fp16\nlayers:\n"
              "  - {name: l, repeat: 8, operators: [{kind: linear, outputs: 64, then: [relu]}]}\n");
  expect_plan_goes_on(work, "offload");
}

}  // namespace
}  // namespace tessera::executor::resumed_test
