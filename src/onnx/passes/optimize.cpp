#include "tessera/onnx/passes/optimize.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "passes/passes.hpp"
#include "tessera/core/error.hpp"
#include "tessera/core/text.hpp"

namespace tessera::onnx {
namespace {

constexpr std::array level_texts{"none", "basic", "extended", "all"};

constexpr std::array list{
    Pass{"constant folding", Level::basic, fold_constants},
    Pass{"views that do nothing", Level::basic, drop_views},
    Pass{"common subexpressions", Level::basic, merge_equal_nodes},
    Pass{"batch norm into weights", Level::basic, fold_batch_norm},
    Pass{"channel constants into weights", Level::basic, fold_channel_constants},
    Pass{"bias into products", Level::basic, add_bias_to_products},
    Pass{"dead code", Level::basic, drop_dead_code},
    Pass{"packed weights into products", Level::extended, take_in_packed_weights},
    Pass{"movement of quantised numbers", Level::extended, move_quantized},
    Pass{"operators on quantised numbers", Level::extended, compute_on_quantized},
    Pass{"layer norm recognised", Level::extended, recognise_layer_norm},
    Pass{"RMS norm recognised", Level::extended, recognise_rms_norm},
    Pass{"GELU recognised", Level::extended, recognise_gelu},
    Pass{"GELU of tanh recognised", Level::extended, recognise_tanh_gelu},
    Pass{"hard sigmoid recognised", Level::extended, recognise_hard_sigmoid},
    Pass{"hard swish recognised", Level::extended, recognise_hard_swish},
    Pass{"SiLU recognised", Level::extended, recognise_silu},
    Pass{"attention", Level::extended, fuse_attention},
    Pass{"cache appended to in place", Level::extended, append_to_caches},
    Pass{"skip into norm", Level::extended, fuse_skip_norm},
    Pass{"bias, skip and activation into products", Level::extended, fuse_epilogues},
    Pass{"dead code", Level::extended, drop_dead_code},
    Pass{"transposes read in place", Level::all, read_transposes_in_place},
    Pass{"element-wise chains", Level::all, fuse_chains},
    Pass{"dead code", Level::all, drop_dead_code},
};

// A pass may make work for one before it; so often at most.
constexpr int most_rounds = 8;

}  // namespace

std::span<const Pass> passes() {
  return list;
}

std::string to_string(Level level) {
  return level_texts.at(static_cast<std::size_t>(level));
}

std::vector<std::string> level_names() {
  return {level_texts.begin(), level_texts.end()};
}

Level level_from(const std::string& name) {
  const auto* const found = std::find(level_texts.begin(), level_texts.end(), name);
  if (found == level_texts.end()) {
    throw ConfigError(unknown_name("optimisation level", name, level_names()));
  }
  return static_cast<Level>(found - level_texts.begin());
}

std::vector<PassReport> optimize(Graph& graph, Level level) {
  std::vector<PassReport> reports;
  for (Level stage = Level::basic; stage <= level;
       stage = static_cast<Level>(static_cast<int>(stage) + 1)) {
    std::uint64_t changes = 1;
    for (int round = 0; round < most_rounds && changes > 0; ++round) {
      changes = 0;
      for (const Pass& pass : passes()) {
        if (pass.level != stage) {
          continue;
        }
        Editor editor(graph);
        const std::uint64_t made = pass.run(editor);
        editor.finish();
        changes += made;
        const auto known = std::find_if(reports.begin(), reports.end(), [&](const auto& report) {
          return report.pass == pass.name;
        });
        if (known != reports.end()) {
          known->changes += made;
        } else if (made > 0) {
          reports.push_back({pass.name, made});
        }
      }
    }
  }
  check_order(graph);
  return reports;
}

void check_order(const Graph& graph) {
  std::vector<bool> made(graph.tensors.size());
  for (TensorIndex at = 0; at < graph.tensors.size(); ++at) {
    made[at] = graph.tensors[at].role != Role::activation;
  }
  const auto exists = [&](TensorIndex at) {
    ensure(at == no_tensor || at < graph.tensors.size(), "a tensor that there is not");
  };
  for (const Node& node : graph.nodes) {
    for (const TensorIndex at : node.inputs) {
      exists(at);
      ensure(at == no_tensor || made[at], "a tensor is read before it is made");
    }
    const auto expect_input = [&node](TensorIndex operand) {
      ensure(std::find(node.inputs.begin(), node.inputs.end(), operand) != node.inputs.end(),
             "an operand that is no input");
    };
    for (const Epilogue& step : node.epilogue) {
      std::for_each(step.operands.begin(), step.operands.end(), expect_input);
    }
    std::for_each(node.widened_by.begin(), node.widened_by.end(), expect_input);
    for (const TensorIndex at : node.outputs) {
      exists(at);
      if (at != no_tensor) {
        ensure(!made[at], "a tensor is made twice");
        made[at] = true;
      }
    }
  }
  for (const TensorIndex at : graph.outputs) {
    exists(at);
    ensure(made[at], "an output that nobody makes");
  }
}

}  // namespace tessera::onnx
