// Values of strategies that have no effect are said, and no others.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "planning.hpp"

namespace tessera::plan::without_effect_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::machine_text;
using ::testing::StartsWith;
using testing::workload_text;
using Lines = std::vector<std::string>;

Lines notes_of(const std::string& strategy, const std::string& workload = workload_text()) {
  config::Diagnostics diagnostics;
  config::Section machine_section(config::parse("m.yaml", machine_text(), diagnostics), "",
                                  diagnostics);
  config::Section workload_section(config::parse("w.yaml", workload, diagnostics), "", diagnostics);
  config::Section section(config::parse("s.yaml", strategy, diagnostics), "strategy", diagnostics);
  const auto machine = machine::read_machine(machine_section);
  const auto work = workload::read_workload(workload_section);
  diagnostics.throw_if_any();
  read_strategy(section, *work, *machine->topology);
  section.finish();
  diagnostics.throw_if_any();
  return diagnostics.notes();
}

TEST(WithoutEffect, OfKernelsThatWorkDoesNotHave) {
  const std::string none =
      "kind: transformer\nlayers: 2\nhidden: 64\nsequence: 16\nvocabulary: 100\nbatch: 8\n";
  const std::string model = none + "heads: 4\n";
  EXPECT_THAT(notes_of("", model + "join_gradients: true\nbias_gradients: apart\n"
                                   "layout_copies: context\n"),
              IsEmpty());
  EXPECT_THAT(notes_of("", none + "join_gradients: true\npattern: [ssm-alone]\n"
                                  "ssm: {state: 16, head_width: 32}\n"),
              ElementsAre("join_gradients has no effect with layers without attention"));
  EXPECT_THAT(notes_of("", model + "biases: false\nbias_gradients: apart\nattention: flash\n"
                                   "layout_copies: context\n"),
              ElementsAre("bias_gradients has no effect with biases: false",
                          "layout_copies has no effect with attention: flash"));
}

TEST(WithoutEffect, OfLayersThatNoChunkHas) {
  const auto note_of = [](const std::string& strategy) {
    const testing::Planned work = testing::planned(strategy);
    return note_of_offload(work.workload, work.plan);
  };
  EXPECT_EQ(note_of("pipeline: 1\n"), "");
  EXPECT_EQ(note_of("pipeline: 1\noffload: {layers: 1}\n"), "");
  EXPECT_THAT(note_of("pipeline: 1\noffload: {layers: 100}\n"),
              StartsWith("strategy.offload.layers is 100, but no chunk has more than "));
}

TEST(WithoutEffect, OfResultsKeptInLayersThatHaveNone) {
  const std::string none =
      "kind: layers\ninput: [32, 64]\nbatch: 16\ndata_type: fp16\nlayers:\n"
      "  - {name: l, repeat: 4, operators: [{kind: linear, outputs: 64, then: [relu]}]}\n";
  const auto note_of = [](const testing::Planned& work) {
    return note_of_recomputation(work.workload, work.plan.strategy);
  };
  EXPECT_EQ(note_of(testing::planned("recompute: alternate\n")), "");
  EXPECT_EQ(note_of(testing::planned("", machine_text(), none)), "");
  EXPECT_THAT(note_of(testing::planned("recompute: alternate\n", machine_text(), none)),
              ::testing::HasSubstr("everything is recomputed, as with full"));
}

TEST(WithoutEffect, OfLayersGatheredAhead) {
  EXPECT_THAT(notes_of("data: 2\nzero: 2\nprefetch_layers: 2\n"),
              ElementsAre("strategy.prefetch_layers has no effect with less than zero: 3"));
  EXPECT_THAT(notes_of("data: 2\nzero: 3\nprefetch: none\nprefetch_layers: 2\n"),
              ElementsAre("strategy.prefetch_layers has no effect with prefetch: none"));
  EXPECT_THAT(notes_of("data: 2\nzero: 3\nprefetch_layers: 2\n"), IsEmpty());
}

