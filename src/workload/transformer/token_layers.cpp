#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "transformer/layers.hpp"

namespace tessera::workload {
namespace {

// Nothing of training, and nothing that is a matter of how a plan's kernels are put together.
TransformerShape of_one_token(TransformerShape shape) {
  shape.sequence = 1;
  shape.attention = AttentionKind::flash;
  shape.layout_copies = LayoutCopies::none;
  shape.causal = shape.dropout = shape.loss = false;
  shape.join_gradients = shape.sums_bias_gradients = false;
  if (shape.experts) {
    shape.experts->count = shape.experts->top_k;
    shape.experts->capacity_millionths = 1'000'000;
    shape.experts->room = ExpertRoom::padded;
    shape.experts->shares.clear();
  }
  return shape;
}

}  // namespace

std::vector<Layer> token_layers(TransformerShape shape) {
  std::vector<Layer> layers = transformer_layers(of_one_token(shape));
  if (!shape.experts) {
    return layers;
  }
  const std::vector<Operator> routers = router_operators(shape, 1);
  for (Layer& layer : layers) {
    for (Operator& op : layer.operators) {
      for (const Operator& router : routers) {
        if (op.name == router.name) {
          op = router;
        }
      }
    }
  }
  return layers;
}

}  // namespace tessera::workload
