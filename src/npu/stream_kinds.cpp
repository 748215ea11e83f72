// Kinds of operators that the vector unit does, or that only move data: elementwise, norm, softmax,
// pool, embedding, transpose, concat, reshape.

#include <algorithm>
#include <utility>

#include "reading.hpp"
#include "tessera/config/conditional_key.hpp"
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

const auto elements_key = extent_key("elements", "elements of the output");
// Those that work on rows, as norms, are operators of their own.
std::vector<std::string> names_of_elements() {
  std::vector<std::string> names = vector_names();
  std::erase_if(names, [](const std::string& name) { return vector_work(name).trees > 0; });
  return names;
}

const config::NameKey operation_key{"operation", names_of_elements, "",
                                    "operation on each element: add, mul, relu, gelu, silu, "
                                    "tanh, …"};
const config::Key<std::uint64_t> inputs_key{
    "inputs", 1,
    "number of inputs, of this many elements each: several for add, mul and div, which take one "
    "operation fewer than inputs",
    config::between<std::uint64_t>(1, most_operands - 1)};

bool joins_inputs(const std::string& operation) {
  return operation == "add" || operation == "mul" || operation == "div";
}

Made make_elementwise(config::Section& section, const Target& target) {
  const std::uint64_t elements = elements_key.read(section);
  const std::string name = operation_key.read(section);
  const std::uint64_t inputs = inputs_key.read(section);
  if (!is_countable(section, {elements, inputs}) || name.empty()) {
    return nullptr;
  }
  if (inputs > 1 && !joins_inputs(name)) {
    section.error(inputs_key.key(),
                  "'" + name + "' has one input; several are for add, mul and div");
    return nullptr;
  }
  StreamSpec spec;
  spec.columns = elements;
  for (std::uint64_t i = 0; i < inputs; ++i) {
    spec.inputs.push_back(whole("input " + std::to_string(i), elements));
  }
  spec.work = vector_work(name);
  for (std::uint64_t joined = 2; joined < inputs; ++joined) {
    spec.work = spec.work + vector_work(name);
  }
  return lower(spec, target);
}

const auto rows_key = extent_key("rows", "rows of the input and of the output");
const auto columns_key = extent_key("columns", "columns of the input and of the output");
const config::ChoiceKey<bool> rms_key{
    "type", {{"layer", false}, {"rms", true}}, "layer", "layer norm or RMS norm: layer or rms"};
const config::Key<bool> skip_key{"skip", false, "a second input is added before the norm"};

Made make_norm(config::Section& section, const Target& target) {
  StreamSpec spec;
  spec.rows = rows_key.read(section);
  spec.columns = columns_key.read(section);
  const bool is_rms = rms_key.read(section);
  const bool skip = skip_key.read(section);
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
  spec.rows = rows_key.read(section);
  spec.columns = columns_key.read(section);
  if (!is_countable(section, {spec.rows, spec.columns})) {
    return nullptr;
  }
  spec.work = vector_work("softmax");
  spec.inputs.push_back(whole("input", spec.columns));
  return lower(spec, target);
}

const auto images_key = extent_key("images", 1, "images in a batch");
const auto height_key = extent_key("height", "height of an image");
const auto width_key = extent_key("width", "width of an image");
const auto channels_key = extent_key("channels", "channels of an image");
const config::ChoiceKey<bool> average_key{"type",
                                          {{"max", false}, {"average", true}},
                                          "max",
                                          "largest value or mean of each window: max or average"};
const config::Key<bool> global_key{"global", false,
                                   "the whole image is one window; excludes the keys below"};
const auto kernel_key = extent_key("kernel", "side length of a window");
const auto stride_key = derived_extent_key("stride", "as kernel", "stride of the windows");
const config::Key<std::uint64_t> padding_key{"padding", 0, "padding on each side",
                                             config::between<std::uint64_t>(0, 8191)};