TEST(WithoutEffect, OfTypesOfWhatIsNotSent) {
  const std::string wires =
      "wires: {dispatch: fp8, combine: fp8, weights: fp8, gradients: fp8, tensor_gathers: fp8, "
      "tensor_sums: fp8}\n";
  EXPECT_THAT(notes_of(wires),
              ElementsAre("strategy.wires.dispatch has no effect with expert: 1",
                          "strategy.wires.combine has no effect with expert: 1",
                          "strategy.wires.weights has no effect with zero: 0",
                          "strategy.wires.gradients has no effect with data: 1",
                          "strategy.wires.tensor_gathers has no effect with tensor: 1",
                          "strategy.wires.tensor_sums has no effect with tensor: 1"));
  EXPECT_THAT(notes_of("tensor: 2\ndata: 2\nexpert: 2\nzero: 1\nsequence_parallel: true\n" + wires,
                       workload_text() + "experts: {count: 4, top_k: 1}\n"),
              IsEmpty());
  EXPECT_THAT(notes_of("tensor: 2\nwires: {tensor_gathers: fp8}\n"),
              ElementsAre("strategy.wires.tensor_gathers has no effect with sequence_parallel: "
                          "false"));
  EXPECT_THAT(notes_of("data: 2\nzero: 3\nwires: {weights: fp8, gradients: fp8}\n",
                       workload_text() + "mode: inference\n"),
              ElementsAre("strategy.wires.gradients has no effect with inference"));
}

TEST(WithoutEffect, OfTypesOfStateAndScales) {
  EXPECT_THAT(notes_of("", workload_text() + "moment_type: bf16\nmaster_type: bf16\n"), IsEmpty());
  EXPECT_THAT(notes_of("",
                       "kind: transformer\nlayers: 2\nhidden: 64\nheads: 4\nsequence: 16\n"
                       "vocabulary: 100\nbatch: 16\noptimizer: sgd\nmoment_type: bf16\n"),
              ElementsAre("moment_type has no effect with optimizer: sgd"));
  EXPECT_THAT(notes_of("", workload_text() + "mode: inference\nmoment_type: bf16\n"
                                             "master_type: bf16\n"),
              ElementsAre("master_type has no effect with inference",
                          "moment_type has no effect with inference"));
  EXPECT_THAT(notes_of("", workload_text() + "mode: inference\nupdate: eager\n"
                                             "gradient_type: fp32\n"),
              ElementsAre("update has no effect with inference",
                          "gradient_type has no effect with inference"));
  EXPECT_THAT(notes_of("",
                       "kind: transformer\nlayers: 2\nhidden: 64\nheads: 4\nsequence: 16\n"
                       "vocabulary: 100\nbatch: 16\noptimizer: sgd\nmode: inference\n"),
              ElementsAre("optimizer has no effect with inference"));
  EXPECT_THAT(notes_of("", workload_text() + "product_group_size: 128\n"),
              ElementsAre("product_group_size has no effect with products in the workload's "
                          "data_type"));
}

TEST(WithoutEffect, OfGroupsOfOne) {
  EXPECT_THAT(notes_of("sequence_parallel: true\noverlap_tensor: true\nasync_tensor: true\n"),
              ElementsAre("strategy.sequence_parallel has no effect with tensor: 1",
                          "strategy.overlap_tensor has no effect with tensor: 1",
                          "strategy.async_tensor has no effect with tensor: 1"));
  EXPECT_THAT(notes_of("zero: 1\noverlap_gradients: true\n"),
              ElementsAre("strategy.zero has no effect with data: 1",
                          "strategy.overlap_gradients has no effect with data: 1"));
  EXPECT_THAT(notes_of("tensor: 2\nboundary: scattered\n"),
              ElementsAre("strategy.boundary has no effect with pipeline: 1"));
  EXPECT_THAT(notes_of("tensor: 2\nasync_tensor: true\n"),
              ElementsAre("strategy.async_tensor has no effect with sequence_parallel: false"));
}

TEST(WithoutEffect, OfBoundariesThatAreNotCut) {
  for (const std::string boundary : {"scattered", "broadcast", "reduced"}) {
    EXPECT_THAT(notes_of("pipeline: 2\nboundary: " + boundary + "\n"),
                ElementsAre("strategy.boundary has no effect with tensor: 1"));
    EXPECT_THAT(notes_of("pipeline: 2\ntensor: 2\nboundary: " + boundary + "\n"), IsEmpty());
  }
  EXPECT_THAT(notes_of("pipeline: 2\ntensor: 2\nsequence_parallel: true\nboundary: scattered\n"),
              ElementsAre("strategy.boundary has no effect with sequence_parallel: true"));
}

