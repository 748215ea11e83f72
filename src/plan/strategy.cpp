#include <algorithm>
#include <limits>

#include "keys_without_effect.hpp"
#include "placement/request.hpp"
#include "tessera/collective/algorithm.hpp"
#include "tessera/config/key.hpp"
#include "tessera/config/without_effect.hpp"
#include "tessera/core/wide.hpp"
#include "tessera/plan/sharder.hpp"
#include "tessera/plan/strategy.hpp"
#include "zero.hpp"

namespace tessera::plan {
namespace {

using config::ChoiceKey;
using config::counted_in;
using config::Key;
using config::NameKey;
using config::OtherKey;
using Count = std::uint32_t;

constexpr config::Range<Count> counted{1, std::numeric_limits<std::int32_t>::max()};

const Key<Count> micro_batch =
    counted_in("samples", Key<Count>("micro_batch", Strategy{}.micro_batch,
                                     "size of a micro-batch in one replica", counted));

// Of an iteration; plans list what each of them does, in some 200 bytes.
constexpr std::uint64_t most_micro_batches = std::uint64_t{1} << 24;

void read_batch(config::Section& section, const workload::Workload& workload, Strategy& strategy) {
  strategy.micro_batch = micro_batch.read(section);
  const std::uint64_t step = std::uint64_t{strategy.micro_batch} * strategy.data_parallel();
  if (workload.samples == 0) {
    return;  // the workload has already been complained about
  }
  if (workload.samples % step != 0) {
    section.error("micro_batch",
                  "the batch of " + std::to_string(workload.samples) +
                      " samples is not a multiple of data * micro_batch = " + std::to_string(step));
    return;
  }
  const std::uint64_t count = workload.samples / step;
  if (count > most_micro_batches) {
    section.error("micro_batch", std::to_string(count) + " micro-batches are too many; at most " +
                                     std::to_string(most_micro_batches));
    return;
  }
  strategy.micro_batches = static_cast<std::uint32_t>(count);
}

// Attention heads cannot be cut; explicit sharding cuts something else. Heads of keys and values
// that several heads of queries share are not copied to more tiles than there are (as in
// Megatron-LM, whose num_query_groups must be a multiple of its tensor degree).
void check_heads(config::Section& section, const workload::Workload& workload,
                 const Strategy& strategy) {
  const Sharder sharder(workload, strategy);
  const std::uint32_t tensor = strategy.degrees.tensor;
  for (const workload::Layer& layer : workload.layers) {
    for (const workload::Operator& op : layer.operators) {
      if (op.sharding != workload::Sharding::heads || sharder.explicit_sharding(op) != nullptr) {
        continue;
      }
      if (op.product.count % tensor != 0) {
        section.error("tensor", "the " + std::to_string(op.product.count) + " heads of '" +
                                    layer.name + "/" + op.name + "' cannot be shared out among " +
                                    std::to_string(tensor) + " tiles");
        return;
      }
      if (op.kv_heads % tensor != 0) {
        const std::string what =
            op.kind == "ssm" ? " groups of heads of '" : " heads of keys and values of '";
        section.error("tensor", "the " + std::to_string(op.kv_heads) + what + layer.name + "/" +
                                    op.name + "' cannot be shared out among " +
                                    std::to_string(tensor) + " tiles, and are not copied");
        return;
      }
    }
  }
}

// States go from token to token, so that a part of a sequence waits for the one before.
void check_context(config::Section& section, const workload::Workload& workload,
                   const Strategy& strategy) {
  for (const workload::Layer& layer : workload.layers) {
    for (const workload::Operator& op : layer.operators) {
      if (strategy.context > 1 && op.kind == "ssm") {
        section.error("context", "the tokens of '" + layer.name + "/" + op.name +
                                     "', of a state-space layer, are not cut");
        return;
      }
    }
  }
}

// Experts are shared out whole, over part of the replicas.
void check_experts(config::Section& section, const workload::Workload& workload,
                   const Strategy& strategy) {
  if (strategy.degrees.data % strategy.expert != 0) {
    section.error("expert", std::to_string(strategy.expert) + " does not divide data * context = " +
                                std::to_string(strategy.degrees.data));
    return;
  }
  for (const workload::Layer& layer : workload.layers) {
    for (const workload::Operator& op : layer.operators) {
      if (op.experts % strategy.expert != 0) {
        section.error("expert", "the " + std::to_string(op.experts) + " experts of '" + layer.name +
                                    "/" + op.name + "' cannot be shared out among " +
                                    std::to_string(strategy.expert));
        return;
      }
    }
  }
}

const Key<Count> chunks{"chunks", Strategy{}.chunks, "chunks of layers in each stage", counted};
const NameKey schedule =
    NameKey(
        "schedule", [] { return schedules().names(); }, "1f1b",
        "order of forward and backward passes, and placement of chunks; default with chunks: "
        "interleaved; in inference: streaming")
        .derived();
const config::ListKey<std::string> order_key{
    "order", {}, "instead of schedule: for each stage a text with its passes in order"};

void read_schedule(config::Section& section, bool training, Strategy& strategy) {
  strategy.chunks = chunks.read(section);
  const std::string usual = training ? (strategy.chunks > 1 ? "interleaved" : "1f1b") : "streaming";
  strategy.schedule = schedule.read(section, usual);
  for (const std::string& text : order_key.read(section)) {
    try {
      strategy.order.push_back(passes_from(text));
    } catch (const ConfigError& error) {
      section.error("order", error.diagnostics().front().message);
      return;
    }
  }
  if (!schedules().contains(strategy.schedule)) {
    return;  // already complained about
  }
  strategy.v_shaped = schedules().at(strategy.schedule).v_shaped;
  strategy.mirrored = schedules().at(strategy.schedule).mirrored;
  const PipelineShape shape = strategy.pipeline_shape(training);
  if (!strategy.order.empty()) {
    if (const std::string fault = fault_of(shape, strategy.order); !fault.empty()) {
      section.error("order", fault);
    }
    return;
  }
  if ((strategy.schedule == "streaming") == training) {
    section.error("schedule", training ? "'streaming' is for inference, and the workload trains"
                                       : "inference is 'streaming', without backward passes");
    return;
  }
  const std::string objection = schedules().at(strategy.schedule).objection(shape);
  if (!objection.empty()) {
    section.error("schedule", "'" + strategy.schedule + "' " + objection);
  }
}

const ChoiceKey<Boundary> boundary{
    "boundary",
    {{"full", Boundary::full},
     {"scattered", Boundary::scattered},
     {"broadcast", Boundary::broadcast},
     {"reduced", Boundary::reduced}},
    Strategy{}.boundary,
    "full: each shard sends the whole boundary activation; scattered: each sends its part, and "
    "the next stage gathers them; broadcast: adapters send it, and the receiving ones broadcast "
    "it; reduced: adapters send sums over parts of the group, which the next stage adds up"};
const Key<Count> adapters = counted_in(
    "tiles", Key<Count>("adapters", Strategy{}.adapters,
                        "adapters in a tensor group, with boundary broadcast or reduced", counted));

void read_boundary(config::Section& section, Strategy& strategy) {
  strategy.boundary = boundary.read(section);
  if (!strategy.has_adapters()) {
    if (section.has("adapters")) {
      section.raw("adapters");
      section.error("adapters", "is only for 'boundary: broadcast' and 'boundary: reduced'");
    }
    return;
  }
  strategy.adapters = adapters.read(section);
  if (strategy.adapters > strategy.degrees.tensor) {
    section.error("adapters", std::to_string(strategy.adapters) +
                                  " adapters in a tensor group of " +
                                  std::to_string(strategy.degrees.tensor) + " tiles");
    strategy.adapters = 1;
  }
  if (strategy.sequence_parallel) {
    section.error("boundary",
                  std::string("'") +
                      (strategy.boundary == Boundary::reduced ? "reduced" : "broadcast") +
                      "' sends a whole tensor, but sequence_parallel has cut it along "
                      "the tokens");
  }
}

const OtherKey sharding{"sharding", "mapping", "none",
                        "explicit parallelism of operators: {operator: {samples, rows, columns, "
                        "depth}}"};
const Key<Count> cut_samples{"sharding.NAME.samples", OperatorSharding{}.samples,
                             "parts into which a micro-batch is cut", counted};
const Key<Count> cut_rows{"sharding.NAME.rows", OperatorSharding{}.rows,
                          "parts into which the rows of the output are cut", counted};
const Key<Count> cut_columns{"sharding.NAME.columns", OperatorSharding{}.columns,
                             "parts into which the columns of the output are cut", counted};
const Key<Count> cut_depth{"sharding.NAME.depth", OperatorSharding{}.depth,
                           "parts into which the summed dimension is cut", counted};

// A pattern that matches no operator is a mistake. One that matches only operators that earlier
// patterns match has no effect.
void check_patterns(config::Section& rules, const workload::Workload& workload,
                    const std::vector<ShardingRule>& shardings) {
  enum class Use : std::uint8_t { none, matched, counted };
  std::vector<Use> uses(shardings.size());
  for (const workload::Layer& layer : workload.layers) {
    for (const workload::Operator& op : layer.operators) {
      const std::string path = layer.name + "/" + op.name;
      bool is_cut = false;
      for (std::size_t number = 0; number < shardings.size(); ++number) {
        if (shardings[number].matches(path, op)) {
          uses[number] = is_cut ? std::max(uses[number], Use::matched) : Use::counted;
          is_cut = true;
        }
      }
    }
  }
  for (std::size_t number = 0; number < shardings.size(); ++number) {
    const std::string& pattern = shardings[number].pattern;
    if (uses[number] == Use::none) {
      rules.error(pattern,
                  std::string("matches the ") +
                      (shardings[number].with_layer() ? "LAYER/OPERATOR" : "name or kind") +
                      " of no operator of the model");
    } else if (uses[number] == Use::matched) {
      rules.tell(rules.path() + "." + pattern +
                 " has no effect: earlier patterns match all operators that it matches");
    }
  }
}

// Explicit parallelism of operators: {pattern: {samples, rows, columns, depth}, …}.
void read_cuts(config::Section& section, const workload::Workload& workload, Strategy& strategy) {
  config::Section rules = section.section(sharding.key());
  for (const std::string& pattern : rules.keys()) {
    config::Section rule = rules.section(pattern);
    const OperatorSharding sharding{cut_samples.read(rule), cut_rows.read(rule),
                                    cut_columns.read(rule), cut_depth.read(rule)};
    if (sharding.tiles() != strategy.degrees.tensor) {
      rules.error(pattern,
                  "samples * rows * columns * depth = " + std::to_string(sharding.tiles()) +
                      " must be tensor = " + std::to_string(strategy.degrees.tensor));
    }
    strategy.shardings.push_back({pattern, sharding});
  }
  if (!workload.layers.empty()) {  // else it has already been complained about
    check_patterns(rules, workload, strategy.shardings);
  }
}

// Those that programs can run: all members in the same step, all kinds.
std::vector<std::string> algorithms_in_step() {
  std::vector<std::string> names;
  for (const std::string& name : collective::algorithms().names()) {
    if (collective::algorithms().at(name)({})->in_step()) {
      names.push_back(name);
    }
  }
  return names;
}

const Key<Count> pipeline{"pipeline", Degrees{}.pipeline, "stages of the pipeline", counted};
const Key<Count> tensor{"tensor", Degrees{}.tensor, "tensor-parallel degree", counted};
const Key<Count> data{"data", Degrees{}.data, "data-parallel degree", counted};
const Key<Count> context{"context", Strategy{}.context,
                         "context-parallel degree: parts into which the tokens of a sample are cut",
                         counted};
const Key<Count> expert{"expert", Strategy{}.expert,
                        "expert-parallel degree: replicas (of data * context) over which experts "
                        "are distributed",
                        counted};
const Key<bool> sequence_parallel{"sequence_parallel", false,
                                  "cut along the tokens what tensor parallelism leaves whole"};
const ChoiceKey<Recompute> recompute{
    "recompute",
    {{"none", Recompute::none},
     {"selective", Recompute::selective},
     {"full", Recompute::full},
     {"alternate", Recompute::alternate}},
    Strategy{}.recompute,
    "what the backward pass recomputes: none; selective: what is cheap for the memory it saves; "
    "full: all but the layers' inputs; alternate: all but these and the results of attention and "
    "of every other product"};
const Key<bool> overlap_gradients{"overlap_gradients", false,
                                  "reduce gradients of a layer during the backward pass of "
                                  "earlier layers"};
const Key<bool> overlap_tensor{"overlap_tensor", false,
                               "reduce the gradient of inputs while that of weights is computed; "
                               "with sequence_parallel, gather an input while its gradient is "
                               "computed"};
const Key<bool> async_tensor{"async_tensor", false,
                             "with sequence_parallel, else no effect: gather and scatter along "
                             "the tokens piece by piece, overlapped with the adjacent products"};
const Key<bool> overlap_passes{
    "overlap_passes", false,
    "with schedules dualpipe and dualpipe-v: a forward pass and the backward pass after it "
    "alternate, so that tokens of one travel to experts while the other computes"};
const ChoiceKey<SramAllocation> sram{
    "sram",
    {{"resident", SramAllocation::resident}, {"algorithm-1", SramAllocation::algorithm_1}},
    Strategy{}.sram,
    "what streams from DRAM where SRAM is too small: resident: what is kept from pass to pass; "
    "algorithm-1: all operands of an operator, as in PALM's Algorithm 1"};
const ChoiceKey<bool> capacity_key{"capacity",
                                   {{"check", true}, {"ignore", false}},
                                   Strategy{}.check_capacity,
                                   "check: SRAM and DRAM must be large enough; ignore: run even "
                                   "if they are too small"};
const ChoiceKey<Aggregation> aggregation{
    "aggregation",
    {{"none", Aggregation::none}, {"tensor", Aggregation::tensor}, {"stage", Aggregation::stage}},
    Strategy{}.aggregation,
    "tensor or stage: one tile represents its tensor group or its stage; none: every tile is "
    "simulated"};
const NameKey tensor_algorithm{"collectives.tensor", algorithms_in_step, usual_algorithm,
                               "algorithm in tensor, context and expert groups, one whose "
                               "members advance in step: see tessera list collectives"};
const NameKey data_algorithm{"collectives.data", algorithms_in_step, usual_algorithm,
                             "algorithm in data groups"};

// Reads both, and notes those of groups of one. Parts of tokens and experts go by that of tensor
// groups, embeddings that the first and the last stage share by that of replicas (Plan::algorithm).
void read_algorithms(config::Section collectives, Strategy& strategy) {
  strategy.tensor_algorithm = tensor_algorithm.read(collectives);
  strategy.data_algorithm = data_algorithm.read(collectives);
  const Degrees& degrees = strategy.degrees;
  if (strategy.tensor_algorithm != tensor_algorithm.info().default_value && degrees.tensor == 1 &&
      strategy.context == 1 && strategy.expert == 1) {
    config::note_without_effect(collectives, tensor_algorithm.key(), "tensor: 1");
  }
  if (strategy.data_algorithm != data_algorithm.info().default_value && degrees.data == 1 &&
      degrees.pipeline == 1) {
    config::note_without_effect(collectives, data_algorithm.key(), "data: 1");
  }
}

}  // namespace

Strategy Strategy::whole() const {
  Strategy strategy = *this;
  strategy.micro_batches = whole_micro_batches == 0 ? micro_batches : whole_micro_batches;
  return strategy;
}

std::vector<Pass> Strategy::passes(std::uint32_t stage, bool training) const {
  return order.empty() ? schedules().at(schedule).passes(pipeline_shape(training), stage)
                       : order[stage];
}

std::vector<ParameterInfo> strategy_parameters() {
  std::vector<ParameterInfo> parameters{
      pipeline,    tensor, data,     context,   expert,    sequence_parallel,
      micro_batch, chunks, schedule, order_key, recompute,
  };
  for (ParameterInfo& parameter : zero_parameters()) {
    parameters.push_back(std::move(parameter));
  }
  parameters.insert(parameters.end(),
                    {overlap_gradients, overlap_tensor, overlap_passes, async_tensor, boundary,
                     adapters, sharding, cut_samples, cut_rows, cut_columns, cut_depth, sram,
                     capacity_key, aggregation, tensor_algorithm, data_algorithm});
  for (ParameterInfo& parameter : offload_parameters()) {
    parameters.push_back(std::move(parameter));
  }
  for (ParameterInfo& parameter : software_parameters()) {
    parameters.push_back(std::move(parameter));
  }
  for (ParameterInfo& parameter : wire_parameters()) {
    parameters.push_back(std::move(parameter));
  }
  for (ParameterInfo& parameter : placement_parameters()) {
    parameters.push_back(std::move(parameter));
  }
  return parameters;
}

Strategy read_strategy(config::Section& section, const workload::Workload& workload,
                       const machine::Topology& topology, const std::vector<EntityId>& nodes) {
  Strategy strategy;
  strategy.placement.nodes = nodes;
  strategy.degrees.pipeline = pipeline.read(section);
  strategy.degrees.tensor = tensor.read(section);
  strategy.degrees.data = data.read(section);
  strategy.context = context.read(section);
  const Wide replicas = static_cast<Wide>(strategy.degrees.data) * strategy.context;
  const std::uint64_t tiles = nodes.empty() ? topology.computing_nodes() : nodes.size();
  const Wide wanted = replicas * strategy.degrees.pipeline * strategy.degrees.tensor;
  if (wanted > tiles) {
    const std::string context_name = strategy.context > 1 ? " * context" : "";
    const std::string contexts =
        strategy.context > 1 ? " * " + std::to_string(strategy.context) : "";
    section.error("pipeline",
                  "pipeline * tensor * data" + context_name + " = " +
                      std::to_string(strategy.degrees.pipeline) + " * " +
                      std::to_string(strategy.degrees.tensor) + " * " +
                      std::to_string(strategy.degrees.data) + contexts + " tiles, but " +
                      (nodes.empty() ? "the machine has " : "it may use ") + std::to_string(tiles));
    strategy.context = 1;
  } else {
    strategy.degrees.data = static_cast<std::uint32_t>(replicas);
  }
  strategy.expert = expert.read(section);
  strategy.sequence_parallel = sequence_parallel.read(section);
  read_cuts(section, workload, strategy);
  check_heads(section, workload, strategy);
  check_context(section, workload, strategy);
  check_experts(section, workload, strategy);
  read_batch(section, workload, strategy);
  read_schedule(section, workload.training, strategy);
  strategy.recompute = recompute.read(section);
  read_zero(section, strategy);
  strategy.overlap_gradients = overlap_gradients.read(section);
  strategy.overlap_tensor = overlap_tensor.read(section);
  strategy.overlap_passes = overlap_passes.read(section);
  if (strategy.overlap_passes && !strategy.has_pairs()) {
    section.error("overlap_passes",
                  "is of schedules 'dualpipe' and 'dualpipe-v', whose passes "
                  "run beside each other, and this is '" +
                      strategy.schedule + "'");
    strategy.overlap_passes = false;
  }
  strategy.async_tensor = async_tensor.read(section);
  read_boundary(section, strategy);
  strategy.software = read_software(section);
  strategy.wires = read_wires(section);
  strategy.offload = read_offload(section);
  strategy.sram = sram.read(section);
  strategy.check_capacity = capacity_key.read(section);
  strategy.aggregation = aggregation.read(section);

  read_algorithms(section.section("collectives"), strategy);
  read_placement(section.section("placement"), workload, topology, strategy);

  const std::uint64_t parts =
      std::uint64_t{strategy.degrees.pipeline} * (strategy.mirrored ? 1 : strategy.chunks);
  if (parts > workload.layers.size() && !workload.layers.empty()) {
    section.error(
        "pipeline",
        "more stages (" + std::to_string(strategy.degrees.pipeline) +
            (strategy.chunks > 1 ? " of " + std::to_string(strategy.chunks) + " chunks" : "") +
            ") than layers to put in them (" + std::to_string(workload.layers.size()) +
            " with embedding and head)");
  }
  note_keys_without_effect(section, workload, strategy);
  if (!workload.training) {
    strategy.recompute = Recompute::none;  // there is no pass that would compute again
  }
  return strategy;
}

}  // namespace tessera::plan