// Each element of the output looks at a window; those of neighbours overlap in the scratchpad and
// are loaded once.
Made make_pool(config::Section& section, const Target& target) {
  const std::uint64_t images = images_key.read(section);
  const std::uint64_t height = height_key.read(section);
  const std::uint64_t width = width_key.read(section);
  const std::uint64_t channels = channels_key.read(section);
  const bool is_average = average_key.read(section);
  const bool is_global = global_key.read(section);
  const std::uint64_t kernel = is_global ? 1 : kernel_key.read(section);
  const std::uint64_t stride =
      is_global ? 1 : stride_key.read(section, std::max<std::uint64_t>(kernel, 1));
  const std::uint64_t padding = is_global ? 0 : padding_key.read(section);
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
  spec.work.flops = window;
  spec.work.muls = is_average ? 1 : 0;
  StreamInput input = whole("input", spec.columns);
  input.per = height * width;
  input.of = rows * columns;
  spec.inputs.push_back(input);
  return lower(spec, target);
}

const auto tokens_key = extent_key("tokens", "number of tokens, the rows of the output");
const auto row_width_key = extent_key("width", "elements of a row");
const config::Key<bool> positions_key{"positions", false,
                                      "a row for the position is added to each"};

// A row of a table for each token; with `positions`, a second one is added.
Made make_embedding(config::Section& section, const Target& target) {
  StreamSpec spec;
  spec.rows = tokens_key.read(section);
  spec.columns = row_width_key.read(section);
  const bool positions = positions_key.read(section);
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

// A single row lies in memory as a single column does: there is nothing to move.
Made make_transpose(config::Section& section, const Target& target) {
  StreamSpec spec;
  spec.rows = rows_key.read(section);
  spec.columns = columns_key.read(section);
  if (!is_countable(section, {spec.rows, spec.columns})) {
    return nullptr;
  }
  if (spec.rows == 1 || spec.columns == 1) {
    return lower_nothing(target);
  }
  spec.transposes = true;
  spec.work = vector_work("copy");
  spec.inputs.push_back(whole("input", spec.columns));
  return lower(spec, target);
}

const auto rows_of_all = extent_key("rows", "rows of every input");
const config::OtherKey parts_key{"columns", "list of integer", "",
                                 "columns of each input, as a list"};

Made make_concat(config::Section& section, const Target& target) {
  StreamSpec spec;
  spec.rows = rows_of_all.read(section);
  spec.columns = 0;
  const std::vector<std::int64_t> parts = section.get_list<std::int64_t>(parts_key.key());
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

const auto copied_key = extent_key("elements", "elements of the input and of the output");

Made make_reshape(config::Section& section, const Target& target) {
  StreamSpec spec;
  spec.columns = copied_key.read(section);
  if (!is_countable(section, {spec.columns})) {
    return nullptr;
  }
  spec.work = vector_work("copy");
  spec.inputs.push_back(whole("input", spec.columns));
  return lower(spec, target);
}

const Registration elementwise(operators(),
                               {"elementwise",
                                "an operation on each element, such as an activation, sum or "
                                "product",
                                {elements_key, operation_key, inputs_key}},
                               make_elementwise);
const Registration norm(operators(),
                        {"norm",
                         "layer norm or RMS norm of rows",
                         {rows_key, columns_key, rms_key, skip_key}},
                        make_norm);
const Registration softmax(operators(), {"softmax", "softmax of rows", {rows_key, columns_key}},
                           make_softmax);
const Registration pool(operators(),
                        {"pool",
                         "the largest value or the mean of each window of an image",
                         {images_key, height_key, width_key, channels_key, average_key, global_key,
                          config::where_used(kernel_key), stride_key, padding_key}},
                        make_pool);
const Registration embedding(operators(),
                             {"embedding",
                              "a row of a table for each token",
                              {tokens_key, row_width_key, positions_key}},
                             make_embedding);
const Registration transpose(operators(),
                             {"transpose",
                              "columns become rows; nothing moves if there is only one row or "
                              "column",
                              {rows_key, columns_key}},
                             make_transpose);
const Registration concat(operators(), {"concat", "inputs side by side", {rows_of_all, parts_key}},
                          make_concat);
const Registration reshape(operators(), {"reshape", "a copy in another shape", {copied_key}},
                           make_reshape);

}  // namespace
}  // namespace tessera::npu
