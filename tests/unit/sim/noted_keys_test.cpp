// Keys that are noted: what they say changes no result.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "files.hpp"
#include "run_on.hpp"
#include "tessera/sim/programs/replay.hpp"

namespace tessera::sim::noted_keys_test {
namespace {

using ::testing::Contains;
using ::testing::Each;
using testing::Files;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::read;
using testing::run_on;

using Settings = std::vector<std::string>;

std::string key_of(const std::string& setting) {
  return setting.substr(0, setting.find('='));
}

// With the setting the run has the note, without it none, and the results are the same.
void expect_unused(const Files& files, const std::string& setting, const std::string& with,
                   Settings more = {}) {
  const std::string note = key_of(setting) + " has no effect with " + with;
  const Experiment usual = read(files, more);
  EXPECT_THAT(usual.notes, Not(Contains(note)));
  more.push_back(setting);
  const Experiment set = read(files, more);
  EXPECT_THAT(set.notes, Contains(note));
  Files resolved = files;
  resolved["lab/experiment.yaml"] = set.resolved;
  EXPECT_EQ(read(resolved).notes, set.notes);
  EXPECT_EQ(run_on(1, set).result_digest, run_on(1, usual).result_digest) << setting;
}

// With the setting the run has no note of it, and another result.
void expect_used(const Files& files, const std::string& setting, Settings more = {}) {
  const Experiment usual = read(files, more);
  more.push_back(setting);
  const Experiment set = read(files, more);
  EXPECT_THAT(set.notes, Each(Not(HasSubstr(key_of(setting) + " has no effect"))));
  EXPECT_NE(run_on(1, set).result_digest, run_on(1, usual).result_digest) << setting;
}

// An all-reduce of eight accelerators in a server.
Files server(const std::string& network, const std::string& size = "800 MB") {
  return {{"lab/experiment.yaml",
           "machine:\n"
           "  topology: {kind: cluster, nodes: 1, accelerators: 8, nics: 8, switch: {bandwidth: "
           "400 GB/s, latency: 100 ns}, nic: {bandwidth: 60 GB/s, latency: 1 us}, port: "
           "{bandwidth: 50 GB/s, latency: 1 us}, fabric: {kind: switch}}\n"
           "  tile: {peak: {fp16: 1 TFLOP/s}, sram: 0 B}\n  dram: {at: none}\n"
           "  network: {model: packet, routing: cluster, " +
               network + "}\nworkload: {kind: collective, collective: all-reduce, size: " + size +
               "}\nrun: {trace: none}\n"}};
}

TEST(NotedKeys, StepsOfCollectivesThatSwitchesAddUp) {
  const std::string path = "execution.collectives.";
  const std::string with = "NVLS, which machine.network.library uses for all collectives";
  const Files by_switches = server("library: nccl, nvswitch_generation: 3");
  for (const char* const setting :
       {"endpoint_delay=1 us", "protocols=[{endpoint_delay: 1 us, data_share: 0.5}]",
        "local_memory=1 GB/s", "chunks=4", "order=themis"}) {
    expect_unused(by_switches, path + setting, with);
  }
  expect_unused(by_switches, path + "active_chunks=2", with, {path + "chunks=4"});
  // By a ring: without switches that add up, or with few bytes.
  for (const Files& by_ring :
       {server("library: nccl"), server("library: nccl, nvswitch_generation: 3", "1 kB")}) {
    expect_used(by_ring, path + "endpoint_delay=1 us");
    expect_used(by_ring, path + "local_memory=1 GB/s");
  }
}

TEST(NotedKeys, GenerationOfSwitchesThatNoLibraryLooksAt) {
  const std::string key = "machine.network.nvswitch_generation=3";
  expect_unused(server("message_overhead: 1 us"), key, "library: none");
  expect_used(server("library: nccl"), key);
}

// Layers of a language model on four tiles.
Files training(const std::string& compute, const std::string& strategy,
               const std::string& workload = "") {
  return {{"lab/experiment.yaml",
           "machine:\n"
           "  topology: {kind: mesh, rows: 1, columns: 4, bandwidth: 10 GB/s, latency: 1 ns}\n"
           "  tile: {peak: {fp16: 1 TFLOP/s}, operands: dram}\n"
           "  dram: {at: each, bandwidth: 1000 GB/s, latency: 1 ns}\n  network: {model: packet}\n"
           "  memory: {model: channel}\n  compute: {" +
               compute +
               "}\nworkload: {kind: transformer, layers: 4, hidden: 64, heads: 4, sequence: 64, "
               "vocabulary: 100, batch: 4, data_type: fp16" +
               workload + "}\nstrategy: {micro_batch: 1, " + strategy + "}\nrun: {trace: none}\n"}};
}
const std::string gemm =
    "model: gemm, units: 4, tiles: [16x16], vector_peak: 1000 TFLOP/s, collective_units: 1";

TEST(NotedKeys, AccessesOfCollectivesThatGoMessageByMessage) {
  for (const std::string setting : {"collective_accesses=16", "persistent_products=true"}) {
    const std::string key = "machine.compute." + setting;
    expect_unused(training(gemm, "data: 4, zero: 3"), key,
                  "plans whose collectives all go message by message (strategy.aggregation: none)");
    expect_used(training(gemm, "data: 4, zero: 3, aggregation: stage"), key);
  }
}

TEST(NotedKeys, KeysOfFusedAttentionWithoutSuch) {
  const std::string with = "work without fused (flash) attention";
  const std::string fused = gemm + ", attention_efficiency: 50 %";
  for (const std::string setting : {"attention_fill=100", "attention_launch_overhead=1 us",
                                    "attention_memory_efficiency=0.1 %"}) {
    const std::string key = "machine.compute." + setting;
    expect_unused(training(fused, "tensor: 4", ", attention: plain"), key, with);
    expect_used(training(fused, "tensor: 4", ", attention: flash"), key);
  }
  const Settings rows{"machine.compute.attention_rows=64"};
  expect_unused(training(fused, "tensor: 4", ", attention: plain"), rows[0], with);
  expect_unused(training(fused, "tensor: 4", ", attention: plain"),
                "machine.compute.attention_skip=10", with, rows);
}

TEST(NotedKeys, HostsThatAreWaitedForWithoutSuch) {
  for (const std::string waits : {"layers", "profiles"}) {
    const std::string key = "strategy.software.host_waits=" + waits;
    const Files plan = training(gemm, "tensor: 4");
    expect_unused(plan, key, "a machine without hosts (machine.compute.issue)");
    expect_unused(plan, key, "a machine without hosts (machine.compute.issue)",
                  {"execution.collectives.communicators=flat"});
    expect_used(plan, key, {"machine.compute.issue=1 us"});
  }
}

TEST(NotedKeys, RatesOfSramThatHoldsNoOperands) {
  const std::string key = "machine.tile.sram_bandwidth=1 GB/s";
  const std::string with =
      "operands in memory (tile.operands: dram, or machine.compute.operands: memory)";
  expect_unused(training(gemm, "tensor: 4"), key, with);
  expect_used(training(gemm, "tensor: 4"), key, {"machine.tile.operands=sram"});
  const std::string cores =
      "model: npu, array: [8, 8], vector_width: 16, scratchpad: 64 KiB, accumulator: 16 KiB";
  const Settings in_sram{"machine.tile.operands=sram", "machine.tile.sram=0 B"};
  expect_unused(training(cores, "tensor: 4"), key, with, in_sram);
  expect_used(training(cores + ", operands: sram", "tensor: 4"), key, in_sram);
}

TEST(NotedKeys, QueuesOfBanksWithoutSuch) {
  const std::string key = "machine.memory.bank_queue=1";
  const Settings dram{"machine.memory={model: dram}"};
  const Files plan = training(gemm, "data: 4, zero: 3");
  expect_unused(plan, key, "scheduler: oldest-ready", dram);
  EXPECT_THAT(read(plan, {dram[0], key, "machine.memory.scheduler=bank-queues"}).notes,
              Each(Not(HasSubstr("bank_queue has no effect"))));
}

TEST(NotedKeys, EvenPartsOfDevicesWithBanks) {
  const Files plan = training(gemm, "data: 4, zero: 3");
  const std::string dram = "machine.memory={model: dram, arbitration: ";
  const auto says = [&](const std::string& more) {
    const auto notes = read(plan, {dram + more + "}"}).notes;
    return std::ranges::any_of(notes, [](const std::string& note) {
      return note.starts_with("machine.memory: a device accepts bursts");
    });
  };
  EXPECT_TRUE(says("fair-tenants"));
  EXPECT_TRUE(says("fair, port: 1 TB/s"));
  EXPECT_FALSE(says("first-come"));
  EXPECT_FALSE(says("fair, port: 1 TB/s, scheduler: bank-queues"));
}

TEST(NotedKeys, RequestsThatNoChannelIsSent) {
  const std::string key = "machine.memory.request=1 MB";
  const std::string with = "a channel at every tile (dram.at: each)";
  const Files plan = training(gemm, "data: 4, zero: 3");
  const auto streaming = [](const std::string& setting) {
    return Settings{"machine.tile.operands=sram", "machine.tile.sram=100 kB", "machine." + setting};
  };
  for (const std::string model : {"packet", "analytical", "flow", "crossbar", "flit"}) {
    expect_unused(plan, key, with, streaming("network={model: " + model + "}"));
  }
  expect_unused(plan, key, with, streaming("memory={model: dram}"));
  expect_used(plan, key, streaming("network={model: flit, loopback: true}"));
  expect_used(plan, key, streaming("memory={model: dram, spread: all}"));
  expect_used(plan, key,
              streaming("dram={at: nodes, nodes: [0], bandwidth: 1000 GB/s, latency: 1 ns}"));
}

// One that computes.
Files vertex(const std::string& keys) {
  Files files = training("model: roofline", "");
  std::string& text = files.at("lab/experiment.yaml");
  text.replace(text.find("workload:"), std::string::npos,
               "workload: {kind: graph, vertices: [{name: work, start: true, flops: 1 MFLOP, " +
                   keys + "}]}\nrun: {trace: none}\n");
  return files;
}

TEST(NotedKeys, RemoteMemoryThatNothingAccesses) {
  const std::string key = "machine.remote_memory={kind: per-npu, bandwidth: 1 GB/s, latency: 1 us}";
  const std::string with = "work that accesses no remote memory";
  expect_unused(training(gemm, "tensor: 4"), key, with);
  const auto graph = [](const std::string& more) { return vertex("bytes: 1 kB" + more); };
  expect_unused(graph(""), key, with);
  const Experiment far = read(graph(", remote: 1 kB"), {key});
  EXPECT_THAT(far.notes, Each(Not(HasSubstr("remote_memory has no effect"))));
}

TEST(NotedKeys, ComputingOfGraphsThatComputeNothing) {
  const std::string nothing = "work that computes nothing";
  const Files files = server("message_overhead: 1 us", "1 MB");
  expect_unused(files, "machine.compute={" + gemm + "}", nothing);
  expect_unused(files, "machine.power.compute=100", nothing);
  expect_unused(files, "machine.power.memory=10", "work that accesses no memory");
  expect_unused(files, "execution.data_type=fp32", "graphs that compute nothing");
  expect_unused(files, "machine.memory={model: channel, burst: 1 KiB}",
                "work that accesses no memory");
  const Experiment computing = read(vertex("bytes: 1 kB"), {"machine.power.compute=100"});
  EXPECT_THAT(computing.notes, Each(Not(HasSubstr(nothing))));
}

TEST(NotedKeys, TypesOfGraphsThatStateThem) {
  const Settings both{"machine.tile.peak={fp16: 100 TFLOP/s, fp32: 10 TFLOP/s}"};
  expect_used(vertex("bytes: 1 kB"), "execution.data_type=fp32", both);
  Settings as_graphs = both;
  as_graphs.emplace_back("execution.window=64");
  expect_unused(training(gemm, "tensor: 4"), "execution.data_type=fp32",
                "graphs that state the type of all that they compute", as_graphs);
}

TEST(NotedKeys, TicksThatLeaveOutAPercentOfMessagesTimes) {
  const Files files = training("model: roofline", "tensor: 4");
  const auto notes_of = [&](int ranks, const std::string& tick) {
    const Experiment experiment =
        read(files, {"machine.network={model: analytical, message_tick: " + tick + "}"});
    return run_on(ranks, experiment).notes;
  };
  const std::string note =
      "times of messages on links were truncated to a multiple of "
      "machine.network.message_tick: by ";
  const auto coarse = notes_of(1, "1 us");
  EXPECT_THAT(coarse, Contains(HasSubstr(note)));
  EXPECT_EQ(notes_of(2, "1 us"), coarse);
  EXPECT_THAT(notes_of(1, "1 ns"), Each(Not(HasSubstr("message_tick"))));
}

TEST(NotedKeys, CoherentAccessToNoRemoteMemory) {
  const std::string key = "workload.access=coherent";
  expect_unused(vertex("bytes: 1 kB"), key, "vertices that access no remote memory");
  expect_used(vertex("bytes: 1 kB, remote: 1 kB"), key,
              {"machine.remote_memory={kind: per-npu, bandwidth: 1 GB/s, latency: 1 us}"});
}

// Of tiles that send messages and do nothing else.
TEST(NotedKeys, RatesAndPowerOfTilesThatOnlySend) {
  Files files = training("model: roofline", "");
  std::string& text = files.at("lab/experiment.yaml");
  text.replace(text.find("workload:"), std::string::npos,
               "workload: {kind: traffic, pattern: uniform, rate: 0.1, cycles: 100}\n"
               "run: {trace: none}\n");
  const std::string with = "synthetic traffic, whose tiles only send";
  for (const std::string setting :
       {"tile.efficiency=50 %", "tile.sram=1 MB", "tile.sram_bandwidth=1 GB/s", "power.compute=100",
        "power.memory=100"}) {
    expect_unused(files, "machine." + setting, with);
  }
  EXPECT_THAT(read(files, {"machine.power={idle: 100, link: 10}"}).notes,
              Each(Not(HasSubstr("machine.power"))));
  const Settings types{
      "machine.types={fast: {nodes: [1], peak: {fp16: 2 TFLOP/s}}, small: {nodes: [2]}}"};
  expect_unused(files, "machine.types.fast.sram=1 MB", with, types);
  expect_unused(files, "machine.types.small.efficiency=50 %", with, types);
  expect_unused(files, "machine.tile.sram=1 MB", with, types);
}

TEST(NotedKeys, RatesOfSramOfTypesThatStateThem) {
  const std::string with =
      "operands in memory (tile.operands: dram, or machine.compute.operands: memory)";
  Files files = training("model: roofline", "pipeline: 2, tensor: 2, placement: {layout: linear}");
  std::string& text = files.at("lab/experiment.yaml");
  const std::string tile = "  tile: {peak: {fp16: 1 TFLOP/s}, operands: dram}\n";
  text.replace(text.find(tile), tile.size(),
               "  types:\n    fast: {nodes: [0, 1], peak: {fp16: 1 TFLOP/s}, operands: dram}\n"
               "    slow: {nodes: [2, 3], peak: {fp16: 1 TFLOP/s}, operands: dram}\n");
  for (const std::string type : {"fast", "slow"}) {
    expect_unused(files, "machine.types." + type + ".sram_bandwidth=1 GB/s", with);
  }
  const Settings both{"machine.types.fast.sram_bandwidth=1 GB/s"};
  expect_unused(files, "machine.types.slow.sram_bandwidth=1 GB/s", with, both);
  expect_used(files, "machine.types.fast.sram_bandwidth=1 MB/s",
              {"machine.types.fast.operands=sram"});
}

TEST(NotedKeys, SramOfTypesWhoseCoresLoadOperands) {
  Files files = training(
      "model: npu, array: [8, 8], vector_width: 16, scratchpad: 64 KiB, accumulator: 16 KiB",
      "tensor: 4");
  std::string& text = files.at("lab/experiment.yaml");
  const std::string tile = "  tile: {peak: {fp16: 1 TFLOP/s}, operands: dram}\n";
  text.replace(text.find(tile), tile.size(),
               "  types:\n    fast: {nodes: [0, 1], peak: {fp16: 1 TFLOP/s}}\n"
               "    slow: {nodes: [2, 3], peak: {fp16: 1 TFLOP/s}}\n");
  for (const std::string type : {"fast", "slow"}) {
    expect_unused(files, "machine.types." + type + ".sram=1 MB",
                  "cores that load operands themselves (machine.compute.operands: memory)");
  }
}

TEST(NotedKeys, IterationsThatAllTenantsState) {
  const auto tenants = [](const std::string& iterations) {
    Files files = training("model: roofline", "");
    std::string& text = files.at("lab/experiment.yaml");
    const std::string layers =
        ", workload: {kind: transformer, layers: 1, hidden: 32, heads: 2, sequence: 16, "
        "vocabulary: 50, batch: 2}, strategy: {tensor: 2}}";
    text.replace(text.find("workload:"), std::string::npos,
                 "workload:\n  kind: tenants\n  tenants:\n"
                 "    - {name: a, tiles: [0, 1], iterations: 2" +
                     layers + "\n    - {name: b, tiles: [2, 3]" + iterations + layers +
                     "\nrun: {trace: none}\n");
    return files;
  };
  const std::string key = "run.iterations=3";
  expect_unused(tenants(", iterations: 4"), key,
                "tenants that state their own, or whose work is done once");
  expect_used(tenants(""), key);
}

TEST(NotedKeys, ReplayOfTooFewMicroBatches) {
  const Experiment none = read(training("model: roofline", "pipeline: 4"));
  Experiment exact = read(training("model: roofline", "pipeline: 4"), {"run.replay=exact"});
  const auto communicator = comm::make_in_process();
  const trace::Summary all = run_with_replay(exact, *communicator, {});
  EXPECT_THAT(all.notes, Contains("run.replay has no effect: all 4 micro-batches of an iteration "
                                  "were simulated, as there are too few to find that they repeat"));
  EXPECT_EQ(all.result_digest, run_on(1, none).result_digest);
  Experiment many =
      read(training("model: roofline", "pipeline: 4"), {"run.replay=exact", "workload.batch=64"});
  EXPECT_THAT(run_with_replay(many, *communicator, {}).notes,
              Each(Not(HasSubstr("run.replay has no effect"))));
}

TEST(NotedKeys, FrameworksOfWorkThatIsNoPlan) {
  const std::string key = "machine.framework={context: 1 kB}";
  expect_unused(server("message_overhead: 1 us"), key, "work that is no plan (strategy)");
  for (const Settings& settings : {Settings{}, Settings{"execution={}"}}) {
    Settings given = settings;
    given.push_back(key);
    EXPECT_THAT(read(training(gemm, "tensor: 4"), given).notes,
                Each(Not(HasSubstr("framework has no effect"))));
  }
}

// Notes of a run with the setting, whose results are those of one without.
Settings notes_of_run(const Files& files, const std::string& setting, Settings more = {}) {
  const trace::Summary usual = run_on(1, read(files, more));
  more.push_back(setting);
  const trace::Summary set = run_on(1, read(files, more));
  EXPECT_EQ(set.result_digest, usual.result_digest) << setting;
  return set.notes;
}

TEST(NotedKeys, WhatCollectivesTakeInPlansWithoutSuch) {
  const std::string alone = " no effect on a plan without collectives";
  const Files pipeline = training("model: roofline", "data: 4", ", mode: inference");
  for (const std::string key :
       {"collective_overhead=5 us", "collective_member_overhead=5 us", "collective_fill=1 MB/s"}) {
    const std::string setting = "machine.network." + key;
    EXPECT_THAT(notes_of_run(pipeline, setting),
                Contains("overheads of collectives (machine.network) have" + alone));
    EXPECT_THAT(run_on(1, read(training("model: roofline", "data: 4"), {setting})).notes,
                Each(Not(HasSubstr(alone))));
  }
  EXPECT_THAT(notes_of_run(pipeline, "strategy.collectives.data=line"),
              Contains("strategy.collectives.data has" + alone + " of data groups"));
  EXPECT_THAT(
      run_on(1, read(training("model: roofline", "data: 4"), {"strategy.collectives.data=line"}))
          .notes,
      Each(Not(HasSubstr("collectives.data has no effect"))));
  // A line differs from a ring in all-reduces alone, and a relay in all-to-alls.
  const auto as_ring = [](const std::string& name) {
    return "strategy.collectives.data has no effect: " + name +
           " is as ring for the collectives of data groups here";
  };
  for (const std::string name : {"line", "ring-relay"}) {
    EXPECT_THAT(notes_of_run(training("model: roofline", "data: 4, zero: 1"),
                             "strategy.collectives.data=" + name),
                Contains(as_ring(name)));
  }
  EXPECT_THAT(
      notes_of_run(training("model: roofline", "data: 4"), "strategy.collectives.data=ring-relay"),
      Contains(as_ring("ring-relay")));
}

TEST(NotedKeys, PacketsOfTilesThatStandForOthers) {
  const std::string said = "have no more than machine.network.max_packets packets";
  const auto notes = [](const std::string& aggregation, const std::string& switching) {
    return run_on(1, read(training("model: roofline",
                                   "data: 2, tensor: 2, aggregation: " + aggregation),
                          {"machine.network={model: packet, switching: " + switching + "}"}))
        .notes;
  };
  EXPECT_THAT(notes("tensor", "store-and-forward"), Contains(HasSubstr(said)));
  EXPECT_THAT(notes("tensor", "cut-through"), Each(Not(HasSubstr(said))));
  EXPECT_THAT(notes("none", "store-and-forward"), Each(Not(HasSubstr(said))));
}

TEST(NotedKeys, KeysOfGemmWithoutCollectivesBesideOperations) {
  const std::string with = "plans without collectives beside operations";
  const Files waits = training("model: gemm, units: 4, tiles: [16x16], vector_peak: 1000 TFLOP/s",
                               "tensor: 4, aggregation: stage");
  expect_unused(waits, "machine.compute.collective_units=1", with);
  const Settings units{"machine.compute.collective_units=1"};
  expect_unused(waits, "machine.compute.collective_accesses=16", with, units);
  expect_unused(waits, "machine.compute.persistent_products=true", with, units);
}

}  // namespace
}  // namespace tessera::sim::noted_keys_test
