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
    "of memory, how what zero shares out is held: plain: weights beside the optimizer's, gathered "
    "where they are used; fsdp2: as PyTorch's fully_shard, in buffers and units of its own"};
const Key<bool> compiled{"software.compiled", false,
                         "of memory: layers are compiled, and keep no result that no backward "
                         "pass reads"};
const ChoiceKey<bool> gathered_inputs{
    "software.gathered_inputs",
    {{"again", false}, {"kept", true}},
    "again",
    "with sequence_parallel: inputs are gathered again for gradients of weights (Megatron-LM), or "
    "kept gathered (PyTorch's DTensor)"};
const ChoiceKey<bool> narrow_inputs{
    "software.narrow_inputs",
    {{"as_they_come", false}, {"narrow", true}},
    "as_they_come",
    "of memory, with a product_type: inputs of its products are kept as they come (torchao), or "
    "narrow, as they are multiplied (Transformer Engine)"};
const ChoiceKey<bool> boundary_buffers{
    "software.boundary_buffers",
    {{"passing", false}, {"all", true}},
    "passing",
    "of memory: all: as PyTorch's PipelineStage, a buffer for what comes from other stages in each "
    "micro-batch, and outputs stay until their backward pass"};
const ChoiceKey<bool> kv_heads{
    "software.kv_heads",
    {{"once", false}, {"repeated", true}},
    "once",
    "of memory: keys and values that several heads share are kept and gathered once, or repeated "
    "for each head (torchtitan's repeat_kv)"};
const ChoiceKey<bool> context_sums{
    "software.context_sums",
    {{"whole", false}, {"passed", true}},
    "whole",
    "of memory, with context and fused attention: gradients of gathered keys and values are whole "
    "until they are scattered, or sums of a part of them go around in fp32 (PyTorch's ring "
    "attention)"};
const ChoiceKey<bool> freed_blocks{
    "software.freed_blocks",
    {{"any", false}, {"fitting", true}},
    "any",
    "of memory: fitting: blocks that layers free serve no copy of logits, for which they are too "
    "small (PyTorch's caching allocator)"};
const Key<bool> early_stop{
    "software.early_stop", false,
    "with recompute full: a layer is computed again until all that its backward passes need is "
    "there (PyTorch's checkpoint from 2.1 on, without reentrant calls), or to its end"};
const ChoiceKey<HostWaits> host_waits{
    "software.host_waits",
    {{"passes", HostWaits::passes},
     {"layers", HostWaits::layers},
     {"profiles", HostWaits::profiles}},
    Software{}.host_waits,
    "with machine.compute.issue, where the host waits for the device: where an iteration begins "
    "and for what comes from other stages, or before each layer of each pass as well, as where "
    "a framework takes the time of layers; profiles: the same, with collectives of tensor groups "
    "behind their layer and not issued, as where times of layers and of collectives are added up "
    "(those that overlap_tensor or async_tensor have beside products stay there)"};

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
