// Tensor parallelism of a model: which nodes share a product's columns, its depth or the heads out,
// so that between them nothing has to be sent.
//
// Found are the pairs of Shoeybi et al., "Megatron-LM", arXiv:1909.08053, section 3: products by
// weights whose columns are cut, what keeps their cut (element-wise work, gates, attention by
// heads, views, splits of fused queries, keys and values), and the products by weights that
// contract the cut dimension, after which the sums are all-reduced. The cut goes through the graph
// as shardings do in GSPMD (Xu et al., arXiv:2105.04663): from a product's output to its readers,
// and from a reader that needs another operand cut alike back to where that is made. A set of nodes
// counts when every cut tensor ends in such a product, in a cache of keys and values, or, of a last
// product with more columns than depth (the vocabulary), in an output of the model. Columns may be
// put in any order beforehand, as Megatron does with fused queries, keys and values.
//
// The largest table that is looked up is cut by rows (section 3 there, input embedding). All else
// is done whole by every member, convolutions too.
#pragma once

#include <cstdint>
#include <vector>

#include "onnx/survey.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::sim {

struct NodeCut {
  workload::Sharding sharding = workload::Sharding::replicated;
  std::vector<bool> inputs;  // that are cut; empty: none
  // No more members than divide it have whole heads of all tensors of the set; 0: nothing is cut.
  std::uint64_t heads = 0;
  // The set that the node is part of, from 1 on; 0: none. Stages are not cut inside.
  std::uint32_t set = 0;

  bool is_cut(std::size_t input) const { return input < inputs.size() && inputs[input]; }
};

// By node of the graph.
std::vector<NodeCut> find_tensor_cuts(const OnnxSurvey& survey);

}  // namespace tessera::sim
