// Runs that are stopped at a checkpoint and go on.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <string>

#include "run_on.hpp"
#include "tessera/comm/communicator.hpp"
#include "tessera/sim/simulation.hpp"

namespace tessera::sim::testing {

// Stops at the first checkpoint, a quarter into the run, and goes on over three ranks: what comes
// out is what the uninterrupted run gives. `name` is of a folder for temporary files.
inline void expect_goes_on(const Experiment& whole, const std::string& name) {
  const auto communicator = comm::make_in_process();
  const trace::Summary expected = run(whole, *communicator, {});
  const std::string folder = ::testing::TempDir() + "/" + name;
  std::filesystem::remove_all(folder);
  RunRequest request;
  request.folder = folder;
  request.checkpoints.simulated = SimTime::from_ps(expected.simulated_time_ps / 4);
  std::atomic<bool> written{false};
  request.hooks.on_checkpoint = [&](bool begins) { written = written || !begins; };
  request.hooks.stop_requested = [&] { return written.load(); };
  EXPECT_EQ(run(whole, *communicator, request).status, "stopped");

  RunRequest rest;
  rest.folder = folder;
  rest.resume = true;
  const Experiment again = read_run_folder(folder, config::load_text_file);
  comm::run_ranks_as_threads(3, [&](comm::Communicator& own) {
    const trace::Summary summary = run(again, own, rest);
    EXPECT_EQ(summary.status, "finished");
    EXPECT_EQ(summary.result_digest, expected.result_digest);
    EXPECT_EQ(summary.simulated_time_ps, expected.simulated_time_ps);
  });
  std::filesystem::remove_all(folder);
}

// The same from one, two and three eighths of the run, on as many ranks; `compare` also looks at
// what came out and what was expected.
inline void expect_goes_on_from_eighths(
    const Experiment& whole, const std::string& name,
    const std::function<void(const trace::Summary&, const trace::Summary&)>& compare = {}) {
  const trace::Summary expected = run_on(1, whole);
  const std::string folder = ::testing::TempDir() + "/" + name;
  for (int part = 1; part <= 3; ++part) {
    std::filesystem::remove_all(folder);
    bool written = false;
    RunRequest request;
    request.folder = folder;
    request.checkpoints.simulated = SimTime::from_ps(expected.simulated_time_ps * part / 8);
    request.hooks.on_checkpoint = [&](bool begins) { written = written || begins; };
    request.hooks.stop_requested = [&] { return written; };
    ASSERT_EQ(run_on(1, whole, request).status, "stopped");
    const trace::Summary summary =
        run_on(part, read_run_folder(folder, config::load_text_file), {folder, {}, true});
    EXPECT_EQ(summary.result_digest, expected.result_digest) << part;
    EXPECT_EQ(summary.events, expected.events);
    if (compare) {
      compare(summary, expected);
    }
  }
  std::filesystem::remove_all(folder);
}

}  // namespace tessera::sim::testing
