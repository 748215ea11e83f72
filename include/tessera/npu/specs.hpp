// What an operator of a chip is, in numbers, before it is cut into tiles: for callers that have the
// sizes already. Kinds read from YAML are in the registry of tiled_operator.hpp.
//
// Extents are from 1 on; products of extents and elements must fit 2^58, as the readers of YAML
// check.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tessera/npu/stored_weights.hpp"
#include "tessera/npu/tiled_operator.hpp"
#include "tessera/npu/vector_work.hpp"

namespace tessera::npu {

// rows x depth times depth x columns, `count` times.
struct ProductShape {
  std::uint64_t rows = 1;
  std::uint64_t columns = 1;
  std::uint64_t depth = 1;
  std::uint64_t count = 1;
};

struct ProductSpec {
  ProductShape shape;
  bool shared_weights = false;     // by all `count` products
  bool bias = false;               // a row that is added
  std::uint64_t residuals = 0;     // matrices as large as the output that go into it
  bool gathers = false;            // activations are gathered from windows of an image (IM2COL)
  std::optional<VectorWork> then;  // on each element of the output
  // Of the right operands in memory; none: as elements of the target.
  std::optional<StoredWeights> stored;
  // Of an element of the output, the bias and residuals; none: as of the target.
  std::optional<Bytes> result;
};

// Two directions, rows first.
using Sides = std::array<std::uint64_t, 2>;

// Images of [height, width, channels]; windows of kernel sides, `groups` of channels apart.
struct ConvolutionShape {
  std::uint64_t images = 1;
  Sides input{1, 1};
  std::uint64_t channels = 1;  // of the input, all groups
  std::uint64_t outputs = 1;   // channels of the output, all groups
  Sides kernel{1, 1};
  Sides stride{1, 1};
  Sides padding{0, 0};
  Sides dilation{1, 1};
  std::uint64_t groups = 1;

  // Positions of the window; 0 when it does not fit.
  Sides positions() const;
  std::uint64_t group_channels() const { return channels / groups; }
  std::uint64_t group_outputs() const { return outputs / groups; }
  // Of the input that so many positions look at, padding included.
  std::uint64_t reach(std::size_t direction, std::uint64_t positions) const {
    return (positions - 1) * stride[direction] + dilation[direction] * (kernel[direction] - 1) + 1;
  }
  // How many of the input's rows (0) or columns (1) any window looks at.
  std::uint64_t seen(std::size_t direction) const;
};

struct ConvolutionSpec {
  ConvolutionShape shape;
  bool bias = false;            // added to each position
  std::uint64_t residuals = 0;  // images as large as the output that go into it
  bool gathers = false;         // windows are gathered as columns by an instruction
  std::optional<VectorWork> then;
  std::optional<StoredWeights> stored;  // as of a product
};

struct AttentionSpec {
  std::uint64_t batch = 1;
  std::uint64_t heads = 1;
  std::uint64_t kv_heads = 1;  // divides heads
  std::uint64_t queries = 1;
  std::uint64_t keys = 1;
  std::uint64_t width = 1;        // of a head's queries and keys
  std::uint64_t value_width = 1;  // of its values
  std::uint64_t append = 0;       // tokens put into the cache; at most as many as keys
  bool whole_heads = false;       // a tile for each head, whose products the array takes whole
  // Of the cache, in memory and in the scratchpad, which new tokens become on their way out; none:
  // as elements of the target. Not of whole heads.
  std::optional<StoredWeights> stored_keys{};
  std::optional<StoredWeights> stored_values{};

  std::uint64_t sharing() const { return heads / kv_heads; }
};

// FLOPs behind the sums of each element of an output: residuals that are added, and more work.
double flops_behind(std::uint64_t elements, std::uint64_t residuals,
                    const std::optional<VectorWork>& then);
// Scale, mask and softmax of all scores.
double flops_of_scores(const AttentionSpec& spec);

// What is loaded for some columns of the output.
struct StreamInput {
  std::string name;
  std::uint64_t begin = 0;  // columns that it serves
  std::uint64_t end = 0;
  std::uint64_t per = 1;  // elements for each `of` columns
  std::uint64_t of = 1;
  bool for_all_rows = false;  // one row serves all
  // As it lies in memory and in the scratchpad, each row in whole bytes; none: as elements of the
  // target.
  std::optional<StoredWeights> stored{};
};

// Operators without sums in the array: elements are loaded, go through the vector unit, and are
// stored.
struct StreamSpec {
  std::uint64_t rows = 1;
  std::uint64_t columns = 1;
  std::vector<StreamInput> inputs;  // fewer than most_operands
  VectorWork work;                  // of each element of rows and columns, and of each row
  bool transposes = false;          // columns become rows
  // Elements of the output for each `stored_of` columns; 0: what is made stays on the core.
  std::uint64_t stored_per = 1;
  std::uint64_t stored_of = 1;
};

std::unique_ptr<TiledOperator> lower(const ProductSpec& spec, const Target& target);
std::unique_ptr<TiledOperator> lower(const ConvolutionSpec& spec, const Target& target);
// Null where one query of each head that shares keys and one key do not fit in the core; of whole
// heads, where a head does not fit or shares its keys.
std::unique_ptr<TiledOperator> lower(const AttentionSpec& spec, const Target& target);
std::unique_ptr<TiledOperator> lower(const StreamSpec& spec, const Target& target);
// One that has no tiles and costs nothing.
std::unique_ptr<TiledOperator> lower_nothing(const Target& target);

}  // namespace tessera::npu
