// What is computed: an ordered chain of layers made of operators, for one sample, unsharded.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tessera/config/document.hpp"
#include "tessera/core/data_type.hpp"
#include "tessera/core/number_format.hpp"
#include "tessera/core/registry.hpp"
#include "tessera/core/units.hpp"
#include "tessera/workload/operation.hpp"

namespace tessera::workload {

// How tensor parallelism of degree t cuts an operator (Shoeybi et al., "Megatron-LM",
// arXiv:1909.08053, section 3).
enum class Sharding : std::uint8_t {
  replicated,  // every member does it whole (layer norm)
  column,      // weight cut by columns: output stays cut, the input's gradient is all-reduced
  row,         // weight cut by rows: the output is all-reduced
  heads,       // no weights, cut by attention heads or by the cut activations it works on
};
std::string to_string(Sharding sharding);

// Copies of a sample's tokens that experts work on, where these are not as many for each.
struct ExpertCopies {
  std::vector<std::uint64_t> of_expert;  // empty: as many for each
  std::uint64_t counted = 0;  // for each, of what the operator says it computes, keeps and sends
  bool taken = false;         // whether they are what goes into it, and what comes out
  bool given = false;
};

// Columns of one matrix among those that a product joins (queries, keys and values; gate and rest),
// in pieces that no cut goes through (heads).
struct ColumnBlock {
  std::uint64_t pieces = 0;
  std::uint64_t width = 0;  // of a piece
};

// What the weights of an operator take where they are not of the workload's data type, with their
// scales and zero points: of its counts of the same names.
struct WeightBytes {
  Bytes parameters;
  Bytes replicated;  // of these
  Bytes shared;
  friend bool operator==(const WeightBytes&, const WeightBytes&) = default;
};

// One operator, for ONE sample (sequence) and not sharded. Tensor parallelism cuts the columns
// (column), the depth (row) or the count (heads) of its product. Counts are of elements or FLOPs;
// bytes follow from the data type. Backward of a matrix product costs twice its forward, half of it
// for the gradient of the weights when it has any; of an operator that computes its forward again
// (flash attention), and of vector work, as given. In inference there is no backward and nothing is
// stored.
struct Operator {
  std::string name;  // "qkv", "mlp_up"
  std::string kind;  // "linear", "attention", "layer_norm", "embedding", …
  Sharding sharding = Sharding::replicated;
  // The forward product, `forward_flops` of FLOPs, when the operator is one: what a matrix unit
  // does. Every other operator is vector work.
  MatrixProduct product;
  // What the columns of the product are, or the channels that an operator without one works on;
  // empty: one block of single columns.
  std::vector<ColumnBlock> blocks{};
  Flops forward_flops;
  Flops backward_flops;          // gradient of input and of weights together
  Flops weight_gradient_flops;   // of these, for the gradient of the weights
  std::uint64_t parameters = 0;  // elements, weights and biases
  // The part of `parameters` that is not cut under tensor parallelism although the operator is
  // (the bias of a row-parallel product).
  std::uint64_t replicated_parameters = 0;
  // Weights the operator uses that the first layer counts in its `parameters` (a head tied to the
  // embedding). They are read for every product, and a pipeline stage that does not hold the first
  // layer keeps a copy, whose gradient is summed with the original's.
  std::uint64_t shared_parameters = 0;
  std::uint64_t input_elements = 0;
  std::uint64_t output_elements = 0;
  // Of vector work on what the operator before it has left on the core: elements that it goes
  // through, cut as the work is; 0: its operands are in memory.
  std::uint64_t fused_elements = 0;
  // Moved beyond inputs and outputs: passes over values in a wider type, cut as the work is.
  Bytes more_moved_forward;
  Bytes more_moved_backward;
  // Of no matrix product: whether its backward pass reads no input, as that of a scale or a mask.
  bool ignores_inputs_backward = false;
  // Kept from forward to backward when nothing is recomputed, of the workload's data type unless
  // stated (a dropout mask takes one byte an element): the part that tensor parallelism cuts, and
  // the part that every member keeps whole.
  Bytes stored_cut;
  Bytes stored_whole;
  // Held only while the pass goes through it, beside inputs, outputs and their gradients; cut as
  // the work is.
  Bytes passing_forward;
  Bytes passing_backward;
  // Computed again before its backward pass under selective recomputation, and what it stores not
  // kept: cheap for the memory it saves (attention between queries, keys and values, which are
  // stored by the operator that makes them; Korthikanti et al., arXiv:2205.05198, section 5).
  bool recomputed_selectively = false;
  // Elements of its output that are kept under alternate recomputation; the others are computed
  // again (see plan::Recompute).
  std::uint64_t kept_results = 0;
  // Products of one input that frameworks may make one by one (queries, keys and values; gate and
  // rest).
  std::uint32_t parts = 1;
  // Whether any backward pass reads its output: a sum's does not.
  bool output_is_read = true;
  // Whether backward passes of its layer need what it makes, or what comes behind it there: not
  // what a layer's last product makes, nor the sums behind it.
  bool needed_again = true;
  // The same under full recomputation: all of a layer that is repeated, neither embedding nor head.
  bool recomputed_fully = true;
  Kernel kernel = Kernel::plain;
  // Whether it multiplies in the workload's `product_type`.
  bool narrow = false;
  // In models that are quantised: what it computes in, where that is neither; its inputs come so,
  // and nothing is cast. And what its weights take where that is not what they compute in.
  std::optional<DataType> own_type{};
  std::optional<WeightBytes> weight_bytes{};
  // Heads of keys and values that the operator works with, 0: none. Tensor parallelism shares them
  // out whole, and does not copy them.
  std::uint64_t kv_heads = 0;
  // Elements (keys and values of the whole sequence) gathered over the context group before forward
  // when the sequence is cut; their gradients are summed and scattered after backward.
  std::uint64_t context_elements = 0;
  // Of `replicated_parameters`, those of tables of which a sample looks at some rows alone, and the
  // elements of these rows; the table is kept whole.
  std::uint64_t table_parameters = 0;
  std::uint64_t looked_up_elements = 0;
  // Weights of experts: each holds `parameters` / `experts` of them, and the expert group shares
  // them out. 0: no experts.
  std::uint64_t experts = 0;
  ExpertCopies loads{};
  // Elements (copies of tokens, for all experts) exchanged all-to-all over the expert group after
  // forward, and as many before backward.
  std::uint64_t exchange_elements = 0;
  // Elements all-reduced over the tensor group after forward (row) and after backward (column); 0
  // when none. The latter are those of the input, which are gathered before forward where tokens
  // are cut, in inference too.
  std::uint64_t forward_all_reduce_elements = 0;
  std::uint64_t backward_all_reduce_elements = 0;

