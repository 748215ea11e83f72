// Activations that wait in the host's memory for their backward pass.
//
// Method. What a layer keeps is copied out when it has gone forward, over the link of its device to
// the host (machine::Host), while the next layer is computed; before that layer's own copy begins
// the one before must be over, so that two layers are on the device at most. Before a layer goes
// backward what it kept is copied in, while the layer behind it goes backward. Copies of one way
// follow each other; the ways do not hinder each other. The last layer of a chunk, needed first,
// stays. As Megatron-LM's cpu_offloading_num_layers and Transformer Engine's cpu_offload.py, which
// double-buffer copies by layer; Rajbhandari et al., "ZeRO-Infinity", arXiv:2104.07857, section
// 5.1.2, offload the inputs of checkpointed layers so.
//
// L layers of forward time f, each with a copy of time c, take f + (L - 1) max(f, c) forward; and
// with a backward time b, c before the first copied layer unless what is computed before hides it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tessera/config/document.hpp"
#include "tessera/core/registry.hpp"
#include "tessera/core/units.hpp"

namespace tessera::plan {

struct Offload {
  std::uint32_t layers = 0;  // of each chunk, from its first on; the last one stays anyway
  Fraction fraction;         // of what each keeps

  bool is_on() const { return layers > 0; }
  // Whether layer `number` of a chunk of `count` is copied.
  bool covers(std::size_t number, std::size_t count) const {
    return number < layers && number + 1 < count;
  }
  // Of what a layer keeps, rounded up.
  Bytes share_of(Bytes kept) const;
  friend bool operator==(const Offload&, const Offload&) = default;
};

std::vector<ParameterInfo> offload_parameters();

// Of the section `offload` of a strategy, which it finishes.
Offload read_offload(config::Section& strategy);

}  // namespace tessera::plan