TEST(WithoutEffect, OfSelectiveRecomputationOfNothing) {
  const std::string selective = "recompute: selective\n";
  const std::string flash = workload_text() + "attention: flash\n";
  EXPECT_THAT(notes_of(selective), IsEmpty());
  EXPECT_THAT(notes_of(selective, flash),
              ElementsAre("strategy.recompute has no effect with layers in which selective "
                          "recomputes nothing, such as those with flash attention"));
  EXPECT_THAT(notes_of("recompute: full\n", flash), IsEmpty());
}

TEST(WithoutEffect, OfAlgorithmsOfGroupsOfOne) {
  const std::string both = "collectives: {tensor: halving-doubling, data: halving-doubling}\n";
  EXPECT_THAT(notes_of(both),
              ElementsAre("strategy.collectives.tensor has no effect with tensor: 1",
                          "strategy.collectives.data has no effect with data: 1"));
  EXPECT_THAT(notes_of("tensor: 2\n" + both),
              ElementsAre("strategy.collectives.data has no effect with data: 1"));
  EXPECT_THAT(notes_of("pipeline: 2\n" + both),  // tied embeddings
              ElementsAre("strategy.collectives.tensor has no effect with tensor: 1"));
  EXPECT_THAT(notes_of("data: 2\ntensor: 2\n" + both), IsEmpty());
  EXPECT_THAT(notes_of("context: 2\n" + both), IsEmpty());
}

TEST(WithoutEffect, OfAnOffloadOfNoLayers) {
  EXPECT_THAT(notes_of("offload: {fraction: 0.5}\n"),
              ElementsAre("strategy.offload.fraction has no effect with layers: 0"));
  EXPECT_THAT(notes_of("offload: {fraction: 0.5, layers: 1}\n"), IsEmpty());
  EXPECT_THAT(notes_of("offload: {fraction: 0, layers: 1}\n"),
              ElementsAre("strategy.offload.layers has no effect with fraction: 0"));
}

TEST(WithoutEffect, OfExpertsThatAreNotThere) {
  EXPECT_THAT(notes_of("data: 4\nexpert: 2\n"),
              ElementsAre("strategy.expert has no effect with work without experts"));
  EXPECT_THAT(notes_of("data: 4\nexpert: 2\n", workload_text() + "experts: {count: 4, top_k: 1}\n"),
              IsEmpty());
}

TEST(WithoutEffect, OfSharingOut) {
  EXPECT_THAT(notes_of("data: 4\nzero: 2\nprefetch: none\ngather: operator\n"),
              ElementsAre("strategy.prefetch has no effect with less than zero: 3",
                          "strategy.gather has no effect with less than zero: 3"));
  EXPECT_THAT(
      notes_of("data: 4\nzero: 3\nshard_members: across\n"),
      ElementsAre(
          "strategy.shard_members has no effect with a single group of all replicas (shard)"));
  EXPECT_THAT(notes_of("data: 4\nzero: 3\nshard: 2\nshard_members: across\nprefetch: none\n"
                       "gather: operator\noverlap_gradients: true\n"),
              IsEmpty());
  EXPECT_THAT(notes_of("data: 4\nzero: 1\ngradient_copies: 2\n"),
              ElementsAre("strategy.gradient_copies has no effect with less than zero: 2"));
  EXPECT_THAT(notes_of("zero: 3\ngradient_copies: 2\n"),
              ElementsAre("strategy.zero has no effect with data: 1",
                          "strategy.gradient_copies has no effect with data: 1"));
  EXPECT_THAT(notes_of("data: 2\nshard: 1\nzero: 3\ngradient_copies: 2\n"),
              ElementsAre("strategy.gradient_copies has no effect with shard: 1",
                          "strategy.zero has no effect with shard: 1"));
  EXPECT_THAT(notes_of("data: 4\nzero: 3\ngather: operator\nkeep_apart: true\n"),
              ElementsAre("strategy.keep_apart has no effect with keep_below: 0"));
}

TEST(WithoutEffect, OfReuseWithoutRecomputation) {
  const std::string reuse = "gather: operator\nreuse_distance: 5\n";
  EXPECT_THAT(notes_of("data: 4\nzero: 3\n" + reuse),
              ElementsAre("strategy.reuse_distance has no effect with recompute: none"));
  EXPECT_THAT(notes_of("data: 4\nzero: 2\nrecompute: full\n" + reuse),
              ElementsAre("strategy.gather has no effect with less than zero: 3",
                          "strategy.reuse_distance has no effect with less than zero: 3"));
  EXPECT_THAT(notes_of("data: 4\nzero: 3\nrecompute: full\n" + reuse), IsEmpty());
}

