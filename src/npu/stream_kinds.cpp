// Kinds of operators that the vector unit does, or that only move data: elementwise, norm, softmax,
// pool, embedding, transpose, concat, reshape.

#include <algorithm>
#include <utility>

#include "reading.hpp"
#include "tessera/npu/specs.hpp"

namespace tessera::npu {
namespace {

using Made = std::unique_ptr<TiledOperator>;

StreamInput whole(std::string name, std::uint64_t columns) {
  return {std::move(name), 0, columns, 1, 1, false};
}

StreamInput row_for_all(std::string name, std::uint64_t columns) {
  return {std::move(name), 0, columns, 1, 1, true};
}

Made make_elementwise(config::Section& section, const Target& target) {
  const std::uint64_t elements = read_extent(section, "elements");
  const std::string name = section.get_name("operation", vector_names());
  const std::uint64_t inputs = static_cast<std::uint64_t>(section.get_or<std::int64_t>(
      "inputs", 1, config::between<std::int64_t>(1, most_operands - 1)));
  if (!is_countable(section, {elements, inputs}) || name.empty()) {
    return nullptr;
  }
  StreamSpec spec;
  spec.columns = elements;
  for (std::uint64_t i = 0; i < inputs; ++i) {
    spec.inputs.push_back(whole("input " + std::to_string(i), elements));
  }
  spec.work = vector_work(name);
  if (spec.work.trees > 0) {
    section.error("operation", "works on rows; it is an operator of its own");
    return nullptr;
  }
  return lower(spec, target);
}

Made make_norm(config::Section& section, const Target& target) {
  StreamSpec spec;
  spec.rows = read_extent(section, "rows");
  spec.columns = read_extent(section, "columns");
  const bool is_rms = section.get_name("type", {"layer", "rms"}, "layer") == "rms";
  const bool skip = section.get_or("skip", false);
  if (!is_countable(section, {spec.rows, spec.columns})) {
    return nullptr;
  }
  spec.work = vector_work(is_rms ? "rms_norm" : "layer_norm");
  spec.inputs.push_back(whole("input", spec.columns));
  if (skip) {
    spec.inputs.push_back(whole("skip", spec.columns));
    spec.work = spec.work + vector_work("add");
  }
  spec.inputs.push_back(row_for_all("gain", spec.columns));
  if (!is_rms) {
    spec.inputs.push_back(row_for_all("bias", spec.columns));
  }
  return lower(spec, target);
}

Made make_softmax(config::Section& section, const Target& target) {
  StreamSpec spec;
  spec.rows = read_extent(section, "rows");
  spec.columns = read_extent(section, "columns");
  if (!is_countable(section, {spec.rows, spec.columns})) {
    return nullptr;
  }
  spec.work = vector_work("softmax");
  spec.inputs.push_back(whole("input", spec.columns));
  return lower(spec, target);
}

// Each element of the output looks at a window; those of neighbours overlap in the scratchpad and
// are loaded once.
Made make_pool(config::Section& section, const Target& target) {
  const std::uint64_t images = read_extent_or(section, "images", 1);
  const std::uint64_t height = read_extent(section, "height");
  const std::uint64_t width = read_extent(section, "width");
  const std::uint64_t channels = read_extent(section, "channels");
  const bool is_average = section.get_name("type", {"max", "average"}, "max") == "average";
  const bool is_global = section.get_or("global", false);
  const std::uint64_t kernel = is_global ? 1 : read_extent(section, "kernel");
  const std::uint64_t stride =
      is_global ? 1 : read_extent_or(section, "stride", std::max<std::uint64_t>(kernel, 1));
  const auto padding = static_cast<std::uint64_t>(
      is_global
          ? 0
          : section.get_or<std::int64_t>("padding", 0, config::between<std::int64_t>(0, 8191)));
  if (!is_countable(section, {images, height, width, channels, kernel, stride})) {
    return nullptr;
  }
  if (!is_global && (height + 2 * padding < kernel || width + 2 * padding < kernel)) {
    section.error("kernel", "larger than its input with padding");
    return nullptr;
  }
  const std::uint64_t rows = is_global ? 1 : (height + 2 * padding - kernel) / stride + 1;
  const std::uint64_t columns = is_global ? 1 : (width + 2 * padding - kernel) / stride + 1;
  const std::uint64_t window = is_global ? height * width : kernel * kernel;
  StreamSpec spec;
  spec.rows = images * rows;
  spec.columns = columns * channels;
  spec.work.adds = window;
  spec.work.muls = is_average ? 1 : 0;
  StreamInput input = whole("input", spec.columns);
  input.per = height * width;
  input.of = rows * columns;
  spec.inputs.push_back(input);
  return lower(spec, target);
}

// A row of a table for each token; with `positions`, a second one is added.
Made make_embedding(config::Section& section, const Target& target) {
  StreamSpec spec;
  spec.rows = read_extent(section, "tokens");
  spec.columns = read_extent(section, "width");
  const bool positions = section.get_or("positions", false);
  if (!is_countable(section, {spec.rows, spec.columns})) {
    return nullptr;
  }
  spec.inputs.push_back(whole("table", spec.columns));
  spec.work = vector_work("copy");
  if (positions) {
    spec.inputs.push_back(whole("positions", spec.columns));
    spec.work = vector_work("add");
  }
  return lower(spec, target);
}

Made make_transpose(config::Section& section, const Target& target) {
  StreamSpec spec;
  spec.rows = read_extent(section, "rows");
  spec.columns = read_extent(section, "columns");
  if (!is_countable(section, {spec.rows, spec.columns})) {
    return nullptr;
  }
  spec.transposes = true;
  spec.work = vector_work("copy");
  spec.inputs.push_back(whole("input", spec.columns));
  return lower(spec, target);
}

Made make_concat(config::Section& section, const Target& target) {
  StreamSpec spec;
  spec.rows = read_extent(section, "rows");
  spec.columns = 0;
  const std::vector<std::int64_t> parts = section.get_list<std::int64_t>("columns");
  for (const std::int64_t part : parts) {
    if (part < 1 || part > (1LL << 32)) {
      section.error("columns", "must be numbers from 1 on");
      return nullptr;
    }
    const std::uint64_t end = spec.columns + static_cast<std::uint64_t>(part);
    spec.inputs.push_back({"input " + std::to_string(spec.inputs.size()), spec.columns, end});
    spec.columns = end;
  }
  if (parts.empty() || parts.size() >= most_operands) {
    section.error("columns", "must be a list of the inputs' columns, one to " +
                                 std::to_string(most_operands - 1));
    return nullptr;
  }
  if (!is_countable(section, {spec.rows, spec.columns})) {
    return nullptr;
  }
  spec.work = vector_work("copy");
  return lower(spec, target);
}

Made make_reshape(config::Section& section, const Target& target) {
  StreamSpec spec;
  spec.columns = read_extent(section, "elements");
  if (!is_countable(section, {spec.columns})) {
    return nullptr;
  }
  spec.work = vector_work("copy");
  spec.inputs.push_back(whole("input", spec.columns));
  return lower(spec, target);
}

const ParameterInfo rows{"rows", "", "", "of the input and of the output"};
const ParameterInfo columns{"columns", "", "", "of the input and of the output"};

const Registration elementwise(operators(),
                               {"elementwise",
                                "an operation on each element, as activations, sums, products",
                                {{"elements", "", "", "of the output"},
                                 {"operation", "", "", "add, mul, relu, gelu, silu, tanh, …"},
                                 {"inputs", "", "1", "of as many elements each"}}},
                               make_elementwise);
const Registration norm(operators(),
                        {"norm",
                         "layer norm or RMS norm of rows",
                         {rows,
                          columns,
                          {"type", "", "layer", "layer or rms"},
                          {"skip", "", "false", "a second input is added first"}}},
                        make_norm);
const Registration softmax(operators(), {"softmax", "softmax of rows", {rows, columns}},
                           make_softmax);
const Registration pool(operators(),
                        {"pool",
                         "the largest or the mean of windows of images",
                         {{"images", "", "1", "in a batch"},
                          {"height", "", "", "of an image"},
                          {"width", "", "", "of an image"},
                          {"channels", "", "", "of an image"},
                          {"type", "", "max", "max or average"},
                          {"global", "", "false", "one window, the image; without the keys below"},
                          {"kernel", "", "", "side of a window"},
                          {"stride", "", "as kernel", "of windows"},
                          {"padding", "", "0", "on each side"}}},
                        make_pool);
const Registration embedding(operators(),
                             {"embedding",
                              "a row of a table for each token",
                              {{"tokens", "", "", "rows of the output"},
                               {"width", "", "", "of a row"},
                               {"positions", "", "false", "a row for the position is added"}}},
                             make_embedding);
const Registration transpose(operators(), {"transpose", "columns become rows", {rows, columns}},
                             make_transpose);
const Registration concat(operators(),
                          {"concat",
                           "inputs side by side",
                           {{"rows", "", "", "of all inputs"},
                            {"columns", "", "", "of each input, as a list"}}},
                          make_concat);
const Registration reshape(operators(),
                           {"reshape",
                            "a copy in another shape",
                            {{"elements", "", "", "of the input and of the output"}}},
                           make_reshape);

}  // namespace
}  // namespace tessera::npu
