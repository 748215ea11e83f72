// A matrix product as an operator, and what readers of operators share.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "cut.hpp"
#include "gemm_tiling.hpp"
#include "tessera/npu/tiled_operator.hpp"

namespace tessera::npu {

struct ProductSpec {
  ProductShape shape;
  bool shared_weights = false;  // by all `count` products
  bool bias = false;
  bool residual = false;
  bool gathers = false;  // activations are gathered from windows of an image (IM2COL)
  std::string then;      // a vector operation on the output; empty: none
};

std::unique_ptr<TiledOperator> make_product(const ProductSpec& spec, const Target& target);

// Elements in one direction.
std::uint64_t read_extent(config::Section& section, const char* key);
std::uint64_t read_extent_or(config::Section& section, const char* key, std::uint64_t usual);
// Whether all extents were read and their product can be counted; complains if not.
bool is_countable(config::Section& section, std::initializer_list<std::uint64_t> extents);
std::vector<std::string> with_none(std::vector<std::string> names);

}  // namespace tessera::npu