TEST(WithoutEffect, OfUnitsThatShareOutNothing) {
  const std::string sharding = "software: {sharding: fsdp2}\n";
  EXPECT_THAT(notes_of("data: 2\n" + sharding),
              ElementsAre("strategy.software.sharding has no effect with zero: 0"));
  EXPECT_THAT(notes_of("zero: 3\n" + sharding),
              ElementsAre("strategy.zero has no effect with data: 1",
                          "strategy.software.sharding has no effect with data: 1"));
  EXPECT_THAT(notes_of("data: 2\nshard: 1\nzero: 3\n" + sharding),
              ElementsAre("strategy.zero has no effect with shard: 1",
                          "strategy.software.sharding has no effect with shard: 1"));
}

TEST(WithoutEffect, OfLayoutsThatAreNotChosen) {
  EXPECT_THAT(
      notes_of("placement: {layout: line, band: 2, replica_order: columns, seed: 3, moves: 5, "
               "start: linear}\n"),
      ElementsAre("strategy.placement.band has no effect with line",
                  "strategy.placement.replica_order has no effect with line",
                  "strategy.placement.seed has no effect with line",
                  "strategy.placement.moves has no effect with line",
                  "strategy.placement.start has no effect with line"));
  for (const std::string layout : {"linear", "replicas"}) {
    const std::string with = " has no effect with " + layout;
    EXPECT_THAT(
        notes_of("tensor: 4\nplacement: {layout: " + layout +
                 ", group: [2, 2], tensor_group: [1, 4], tensor_members: far}\n"),
        ElementsAre("strategy.placement.group" + with, "strategy.placement.tensor_group" + with,
                    "strategy.placement.tensor_members" + with));
  }
  EXPECT_THAT(notes_of("placement: {layout: optimized, seed: 3, moves: 5, start: linear}\n"),
              IsEmpty());
}

TEST(WithoutEffect, OfFarMembersThatLieAsNearOnes) {
  const auto note = ElementsAre(
      "strategy.placement.tensor_members has no effect with stages in which near and far members "
      "are the same tiles");
  const auto far = [](const std::string& layout) {
    return "placement: {layout: " + layout + ", tensor_members: far}\n";
  };
  for (const std::string layout : {"line", "s-shape", "optimized"}) {
    EXPECT_THAT(notes_of("data: 4\n" + far(layout)), note);
    EXPECT_THAT(notes_of("tensor: 4\n" + far(layout)), note);
  }
  // Of 2 x 4 tiles.
  const std::string eight = "tensor: 4\ndata: 2\n";
  EXPECT_THAT(notes_of(eight + far("line, group: [2, 4], tensor_group: [1, 4]")), note);
  EXPECT_THAT(notes_of(eight + far("line, group: [2, 4], tensor_group: [2, 2]")), IsEmpty());
}

TEST(WithoutEffect, OfShardingsBehindOthersThatMatchTheSame) {
  EXPECT_THAT(notes_of("tensor: 2\nsharding: {'*': {rows: 2}, qkv: {columns: 2}}\n"),
              ElementsAre("strategy.sharding.qkv has no effect: earlier patterns match all "
                          "operators that it matches"));
  EXPECT_THAT(notes_of("tensor: 2\nsharding: {qkv: {columns: 2}, '*': {rows: 2}}\n"), IsEmpty());
  EXPECT_THAT(notes_of("tensor: 2\nsharding: {'layer 1/*': {rows: 2}, qkv: {columns: 2}}\n"),
              IsEmpty());
}

TEST(WithoutEffect, OfTrainingAlone) {
  const std::string inference =
      "kind: transformer\nlayers: 6\nhidden: 64\nheads: 4\nsequence: 32\nvocabulary: 100\n"
      "batch: 16\ndata_type: fp16\nmode: inference\n";
  EXPECT_THAT(notes_of("tensor: 2\ndata: 2\nrecompute: full\noverlap_gradients: true\n"
                       "overlap_tensor: true\n",
                       inference),
              ElementsAre("strategy.recompute has no effect with inference",
                          "strategy.overlap_gradients has no effect with inference",
                          "strategy.overlap_tensor has no effect with inference"));
  EXPECT_THAT(notes_of("pipeline: 2\nsoftware: {sharding: fsdp2, compiled: true, "
                       "narrow_inputs: narrow, boundary_buffers: all, freed_blocks: fitting, "
                       "context_sums: passed}\n"
                       "data: 2\nzero: 3\n",
                       inference),
              ElementsAre("strategy.software.compiled has no effect with inference",
                          "strategy.software.narrow_inputs has no effect with inference",
                          "strategy.software.boundary_buffers has no effect with inference",
                          "strategy.software.context_sums has no effect with inference",
                          "strategy.software.freed_blocks has no effect with inference"));
  EXPECT_THAT(notes_of("tensor: 2\nsequence_parallel: true\nsoftware: {gathered_inputs: kept}\n",
                       inference),
              ElementsAre("strategy.software.gathered_inputs has no effect with inference"));
}

