// Scores, softmax and weighted values as one operator, so that the scores stay out of memory.
//
// Found are MatMul(softmax(scale q k + mask), v) with or without scale and mask, the scale before
// or behind the product, q, k and v as they were before they were transposed and, for grouped
// queries, before keys and values were repeated for each query head (Unsqueeze, Expand, Reshape).
#include <algorithm>

#include "layout.hpp"
#include "passes/passes.hpp"
#include "passes/pattern.hpp"

namespace tessera::onnx {
namespace {

class Finder {
 public:
  Finder(Editor& editor, NodeIndex root) : editor_(editor), pattern_(editor), root_(root) {}

  bool fuse() {
    pattern_.add(root_);
    if (!find_softmax() || !find_scores() || !sizes()) {
      return false;
    }
    query_ = source(query_);
    key_ = before_repeats(source(key_));
    value_ = before_repeats(source(value_));
    kv_heads_ = std::min(kv_heads_, heads_);
    if (heads_ % std::max<std::int64_t>(1, kv_heads_) != 0) {
      return false;
    }
    NodeIndex last = root_;
    const auto turn = editor_.only_reader(editor_.node(root_).outputs[0]);
    if (turn && editor_.is(*turn, "Transpose")) {
      pattern_.add(*turn);
      last = *turn;
    }
    if (!pattern_.closed(last)) {
      return false;
    }
    put(last);
    return true;
  }

 private:
  std::optional<NodeIndex> inner(TensorIndex tensor, const char* op) const {
    return editor_.only_reader(tensor) ? editor_.maker(tensor, op) : std::nullopt;
  }

  bool find_softmax() {
    const auto softmax = inner(editor_.node(root_).inputs[0], "Softmax");
    if (!softmax) {
      return false;
    }
    const Node& node = editor_.node(*softmax);
    const auto& shape = editor_.tensor(node.inputs[0]).shape;
    const auto axis = node.attributes.find("axis");
    const std::int64_t usual = node.version < 13 ? 1 : -1;
    const std::int64_t along = axis == node.attributes.end() ? usual
                               : std::holds_alternative<std::int64_t>(axis->second)
                                   ? std::get<std::int64_t>(axis->second)
                                   : 0;
    if (!shape || (along != -1 && along != std::ssize(*shape) - 1)) {
      return false;
    }
    pattern_.add(*softmax);
    scores_ = node.inputs[0];
    value_ = editor_.node(root_).inputs[1];
    return true;
  }

  // Back through scale and mask to the product.
  bool find_scores() {
    for (int steps = 0; steps < 6; ++steps) {
      if (const auto product = inner(scores_, "MatMul")) {
        pattern_.add(*product);
        query_ = editor_.node(*product).inputs[0];
        key_ = editor_.node(*product).inputs[1];
        product_ = scores_;
        return true;
      }
      if (!step_back()) {
        return false;
      }
    }
    return false;
  }

  bool step_back() {
    if (const auto sum = inner(scores_, "Add")) {
      const std::vector<TensorIndex> inputs = editor_.node(*sum).inputs;
      for (const std::size_t side : {0U, 1U}) {
        if (editor_.same_shape(inputs[side], scores_) && leads_to_product(inputs[side])) {
          masks_.push_back(inputs[1 - side]);
          return go(*sum, inputs[side]);
        }
      }
      return false;
    }
    for (const char* op : {"Mul", "Div"}) {
      const auto scaled = inner(scores_, op);
      if (scaled && editor_.scalar(editor_.node(*scaled).inputs[1])) {
        return go(*scaled, editor_.node(*scaled).inputs[0]);
      }
    }
    if (const auto choice = inner(scores_, "Where")) {
      const std::vector<TensorIndex> inputs = editor_.node(*choice).inputs;
      for (const std::size_t side : {1U, 2U}) {
        if (editor_.same_shape(inputs[side], scores_) && !editor_.is_constant(inputs[side])) {
          masks_.push_back(inputs[0]);
          return go(*choice, inputs[side]);
        }
      }
    }
    return false;
  }

  bool go(NodeIndex through, TensorIndex to) {
    pattern_.add(through);
    scores_ = to;
    return true;
  }

  // Of the two summands the one that is scores, not a mask of the same shape.
  bool leads_to_product(TensorIndex tensor) const {
    for (int steps = 0; steps < 4; ++steps) {
      if (inner(tensor, "MatMul")) {
        return true;
      }
      std::optional<NodeIndex> back;
      for (const char* op : {"Mul", "Div", "Add"}) {
        back = back ? back : inner(tensor, op);
      }
      if (!back) {
        return false;
      }
      tensor = editor_.node(*back).inputs[0];
    }
    return false;
  }

