// Operators without sums in the array: elements are loaded, go through the vector unit, and are
// stored. The output is rows and columns, cut in both directions.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tessera/npu/tiled_operator.hpp"
#include "tessera/npu/vector_work.hpp"

namespace tessera::npu {

// What is loaded for some columns of the output.
struct StreamInput {
  std::string name;
  std::uint64_t begin = 0;  // columns of the output that it serves
  std::uint64_t end = 0;
  std::uint64_t per = 1;  // elements for each `of` of the output
  std::uint64_t of = 1;
  bool for_all_rows = false;  // one row serves all
};

struct StreamSpec {
  std::uint64_t rows = 1;
  std::uint64_t columns = 1;
  std::vector<StreamInput> inputs;
  VectorWork work;          // of each element of the output, and of each row
  bool transposes = false;  // columns become rows
};

std::unique_ptr<TiledOperator> make_stream(const StreamSpec& spec, const Target& target);

}  // namespace tessera::npu