TEST(WithoutEffect, OfKeysAndValuesThatAreNotSharedOrGathered) {
  const std::string software = "software: {kv_heads: repeated, context_sums: passed}\n";
  EXPECT_THAT(notes_of(software),
              ElementsAre("strategy.software.kv_heads has no effect with equal numbers of "
                          "key-value heads and query heads",
                          "strategy.software.context_sums has no effect with context: 1"));
  const std::string shared = workload_text() + "kv_heads: 2\n";
  EXPECT_THAT(notes_of("context: 2\n" + software, shared),
              ElementsAre("strategy.software.context_sums has no effect with attention by single "
                          "operations"));
  EXPECT_THAT(notes_of("context: 2\n" + software, shared + "attention: flash\n"), IsEmpty());
}

TEST(WithoutEffect, InferenceSharesOutWeightsAlone) {
  const std::string inference = workload_text() + "mode: inference\n";
  const std::string why =
      "strategy.zero has no effect with inference, which shards only weights (zero: 3)";
  EXPECT_THAT(notes_of("data: 2\nzero: 1\n", inference), ElementsAre(why));
  EXPECT_THAT(notes_of("data: 2\nzero: 2\ngradient_copies: 2\n", inference),
              ElementsAre(why, "strategy.gradient_copies has no effect with inference"));
  EXPECT_THAT(notes_of("data: 2\nzero: 3\nprefetch: forward\n", inference),
              ElementsAre("strategy.prefetch has no effect with inference"));
  EXPECT_THAT(
      notes_of("data: 4\nzero: 1\nshard: 2\n", inference),
      ElementsAre(why, "strategy.shard has no effect with zero: 1 and zero: 2 of inference"));
  const std::string by_operator =
      "data: 2\nzero: 3\ngather: operator\nkeep_below: 9\nkeep_apart: true\nreuse_distance: 9\n"
      "list_copies: 2\n";
  EXPECT_THAT(notes_of(by_operator, inference),
              ElementsAre("strategy.keep_apart has no effect with inference",
                          "strategy.reuse_distance has no effect with inference"));
  EXPECT_THAT(notes_of(by_operator + "recompute: full\n"), IsEmpty());
  EXPECT_THAT(notes_of("data: 2\nzero: 3\ngather: operator\n", inference), IsEmpty());
  EXPECT_THAT(notes_of("data: 2\nzero: 3\nprefetch: none\n", inference), IsEmpty());
  EXPECT_THAT(notes_of("zero: 1\n", inference),
              ElementsAre("strategy.zero has no effect with data: 1"));
  // Units have buffers.
  EXPECT_THAT(notes_of("data: 2\nzero: 1\nsoftware: {sharding: fsdp2}\n", inference), IsEmpty());
}

TEST(WithoutEffect, StoppingEarlyIsOfFullRecomputation) {
  EXPECT_THAT(
      notes_of("recompute: selective\nsoftware: {early_stop: true}\n"),
      ElementsAre("strategy.software.early_stop has no effect with any recompute but full"));
  const std::string early = "recompute: full\nsoftware: {early_stop: true}\n";
  EXPECT_THAT(notes_of(early), ElementsAre("strategy.software.early_stop has no effect with layers "
                                           "that backward passes need in full"));
  EXPECT_THAT(notes_of(early, testing::workload_text() + "dropout: false\n"), IsEmpty());
}

// What resolved configurations state for every key says nothing.
TEST(WithoutEffect, DefaultsAreNotSaid) {
  EXPECT_THAT(notes_of("sequence_parallel: false\nzero: 0\nprefetch: both\ngather: layer\n"
                       "shard_members: near\nexpert: 1\nrecompute: none\nboundary: full\n"),
              IsEmpty());
}

}  // namespace
}  // namespace tessera::plan::without_effect_test
