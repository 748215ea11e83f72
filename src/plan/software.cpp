#include "tessera/plan/software.hpp"

#include "tessera/config/key.hpp"
#include "tessera/config/members.hpp"

namespace tessera::plan {
namespace {

using config::ChoiceKey;
using config::Key;
using config::Member;

const ChoiceKey<SharedOutBy> sharding_key{
    "software.sharding",
    {{"plain", SharedOutBy::plain}, {"fsdp2", SharedOutBy::fsdp2}},
    Software{}.sharding,
    "memory model of what zero shards: plain: weights besides the optimizer's, gathered where "
    "they are used; fsdp2: in the buffers and units of PyTorch's fully_shard"};
const Key<bool> compiled{"software.compiled", false,
                         "memory model: layers are compiled and keep no result that no backward "
                         "pass reads"};
const ChoiceKey<bool> gathered_inputs{
    "software.gathered_inputs",
    {{"again", false}, {"kept", true}},
    "again",
    "with sequence_parallel: again: inputs are gathered again for gradients of weights "
    "(Megatron-LM); kept: they are kept gathered (PyTorch's DTensor)"};
const ChoiceKey<bool> narrow_inputs{
    "software.narrow_inputs",
    {{"as_they_come", false}, {"narrow", true}},
    "as_they_come",
    "memory model with a product_type: as_they_come: inputs of its products are kept unconverted "
    "(torchao); narrow: in the type in which they are multiplied (Transformer Engine)"};
const ChoiceKey<bool> boundary_buffers{
    "software.boundary_buffers",
    {{"passing", false}, {"all", true}},
    "passing",
    "memory model: all: a receive buffer for each micro-batch, and outputs kept until their "
    "backward pass, as in PyTorch's PipelineStage"};
const ChoiceKey<bool> kv_heads{
    "software.kv_heads",
    {{"once", false}, {"repeated", true}},
    "once",
    "memory model: keys and values that several heads share are kept and gathered once, or "
    "repeated for each head (torchtitan's repeat_kv)"};
const ChoiceKey<bool> context_sums{
    "software.context_sums",
    {{"whole", false}, {"passed", true}},
    "whole",
    "memory model with context and fused attention: whole: gradients of gathered keys and values "
    "are held whole until they are scattered; passed: sums of a part of them are passed around "
    "in fp32 (PyTorch's ring attention)"};
const ChoiceKey<bool> freed_blocks{
    "software.freed_blocks",
    {{"any", false}, {"fitting", true}},
    "any",
    "memory model: fitting: blocks freed by layers are too small to be reused for copies of "
    "logits (PyTorch's caching allocator)"};
const Key<bool> early_stop{
    "software.early_stop", false,
    "with recompute full: true: a layer is recomputed only as far as its backward pass needs "
    "(PyTorch's non-reentrant checkpoint, from 2.1 on); false: to its end"};
const ChoiceKey<HostWaits> host_waits{
    "software.host_waits",
    {{"passes", HostWaits::passes},
     {"layers", HostWaits::layers},
     {"profiles", HostWaits::profiles}},
    Software{}.host_waits,
    "with machine.compute.issue, when the host waits for the device: passes: at the start of an "
    "iteration and for data from other stages; layers: also before each layer of each pass, as "
    "when a framework times layers; profiles: as layers, but collectives of tensor groups follow "
    "their layer and are not issued, as when times of layers and of collectives are added up "
    "(those that overlap_tensor or async_tensor overlap with products stay there)"};

const config::Members software_keys{Member{sharding_key, &Software::sharding},
                                    Member{compiled, &Software::compiled},
                                    Member{gathered_inputs, &Software::keeps_gathered_inputs},
                                    Member{narrow_inputs, &Software::keeps_narrow_inputs},
                                    Member{boundary_buffers, &Software::buffers_all_micro_batches},
                                    Member{kv_heads, &Software::repeats_kv_heads},
                                    Member{context_sums, &Software::passes_context_sums},
                                    Member{freed_blocks, &Software::reuses_fitting_blocks_only},
                                    Member{early_stop, &Software::stops_early},
                                    Member{host_waits, &Software::host_waits}};

}  // namespace

std::vector<ParameterInfo> software_parameters() {
  return software_keys.parameters();
}

Software read_software(config::Section& strategy) {
  Software software;
  config::Section section = strategy.section("software");
  software_keys.read(section, software);
  section.finish();
  return software;
}

}  // namespace tessera::plan
