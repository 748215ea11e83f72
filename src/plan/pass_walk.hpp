// What one pass through layers holds, layer by layer.
#pragma once

#include <cstddef>
#include <vector>

#include "tessera/plan/memory.hpp"
#include "tessera/plan/strategy.hpp"

namespace tessera::plan {

// What is held while a pass is at work on a layer.
struct LayerUse {
  MemoryUse use;
  std::uint32_t exchanges = 0;  // of tokens, in the layer
};

// Keeps what is most.
void keep_most(const Strategy& strategy, const MemoryUse& use, PassMemory& pass);

// Walks through the layers of one pass and keeps what is most.
class PassWalk {
 public:
  // Layers from `first` on, before `end`; `kind_of` refers to `kinds`, by layer. All must outlive
  // it.
  PassWalk(const Strategy& strategy, const std::vector<LayerMemory>& kinds,
           const std::vector<std::size_t>& kind_of, std::size_t first, std::size_t end);

  PassMemory forward();
  PassMemory backward();
  // What was computed again, and gradients of outputs, stay for the gradients of weights.
  PassMemory input_gradient();
  PassMemory weight_gradient();

  // Layer by layer, in the order of the pass.
  std::vector<LayerUse> forward_layers() const;
  std::vector<LayerUse> backward_layers() const;

 private:
  const LayerMemory& layer(std::size_t index) const { return kinds_[kind_of_[index]]; }
  bool is_corner(std::size_t index) const;
  template <class Of>
  Bytes sum(const Of& of) const;
  template <class Visit>
  void each_backward(const Visit& visit) const {
    for (std::size_t index = end_; index > first_; --index) {
      visit(index - 1);
    }
  }
  void find_units();
  Bytes unit_gathered(std::size_t index) const;
  Bytes unit_scattered(std::size_t index) const;
  // With the layers from `from` on, before `end`, it among them.
  Bytes gathered(std::size_t index, std::size_t from, std::size_t end) const;
  Bytes scattered(std::size_t index) const;
  Bytes unfit(std::size_t index) const;
  Bytes offloaded(std::size_t index) const;
  Bytes resident(std::size_t index) const { return layer(index).stored - offloaded(index); }
  Bytes beside(std::size_t index) const;
  MemoryUse at_work_forward(std::size_t index, Bytes kept) const;
  MemoryUse at_work_backward(std::size_t index, Bytes kept) const;
  MemoryUse at_work_whole(std::size_t index, Bytes kept) const;
  void take(const MemoryUse& use) { keep_most(strategy_, use, pass_); }

  const Strategy& strategy_;
  const std::vector<LayerMemory>& kinds_;
  const std::vector<std::size_t>& kind_of_;
  std::size_t first_;
  std::size_t end_;
  // With fully_shard: the layers that are not repeated are one unit, those that are one each.
  struct Units {
    Bytes once;            // weights of what is not repeated
    Bytes once_new;        // gradients of it, as they come
    Bytes last;            // weights of the last repeated layer
    Bytes buffers;         // of gathers
    std::size_t end = 0;   // behind the last repeated layer
    bool gathers = false;  // again in every pass
  };
  Units units_;
  PassMemory pass_;
};

}  // namespace tessera::plan
