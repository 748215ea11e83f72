// Programs of stages: what they compute, send and touch in memory over a whole schedule.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "planning.hpp"
#include "program_builder.hpp"
#include "tessera/plan/sharder.hpp"

namespace tessera::plan::program_test {
namespace {

using ::testing::HasSubstr;
using testing::machine_text;
using testing::planned;
using testing::Planned;

void for_each_instruction(const Program& program,
                          const std::function<void(Phase, const Instruction&)>& visit) {
  for (const ScheduleEntry& entry : program.schedule) {
    for (const Instruction& instruction : program.instructions(entry)) {
      visit(entry.pass.phase, instruction);
    }
  }
}

std::uint64_t flops_of(const Plan& plan, const Instruction& instruction) {
  return instruction.action == Action::execute
             ? plan.operations[instruction.operation].flops.count()
             : 0;
}

// The instructions of the first pass of this kind.
const std::vector<Instruction>& code_of(const Program& program, Phase phase) {
  const auto entry =
      std::find_if(program.schedule.begin(), program.schedule.end(),
                   [&](const ScheduleEntry& candidate) { return candidate.pass.phase == phase; });
  return program.instructions(*entry);
}

std::uint64_t count(const std::vector<Instruction>& code, Action action, Group group) {
  std::uint64_t found = 0;
  for (const Instruction& instruction : code) {
    found += instruction.action == action && instruction.group == group ? 1 : 0;
  }
  return found;
}

std::string degrees(int pipeline, int tensor, int data, const std::string& more = "") {
  return "pipeline: " + std::to_string(pipeline) + "\ntensor: " + std::to_string(tensor) +
         "\ndata: " + std::to_string(data) + "\n" + more;
}

// A norm and a sum of as many FLOPs and bytes reach other shares of a device, and sequences of
// different lengths take other times. They had been taken for one operation.
TEST(OperationTable, KeepsApartWhatTakesAnotherTime) {
  workload::Operation norm;
  norm.flops = Flops(100);
  norm.bytes = Bytes(64);
  norm.kernel = workload::Kernel::norm;
  workload::Operation sum = norm;
  sum.kernel = workload::Kernel::sum;
  workload::Operation sequences = norm;
  sequences.attention = workload::AttentionSizes();
  OperationTable table;
  EXPECT_EQ(table(norm), 0U);
  EXPECT_EQ(table(sum), 1U);
  EXPECT_EQ(table(sequences), 2U);
  EXPECT_EQ(table(norm), 0U);
  const std::vector<workload::Operation> kept = table.take();
  ASSERT_EQ(kept.size(), 3U);
  EXPECT_EQ(kept[1], sum);
}

// Forward a table is looked up; backward its gradients are added up, by another kernel.
TEST(Program, LooksUpForwardAlone) {
  const Planned work = planned(degrees(1, 1, 1));
  std::size_t lookups = 0;
  for_each_instruction(
      work.plan.stages.front().program, [&](Phase phase, const Instruction& instruction) {
        const bool computes = instruction.action == Action::execute;
        if (computes &&
            work.plan.operations[instruction.operation].kernel == workload::Kernel::lookup) {
          EXPECT_EQ(phase, Phase::forward) << work.plan.names[instruction.name];
          ++lookups;
        }
      });
  EXPECT_GT(lookups, 0U);
}

// Without tensor parallelism nothing is done twice: FLOPs of all tiles are the workload's.
TEST(Program, ComputesWhatTheWorkloadAsksFor) {
  for (const std::string& strategy :
       {degrees(1, 1, 1), degrees(4, 1, 1), degrees(4, 1, 4, "micro_batch: 2\n"),
        degrees(8, 1, 2, "schedule: gpipe\n")}) {
    const Planned work = planned(strategy);
    std::uint64_t flops = 0;
    for (const Stage& stage : work.plan.stages) {
      for_each_instruction(stage.program, [&](Phase, const Instruction& instruction) {
        flops += flops_of(work.plan, instruction) * work.plan.strategy.degrees.data;
      });
    }
    EXPECT_EQ(flops, work.workload.samples * work.workload.flops_per_sample().count()) << strategy;
  }
}

// Cut operators add up to the whole, replicated ones are done by every shard.
TEST(Program, TensorShardsShareTheCutOperators) {
  constexpr std::uint64_t tensor = 4;
  const Planned work = planned(degrees(2, tensor, 2));
  std::uint64_t expected = 0;
  std::uint64_t operators = 0;
  for (const workload::Layer& layer : work.workload.layers) {
    for (const workload::Operator& op : layer.operators) {
      const std::uint64_t times = op.sharding == workload::Sharding::replicated ? tensor : 1;
      expected += (op.forward_flops.count() + op.backward_flops.count()) * times;
      ++operators;
    }
  }
  expected *= work.workload.samples;
  std::uint64_t flops = 0;
  for (const Stage& stage : work.plan.stages) {
    for_each_instruction(stage.program, [&](Phase, const Instruction& instruction) {
      flops += flops_of(work.plan, instruction) * tensor * 2;
    });
  }
  EXPECT_GE(flops, expected);
  // Rounded up once for each operator, pass, micro-batch and replica.
  EXPECT_LE(flops, expected + operators * 2 * work.workload.samples * tensor);
}

// One sample of 32 tokens, an MLP of width 256: a pass forward reads and writes its 32 * 256
// elements of two bytes, one backward reads the output's gradient and the input and writes the
// input's. The gradient of 64 * 256 weights and 256 biases is read again and added to the sum in
// fp16.
TEST(Program, MovesWhatAnOperatorReadsAndWrites) {
  const Planned work = planned("pipeline: 8\n");
  const Stage& stage = work.plan.stages[3];
  const auto operation = [&](Phase phase, const std::string& name) {
    for (const Instruction& instruction : code_of(stage.program, phase)) {
      if (instruction.action == Action::execute &&
          work.plan.names[instruction.name] == "layer 2/" + name) {
        return work.plan.operations[instruction.operation];
      }
    }
    ADD_FAILURE() << name << " is not there";
    return workload::Operation();
  };
  ASSERT_EQ(work.workload.layers[stage.chunks[0].first].name, "layer 2");
  constexpr std::uint64_t elements = 32 * 256;
  EXPECT_EQ(operation(Phase::forward, "gelu").bytes, Bytes(2 * 2 * elements));
  EXPECT_EQ(operation(Phase::backward, "gelu").bytes, Bytes(3 * 2 * elements));
  EXPECT_EQ(operation(Phase::backward, "mlp_up weights").added, Bytes((64 * 256 + 256) * 3 * 2));
  EXPECT_EQ(operation(Phase::backward, "mlp_up").added, Bytes(0));
}

// Two forward (attention, MLP) and two backward a transformer layer (Shoeybi et al., Fig. 4).
TEST(Program, AllReducesTwiceALayerAndPass) {
  for (const bool recompute : {false, true}) {
    const Planned work = planned(degrees(8, 4, 1, recompute ? "recompute: full\n" : ""));
    std::size_t checked = 0;
    for (const Stage& stage : work.plan.stages) {
      const LayerRange layers = stage.chunks[0];
      if (layers.end - layers.first != 1 || layers.first == 0 ||
          layers.end == work.workload.layers.size()) {
        continue;
      }
      const Program& program = stage.program;
      EXPECT_EQ(count(code_of(program, Phase::forward), Action::collective, Group::tensor), 2U);
      EXPECT_EQ(count(code_of(program, Phase::backward), Action::collective, Group::tensor),
                recompute ? 4U : 2U);
      ++checked;
    }
    EXPECT_EQ(checked, 6U);
  }
}

// What lies behind the last result that a backward pass needs is not made again: the product of 64
// by 256 and its all-reduce. With dropout the last sum keeps a mask, and all is made again.
TEST(Program, RecomputationMayStopBeforeTheLastProduct) {
  const auto made = [](const std::string& software, const std::string& dropout) {
    const Planned work = planned(degrees(1, 4, 1, "recompute: full\n" + software), machine_text(),
                                 testing::workload_text() + "dropout: " + dropout + "\n");
    const Plan& plan = work.plan;
    std::uint64_t flops = 0;
    std::uint64_t sums = 0;
    for_each_instruction(plan.stages[0].program, [&](Phase phase, const Instruction& instruction) {
      if (phase == Phase::backward) {
        flops += flops_of(plan, instruction);
        sums += instruction.action == Action::collective && instruction.group == Group::tensor;
      }
    });
    return std::pair{flops, sums};
  };
  const std::string early = "software: {early_stop: true}\n";
  const auto [whole, all_sums] = made("", "false");
  const auto [part, sums] = made(early, "false");
  constexpr std::uint64_t product = 2 * 32 * 256 * 64 / 4;  // of a sample and a shard
  const std::uint64_t passes = 16 * 6;                      // samples and layers
  EXPECT_GE(whole - part, product * passes);
  EXPECT_LT(whole - part, product * passes * 11 / 10);  // and the sum behind it
  EXPECT_EQ(all_sums - sums, passes);
  EXPECT_EQ(made(early, "true"), made("", "true"));
}

// Passes had waited for sums that a tensor group of one does not have.
TEST(Program, TensorGroupsOfOneHaveNothingToOverlap) {
  const auto waits = [](int tensor) {
    const Planned work = planned(degrees(1, tensor, 1, "overlap_tensor: true\n"));
    std::size_t found = 0;
    for_each_instruction(work.plan.stages[0].program, [&](Phase, const Instruction& instruction) {
      found += instruction.action == Action::wait_collectives;
    });
    return found;
  };
  EXPECT_EQ(waits(1), 0U);
  EXPECT_GT(waits(2), 0U);
}

// Where layers and collectives were timed apart, sums of tensor groups follow their layer.
TEST(Program, SumsOfTensorGroupsFollowProfiledLayers) {
  const auto look = [](const std::string& software) {
    const Planned work = planned(degrees(1, 4, 1, "recompute: full\n" + software));
    std::size_t sums = 0;
    std::size_t inside = 0;  // between operations of one layer and pass
    bool open = false;
    for_each_instruction(work.plan.stages[0].program, [&](Phase, const Instruction& instruction) {
      if (instruction.action == Action::collective && instruction.traffic == Traffic::tensor) {
        ++sums;
        open = true;
      } else if (instruction.action == Action::execute) {
        inside += open && instruction.host_waits == HostWait::no ? 1 : 0;
        open = false;
      }
    });
    return std::pair(sums, inside);
  };
  const auto [sums, inside] = look("software: {host_waits: layers}\n");
  const auto [sums_behind, inside_behind] = look("software: {host_waits: profiles}\n");
  EXPECT_GT(inside, 0U);
  EXPECT_EQ(sums_behind, sums);
  EXPECT_LE(inside_behind, 1U);  // before the optimizer, which no layer is
}

TEST(Program, HostsMayWaitBeforeEachLayer) {
  const auto waits = [](const std::string& software) {
    const Planned work = planned(degrees(1, 4, 1, "recompute: full\n" + software));
    std::array<std::size_t, phases> count{};
    for_each_instruction(work.plan.stages[0].program,
                         [&](Phase phase, const Instruction& instruction) {
                           const bool does = instruction.host_waits != HostWait::no;
                           EXPECT_TRUE(!does || instruction.action == Action::execute);
                           count.at(static_cast<std::size_t>(phase)) += does ? 1 : 0;
                         });
    return count;
  };
  EXPECT_THAT(waits(""), ::testing::Each(0U));
  const auto count = waits("software: {host_waits: layers}\n");
  constexpr std::size_t layers = 8;  // with embedding and head
  constexpr std::size_t samples = 16;
  EXPECT_EQ(count[static_cast<std::size_t>(Phase::forward)], layers * samples);
  EXPECT_EQ(count[static_cast<std::size_t>(Phase::backward)], layers * samples);
  EXPECT_EQ(count[static_cast<std::size_t>(Phase::update)], 0U);
  // A weight-gradient pass that ends with a layer without weights leaves nothing to the optimizer.
  const Planned split = planned(
      degrees(2, 1, 1, "schedule: zb-h1\nsoftware: {host_waits: layers}\n"), machine_text(),
      "kind: layers\nbatch: 4\ninput: [8, 16]\nlayers:\n"
      "  - {kind: gelu}\n  - {kind: linear, outputs: 16}\n  - {kind: linear, outputs: 16}\n");
  for (const Stage& stage : split.plan.stages) {
    for_each_instruction(stage.program, [&](Phase phase, const Instruction& instruction) {
      EXPECT_FALSE(phase == Phase::update && instruction.host_waits != HostWait::no);
    });
  }
}

std::vector<std::uint64_t> messages(const Program& program, Action action, Peer peer,
                                    Traffic traffic) {
  std::vector<std::uint64_t> bytes;
  for_each_instruction(program, [&](Phase, const Instruction& instruction) {
    if (instruction.action == action && instruction.peer == peer &&
        instruction.traffic == traffic) {
      bytes.push_back(instruction.bytes);
    }
  });
  return bytes;
}

TEST(Program, NeighbouringStagesSendWhatTheOtherReceives) {
  for (const std::string schedule : {"gpipe", "1f1b"}) {
    for (const std::string boundary : {"full", "scattered"}) {
      const Planned work =
          planned(degrees(5, 4, 1, "schedule: " + schedule + "\nboundary: " + boundary + "\n"));
      const std::uint64_t whole = 32 * 64 * 2;  // sequence * hidden * 2 B
      for (std::size_t stage = 0; stage + 1 < work.plan.stages.size(); ++stage) {
        const Program& here = work.plan.stages[stage].program;
        const Program& next = work.plan.stages[stage + 1].program;
        const auto forward = messages(here, Action::send, Peer::next_stage, Traffic::activation);
        EXPECT_EQ(forward, std::vector<std::uint64_t>(16, boundary == "full" ? whole : whole / 4));
        EXPECT_EQ(forward,
                  messages(next, Action::receive, Peer::previous_stage, Traffic::activation));
        EXPECT_EQ(messages(here, Action::receive, Peer::next_stage, Traffic::gradient),
                  messages(next, Action::send, Peer::previous_stage, Traffic::gradient));
        EXPECT_EQ(messages(here, Action::receive, Peer::next_stage, Traffic::gradient), forward);
      }
      EXPECT_TRUE(messages(work.plan.stages.front().program, Action::receive, Peer::previous_stage,
                           Traffic::activation)
                      .empty());
      EXPECT_TRUE(messages(work.plan.stages.back().program, Action::send, Peer::next_stage,
                           Traffic::activation)
                      .empty());
    }
  }
}

// A slot in use is waited for before it is used again, and nothing is under way at the end.
void expect_slots_waited_for(const Plan& plan, const std::string& what) {
  for (const Stage& stage : plan.stages) {
    std::uint64_t used = 0;
    std::uint64_t accesses = 0;
    for (int iteration = 0; iteration < 2; ++iteration) {
      for_each_instruction(stage.program, [&](Phase, const Instruction& instruction) {
        if (instruction.action == Action::wait_access) {
          used &= ~instruction.bytes;
        } else if (instruction.action == Action::read || instruction.action == Action::write) {
          ASSERT_LT(instruction.slot, 32) << what;
          const std::uint64_t bit = std::uint64_t{1} << instruction.slot;
          ASSERT_EQ(used & bit, 0U) << what << ", " << plan.names[instruction.name];
          used |= bit;
          ++accesses;
        }
      });
      EXPECT_EQ(used, 0U) << what;
    }
    EXPECT_EQ(accesses > 0, !stage.memory.holds_weights || !stage.memory.holds_activations);
  }
}

TEST(Program, WaitsForASlotBeforeUsingItAgain) {
  const std::string dram = "at: each, bandwidth: 10 GB/s, latency: 10 ns";
  for (const std::string sram : {"0 B", "1 B", "100 kB", "300 kB", "1 GB"}) {
    for (const std::string more :
         {"", "recompute: full\n", "zero: 1\n", "schedule: gpipe\noverlap_gradients: true\n"}) {
      for (const auto& [p, t, d] :
           {std::array{1, 1, 1}, {2, 4, 2}, {8, 1, 2}, {3, 2, 4}, {5, 4, 1}}) {
        expect_slots_waited_for(
            planned(degrees(p, t, d, more), machine_text("sram: " + sram, dram)).plan,
            sram + " " + more);
      }
    }
  }
}

TEST(Program, ReducesGradientsOnceAnIterationAndInTheSameBytes) {
  const auto reduced = [](const std::string& more, Action action) {
    const Planned work = planned(degrees(2, 1, 4, more));
    std::uint64_t bytes = 0;
    for_each_instruction(work.plan.stages[0].program, [&](Phase, const Instruction& instruction) {
      if (instruction.action == action && instruction.group == Group::data &&
          instruction.collective != collective::Kind::all_gather) {
        bytes += instruction.bytes;
      }
    });
    EXPECT_EQ(bytes, work.plan.stages[0].memory.gradients.count()) << more;
    return bytes;
  };
  const std::uint64_t bytes = reduced("", Action::collective);
  EXPECT_EQ(reduced("overlap_gradients: true\n", Action::start_collective), bytes);
  EXPECT_EQ(reduced("zero: 1\n", Action::collective), bytes);
}

// Bytes of weights, by phase: read from DRAM, and gathered from the replicas.
struct WeightTraffic {
  std::array<std::uint64_t, phases> read{};
  std::array<std::uint64_t, phases> gathered{};
};

WeightTraffic weight_traffic(const std::string& schedule, const std::string& zero) {
  const Planned work =
      planned(degrees(4, 1, 2, "schedule: " + schedule + "\nzero: " + zero + "\n"),
              machine_text("sram: 1 B", "at: each, bandwidth: 10 GB/s, latency: 10 ns"));
  WeightTraffic traffic;
  for_each_instruction(work.plan.stages[1].program, [&](Phase phase, const Instruction& code) {
    const auto number = static_cast<std::size_t>(phase);
    if (code.action == Action::read && work.plan.names[code.name] == "read weights") {
      traffic.read[number] += code.bytes;
    } else if (code.action == Action::start_collective &&
               code.collective == collective::Kind::all_gather) {
      traffic.gathered[number] += code.bytes;
    }
  });
  return traffic;
}

// The gradient of a weight follows from its input and the gradient of its output: zb-h1 moves the
// weights as often as 1f1b, with the gradients of inputs.
TEST(Program, GradientsOfWeightsNeedNoWeights) {
  constexpr auto backward = static_cast<std::size_t>(Phase::backward);
  constexpr auto inputs = static_cast<std::size_t>(Phase::input_gradient);
  constexpr auto weights = static_cast<std::size_t>(Phase::weight_gradient);
  for (const std::string zero : {"0", "3"}) {
    const WeightTraffic together = weight_traffic("1f1b", zero);
    const WeightTraffic apart = weight_traffic("zb-h1", zero);
    EXPECT_GT(together.read[backward], 0U);
    EXPECT_EQ(apart.read[inputs], together.read[backward]);
    EXPECT_EQ(apart.read[weights], 0U);
    EXPECT_EQ(together.gathered[backward] > 0, zero == "3");
    EXPECT_EQ(apart.gathered[inputs], together.gathered[backward]);
    EXPECT_EQ(apart.gathered[weights], 0U);
  }
}

// A head tied to the embedding reads the embedding's weights, wherever they are held.
TEST(Program, ATiedHeadReadsItsWeightsOnAnyNumberOfStages) {
  const std::string dram = "at: each, bandwidth: 10 GB/s, latency: 10 ns";
  const auto traffic_of_head = [&](int pipeline, bool held) {
    const Planned work =
        planned(degrees(pipeline, 1, 1), machine_text(held ? "sram: 1 GB" : "sram: 1 B", dram));
    const Plan& plan = work.plan;
    std::uint64_t sram = 0;
    std::uint64_t read = 0;
    for (const Instruction& instruction : code_of(plan.stages.back().program, Phase::forward)) {
      if (instruction.action == Action::read) {
        read = instruction.bytes;  // the last one is the head's
      } else if (instruction.action == Action::execute &&
                 plan.names[instruction.name].rfind("head/", 0) == 0) {
        sram += plan.operations[instruction.operation].bytes.count();
      }
    }
    return std::pair(sram, read);
  };
  const std::uint64_t weights = 100 * 64 * 2;  // vocabulary * hidden * 2 B
  EXPECT_GE(traffic_of_head(8, true).first, weights);
  EXPECT_EQ(traffic_of_head(1, true), traffic_of_head(8, true));
  EXPECT_GE(traffic_of_head(8, false).second, weights);
  EXPECT_EQ(traffic_of_head(1, false), traffic_of_head(8, false));
}

// A head that shares the embedding's weights has gradients to add up all the same.
TEST(Plan, GradientsOfATiedHeadAreAddedUp) {
  const auto added = [](const char* tied) {
    const Planned work =
        planned("", machine_text(), testing::workload_text() + "tie_embeddings: " + tied + "\n");
    const Sharder sharder(work.workload, work.plan.strategy);
    const auto& operators = work.workload.layers.back().operators;
    const auto head = std::find_if(operators.begin(), operators.end(),
                                   [](const auto& op) { return op.is_matrix_product(); });
    return sharder.weight_gradient(*head).added;
  };
  EXPECT_GE(added("false"), Bytes(100 * 64 * (2 + 2 * 2)));
  EXPECT_EQ(added("true"), added("false"));
}

std::string complaint_of(const std::string& strategy) {
  try {
    planned(strategy);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(Plan, SaysWhereThereAreNoPartialSums) {
  const std::string reduced = degrees(2, 2, 1, "boundary: reduced\n");
  const auto objection = [&](const std::string& more, const std::string& strategy) {
    try {
      planned(strategy, machine_text(), testing::workload_text() + more);
    } catch (const ConfigError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(objection("", reduced), "");
  EXPECT_THAT(objection("normalise: after\n", reduced),
              HasSubstr("partial sums where stage 0 ends, but 'layer 2/ln2' makes it whole"));
  EXPECT_THAT(objection("architecture: encoder-decoder\n", reduced),
              HasSubstr("makes but a part of it"));
  EXPECT_THAT(objection("", reduced + "sharding: {mlp_down: {rows: 2}}\n"),
              HasSubstr("'sharding' cuts 'layer 2/mlp_down'"));
}

TEST(Plan, SaysWhatCannotBe) {
  EXPECT_THAT(complaint_of(degrees(9, 1, 1)), HasSubstr("more stages (9) than layers"));
  EXPECT_THAT(complaint_of(degrees(8, 4, 2)), HasSubstr("tiles, but the machine has 32"));
  EXPECT_THAT(complaint_of(degrees(1, 1, 3)), HasSubstr("not a multiple of data * micro_batch"));
  EXPECT_THAT(complaint_of("schedule: 1f1c\n"), HasSubstr("did you mean '1f1b'"));
  EXPECT_THAT(complaint_of("placement: {group: [1]}\n"), HasSubstr("[rows, columns]"));
  EXPECT_THAT(complaint_of("pipelin: 3\n"), HasSubstr("did you mean 'pipeline'"));
}

}  // namespace
}  // namespace tessera::plan::program_test