  bool sizes() {
    const auto& score = editor_.tensor(product_).shape;
    const auto& query = editor_.tensor(query_).shape;
    const auto& key = editor_.tensor(key_).shape;
    const auto& value = editor_.tensor(value_).shape;
    const auto& output = editor_.tensor(editor_.node(root_).outputs[0]).shape;
    if (!score || !query || !key || !value || !output || score->size() < 3 || score->size() > 4 ||
        query->size() != score->size() || key->size() != score->size() ||
        value->size() != score->size() || output->size() != score->size()) {
      return false;
    }
    const std::size_t rank = score->size();
    for (std::size_t i = 0; i + 2 < rank; ++i) {
      if ((*query)[i] != (*score)[i] || (*key)[i] != (*score)[i] || (*value)[i] != (*score)[i]) {
        return false;
      }
    }
    batch_ = rank == 4 ? (*score)[0] : 1;
    heads_ = kv_heads_ = (*score)[rank - 3];
    queries_ = (*score)[rank - 2];
    keys_ = (*score)[rank - 1];
    key_width_ = (*query)[rank - 1];
    value_width_ = (*output)[rank - 1];
    return true;
  }

  // Before scale and transpositions that nobody else reads.
  TensorIndex source(TensorIndex tensor) {
    for (int steps = 0; steps < 3; ++steps) {
      std::optional<NodeIndex> through = inner(tensor, "Transpose");
      for (const char* op : {"Mul", "Div"}) {
        const auto scaled = inner(tensor, op);
        if (scaled && editor_.scalar(editor_.node(*scaled).inputs[1])) {
          through = scaled;
        }
      }
      if (!through) {
        break;
      }
      pattern_.add(*through);
      tensor = editor_.node(*through).inputs[0];
    }
    return tensor;
  }

  // k [batch, kv heads, keys, width] that was repeated for the heads of a group.
  TensorIndex before_repeats(TensorIndex tensor) {
    const auto flat = inner(tensor, "Reshape");
    const auto wide = flat ? inner(editor_.node(*flat).inputs[0], "Expand") : std::nullopt;
    const auto thin = wide ? inner(editor_.node(*wide).inputs[0], "Unsqueeze") : std::nullopt;
    if (!thin) {
      return tensor;
    }
    const TensorIndex origin = editor_.node(*thin).inputs[0];
    const auto& shape = editor_.tensor(origin).shape;
    const auto& repeated = editor_.tensor(tensor).shape;
    if (!shape || !repeated || shape->size() != 4 || repeated->size() != 4 ||
        (*repeated)[1] != heads_ || (*shape)[1] < 1 || heads_ % (*shape)[1] != 0) {
      return tensor;
    }
    kv_heads_ = (*shape)[1];
    pattern_.add(*flat);
    pattern_.add(*wide);
    pattern_.add(*thin);
    return source(origin);
  }

  void put(NodeIndex last) {
    std::vector<TensorIndex> inputs{query_, key_, value_};
    inputs.insert(inputs.end(), masks_.begin(), masks_.end());
    Node node = replacement(editor_.node(last), "tessera", "Attention", inputs);
    node.attributes = {{"batch", batch_},
                       {"heads", heads_},
                       {"kv_heads", kv_heads_},
                       {"queries", queries_},
                       {"keys", keys_},
                       {"key_width", key_width_},
                       {"value_width", value_width_}};
    pattern_.become(last, std::move(node));
  }

  Editor& editor_;
  Pattern pattern_;
  NodeIndex root_;
  TensorIndex scores_ = no_tensor;
  TensorIndex product_ = no_tensor;
  TensorIndex query_ = no_tensor;
  TensorIndex key_ = no_tensor;
  TensorIndex value_ = no_tensor;
  std::vector<TensorIndex> masks_;
  std::int64_t batch_ = 0;
  std::int64_t heads_ = 0;
  std::int64_t kv_heads_ = 0;
  std::int64_t queries_ = 0;
  std::int64_t keys_ = 0;
  std::int64_t key_width_ = 0;
  std::int64_t value_width_ = 0;
};

}  // namespace

std::uint64_t fuse_attention(Editor& editor) {
  std::uint64_t changes = 0;
  for (NodeIndex at = 0; at < editor.size(); ++at) {
    if (editor.is(at, "MatMul") && Finder(editor, at).fuse()) {
      ++changes;
    }
  }
  return changes;
}

// Concat of an input and new rows to an output of the model.
std::uint64_t append_to_caches(Editor& editor) {
  std::uint64_t changes = 0;
  for (NodeIndex at = 0; at < editor.size(); ++at) {
    if (!editor.is(at, "Concat") || editor.node(at).inputs.size() != 2) {
      continue;
    }
    const Node node = editor.node(at);
    const bool cache = node.inputs[0] != no_tensor && node.inputs[1] != no_tensor &&
                       editor.tensor(node.inputs[0]).role == Role::input &&
                       editor.readers(node.inputs[0]).size() == 1 &&
                       !editor.is_output(node.inputs[0]) && node.inputs[0] != node.inputs[1] &&
                       editor.is_output(node.outputs[0]);
    if (cache) {
      editor.put(at, replacement(node, "tessera", "AppendToCache", node.inputs));
      ++changes;
    }
  }
  return changes;
}

}  // namespace tessera::onnx