  // Whether it makes partial sums of its output from partial sums of its input (a skip connection,
  // dropout), so that they may be added up behind it.
  bool additive = false;

  bool is_matrix_product() const { return product.count > 0; }
  // Columns that one of `degree` members has: of each block its share of the pieces, rounded up, so
  // that a piece that there are too few of is at several.
  std::uint64_t shard_columns(std::uint64_t degree) const;
  // The product of one member, likewise: fewer columns, less depth or a smaller count.
  MatrixProduct shard_product(std::uint64_t degree) const;
};

// A unit that pipeline stages are made of; never cut between stages.
struct Layer {
  std::string name;  // "embedding", "layer 7", "head"
  std::vector<Operator> operators;
  // Elements of the activation that the next layer takes [sequence * hidden]; 0 for the last layer.
  std::uint64_t boundary_elements = 0;

  Flops forward_flops() const;
  Flops backward_flops() const;
  // Forward FLOPs of the matrix products alone; their backward is twice that.
  Flops matrix_flops() const;
  std::uint64_t parameters() const;
  std::uint64_t shared_parameters() const;
};

// Immutable after reading.
struct Workload {
  std::string name;
  std::vector<Layer> layers;
  DataType data_type = DataType::fp16;     // of weights, activations and gradients
  DataType product_type = DataType::fp16;  // of products that are `narrow`
  // Their inputs with the scales of these, in rows; of weights in squares with as long a side.
  NumberFormat product_format{};
  bool training = true;               // else inference: forward passes only
  std::uint64_t sequence_length = 0;  // tokens, or positions, a sample
  std::uint64_t tokens_a_sample = 0;  // of language models; else 0
  std::uint64_t samples = 0;          // global batch
  // Optimizer and gradient storage per parameter, bytes (mixed-precision Adam: gradient 2, state
  // 12).
  Bytes gradient_bytes_per_parameter;
  Bytes optimizer_bytes_per_parameter;
  // Moved by an update that takes more than one pass over them; 0: each is read and written once.
  Bytes update_bytes_per_parameter{};
  // Whether the optimizer's state has weights of its own, wider than the data type.
  bool has_master = true;
  // Of the file that it is from: what was left out or taken in another way. For the notes of a run.
  std::vector<std::string> notices;

  // As it is sent in a type: what products take has their scales.
  NumberFormat sent_format(DataType type) const;
  NumberFormat sent_weights_format(DataType type) const;
  // Each weight once, however many layers share it.
  std::uint64_t parameters() const;
  // Forward and, in training, backward of one sample, without recomputation.
  Flops flops_per_sample() const;
};

// The same where replicas share experts out in `parts` of as many, one behind the other: with what
// the part computes that has most to do, which the others wait for. Nothing where experts are
// alike.
std::optional<Workload> of_busiest(const Workload& workload, std::uint32_t parts);

// Models of layers by name. A maker reads its section (all keys but `kind`
// and the common ones) and leaves complaints in its diagnostics; without a result when no workload
// can be made of what was given.
using WorkloadMaker = std::function<std::optional<Workload>(config::Section&)>;
Registry<WorkloadMaker>& workloads();

// Reads the mapping of a workload file: `kind`, `name` (default: the kind) and the kind's own keys.
// The caller finishes the section.
std::optional<Workload> read_workload(config::Section& section);

}  // namespace tessera::workload
