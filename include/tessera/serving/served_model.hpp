// A model that requests are served by: what a batch of them has to compute. On NPU cores it is
// operators, which cores share, and exchanges between NPUs; on units that are single tiles a step
// is one part, and TileModel says what each unit does in it.
//
// Operators are named by numbers, from which every rank makes them when it meets them, so that the
// scheduler can put together batches that nobody knew before.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tessera/collective/kind.hpp"
#include "tessera/core/units.hpp"
#include "tessera/core/wide.hpp"
#include "tessera/npu/operator_source.hpp"
#include "tessera/serving/cache_layout.hpp"
#include "tessera/serving/tile_model.hpp"

namespace tessera::serving {

// Sequences of a batch that are alike: each takes `queries` tokens in, which look at `keys` tokens,
// the new ones among them.
struct SequenceGroup {
  std::uint32_t sequences = 0;
  std::uint32_t queries = 0;
  std::uint32_t keys = 0;
  friend auto operator<=>(const SequenceGroup&, const SequenceGroup&) = default;
};

// What goes through a model together.
struct Batch {
  std::vector<SequenceGroup> groups;  // of language models
  std::uint32_t emitting = 0;         // sequences that give a token
  std::uint32_t samples = 0;          // of other models
  std::uint32_t drafts = 0;           // the most that go in of a sequence that generates
  // Blocks of the cache that go to another memory before it, and that come from there.
  std::uint64_t blocks_out = 0;
  std::uint64_t blocks_in = 0;
  // Of sequences with adapters: different ones, tokens that go through them, and those that are
  // loaded before it.
  std::uint32_t adapters = 0;
  std::uint32_t adapted = 0;
  std::uint32_t adapters_in = 0;

  std::uint64_t tokens() const;
};

// The number of an operator: tenant, place in its model, and the sizes that come with a batch.
struct OperatorName {
  static constexpr unsigned shape_bits = 42;
  static constexpr unsigned op_bits = 16;
  static constexpr unsigned tenant_bits = 6;

  std::uint32_t tenant = 0;
  std::uint32_t op = 0;
  std::uint64_t shape = 0;

  constexpr std::uint64_t code() const {
    return std::uint64_t{tenant} << (shape_bits + op_bits) | std::uint64_t{op} << shape_bits |
           shape;
  }
  static constexpr OperatorName from(std::uint64_t code) {
    return {static_cast<std::uint32_t>(code >> (shape_bits + op_bits)),
            static_cast<std::uint32_t>(code >> shape_bits & ((1U << op_bits) - 1)),
            code & ((std::uint64_t{1} << shape_bits) - 1)};
  }
};

// Data that the NPUs of a model exchange: core by core, each its part.
struct Exchange {
  // An all-reduce or all-to-all among `units` NPUs from `first` on; none: handed on, from each of
  // these to the NPU that is `units` further.
  std::optional<collective::Kind> collective = collective::Kind::all_reduce;
  std::uint32_t first = 0;
  std::uint32_t units = 1;
  Bytes bytes;  // of each NPU
};

// A part of a step, on one NPU (`unit`), or an exchange; begins when those in `after` are over.
struct StepPart {
  std::uint32_t op = 0;
  std::uint64_t shape = 0;
  std::uint32_t unit = 0;
  bool exchanges = false;
  std::vector<std::uint32_t> after;  // places of earlier parts
};

// All that a batch has to go through.
using Step = std::vector<StepPart>;

// Immutable.
class ServedModel {
 public:
  virtual ~ServedModel() = default;
  // NPUs that it runs on, and how many of them work one behind the other.
  virtual std::uint32_t units() const = 0;
  virtual std::uint32_t stages() const = 0;

  virtual Step step(const Batch& batch) const = 0;
  virtual Exchange exchange(std::uint32_t op, std::uint64_t shape) const = 0;
  // The op that stands for all that are cut alike: those of a layer for those of all layers.
  virtual std::uint32_t kind_of(std::uint32_t op) const { return op; }
  virtual std::shared_ptr<const npu::TiledOperator> make(std::uint32_t op, std::uint64_t shape,
                                                         std::uint64_t cores) const = 0;
  // Of a step, on all NPUs together: products, and what is done to each element, nothing twice.
  virtual Wide flops(const Batch& batch) const = 0;
  // Null: it is on NPU cores.
  virtual const TileModel* on_tiles() const { return nullptr; }
  // For traces: names, and the place of an op's name among them.
  virtual const std::vector<std::string>& names() const = 0;
  virtual std::uint32_t name_of(std::uint32_t op) const = 0;

  // Where operands begin, from the start of the model's memory, and the size of that.
  virtual std::uint64_t operand_begin(std::uint32_t op, std::uint8_t operand) const = 0;
  virtual std::uint64_t memory_end() const = 0;

  // Of the largest NPU: weights, and what a token keeps in the cache as long as all layers see it.
  virtual Bytes weights() const = 0;
  virtual Bytes cache_of_token() const { return Bytes(); }
  // What sequences keep in it, in blocks, and such a block where one has so many tokens.
  virtual CacheLayout cache_layout() const { return {}; }
  virtual Bytes cache_block(std::uint32_t tokens) const { return cache_of_token() * tokens; }
  // Handed over of a prompt of so many tokens.
  virtual Bytes cache_of_prompt(std::uint64_t tokens) const { return cache_of_token() * tokens; }
  // And of one adapter.
  virtual Bytes adapter() const { return Bytes(); }
};

}  // namespace tessera::serving
