// A tile loads keys, values and queries of a head, multiplies, takes the softmax of all scores,
// which stay in the core, multiplies again and stores. Each product is one block that takes its
// weights on the way: that of queries and keys is in the array for a cycle for each key and each
// whole height of queries, that of scores and values for one for each element of its output. Tokens
// that are appended to the cache cost nothing. An array of k MACs a processing element takes a k-th
// of the cycles.
//
// After ONNXim's public code (its operator Attention), where products of heads are not cut for the
// array: for 512 queries and keys of 64 elements the second is 16 times as long as it need be.
// Deviation: the output has a place of its own in the accumulator, beside that of the scores.

#include "compat/onnxim/whole_heads.hpp"

#include <utility>
#include <vector>

#include "cut.hpp"

namespace tessera::npu {
namespace {

enum OperandPlace : std::uint8_t { queries, keys, values, output_place };

class WholeHeads final : public TiledOperator {
 public:
  WholeHeads(const AttentionSpec& spec, const Target& target)
      : TiledOperator(target), spec_(spec), element_(target.element()) {
    const std::uint64_t heads = groups();
    operands_ = {{"queries", Bytes(heads * of_queries())},
                 {"keys", Bytes(heads * of_keys())},
                 {"values", Bytes(heads * of_values())},
                 {"output", Bytes(heads * of_output())}};
  }

  bool fits() const {
    const std::uint64_t scores = spec_.queries * spec_.keys;
    const std::uint64_t sums = scores + spec_.queries * spec_.value_width;
    return of_queries() + of_keys() + of_values() + scores * element_.count() <=
               core().scratchpad_half().count() &&
           sums * sum_bytes <= core().accumulator_half().count();
  }

  const std::vector<Operand>& operands() const override { return operands_; }
  std::array<std::uint64_t, output_dimensions> output() const override {
    return {spec_.batch, spec_.heads, spec_.queries, spec_.value_width};
  }
  std::uint64_t depth() const override { return spec_.keys; }
  std::uint64_t macs() const override {
    return groups() * spec_.queries * spec_.keys * (spec_.width + spec_.value_width);
  }
  std::uint64_t groups() const override { return spec_.batch * spec_.heads; }
  double vector_flops() const override { return flops_of_scores(spec_); }
  VectorWork vector_passes() const override { return vector_work("softmax"); }

  OperatorTile tile(std::uint64_t group, std::uint64_t) const override {
    const std::uint64_t number = group / spec_.heads;
    const std::uint64_t head = group % spec_.heads;
    OperatorTile tile;
    tile.output = {Range{number, number + 1}, Range{head, head + 1}, Range{0, spec_.queries},
                   Range{0, spec_.value_width}};
    tile.depth = {0, spec_.keys};
    tile.origins[queries] = group * of_queries();
    tile.origins[keys] = group * of_keys();
    tile.origins[values] = group * of_values();
    tile.origins[output_place] = group * of_output();
    return tile;
  }

  TileProgram program(std::uint64_t) const override {
    ProgramWriter out(target());
    const std::uint64_t scores = spec_.queries * spec_.keys;
    const BufferId k = out.scratchpad(Bytes(of_keys()));
    const BufferId v = out.scratchpad(Bytes(of_values()));
    const BufferId q = out.scratchpad(Bytes(of_queries()));
    const BufferId weights = out.scratchpad(element_ * scores);
    const BufferId products = out.accumulator(Bytes(scores * sum_bytes));
    const BufferId sums = out.accumulator(Bytes(spec_.queries * spec_.value_width * sum_bytes));
    out.mvin(keys, all_of(of_keys()), k);
    out.mvin(values, all_of(of_values()), v);
    out.mvin(queries, all_of(of_queries()), q);
    out.whole_gemm(folded(quotient_up(spec_.queries, core().rows) * spec_.keys), q, k, products,
                   spec_.queries, spec_.width, spec_.keys);
    out.vector(vector_cycles(core(), vector_work("softmax"), spec_.queries, spec_.keys), products,
               BufferId(), weights);
    out.whole_gemm(folded(spec_.queries * spec_.value_width), weights, v, sums, spec_.queries,
                   spec_.keys, spec_.value_width);
    out.mvout(output_place, all_of(of_output()), sums);
    return out.take();
  }

 private:
  // Bytes of a head.
  std::uint64_t of_queries() const { return spec_.queries * spec_.width * element_.count(); }
  std::uint64_t of_keys() const { return spec_.keys * spec_.width * element_.count(); }
  std::uint64_t of_values() const { return spec_.keys * spec_.value_width * element_.count(); }
  std::uint64_t of_output() const { return spec_.queries * spec_.value_width * element_.count(); }

  std::uint64_t folded(std::uint64_t cycles) const {
    return quotient_up(cycles, target().macs_per_pe());
  }
  static Region all_of(std::uint64_t bytes) { return {0, bytes, 1, bytes}; }

  AttentionSpec spec_;
  Bytes element_;
  std::vector<Operand> operands_;
};

}  // namespace

std::unique_ptr<TiledOperator> make_whole_heads(const AttentionSpec& spec, const Target& target) {
  auto heads = std::make_unique<WholeHeads>(spec, target);
  return spec.heads == spec.kv_heads && heads->fits() ? std::move(heads) : nullptr;
}

}  // namespace tessera::npu
