// Builds the operators of one layer of the `layers` workload, each from the shape of its inputs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "operators.hpp"
#include "tessera/config/document.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::workload {

// [height, width, channels], [tokens, features] or [features]: features are last.
struct Shape {
  std::vector<std::uint64_t> sides;

  std::uint64_t elements() const;
  std::uint64_t features() const { return sides.back(); }
  std::uint64_t positions() const { return elements() / features(); }
  Shape with_features(std::uint64_t features) const;
  std::string to_string() const;
  friend bool operator==(const Shape&, const Shape&) = default;
};

// What one operator hands to others.
struct LayerTensor {
  std::size_t number = 0;
  Shape shape;
  bool cut = false;                     // along its features over the tensor group
  std::optional<std::size_t> producer;  // place in the operators; none: the layer's input
};

struct Pair {
  std::uint64_t rows = 1;
  std::uint64_t columns = 1;
};

// One operator as it stands in the file. A kind uses what its keys are; see operator_kinds().
struct OperatorSpec {
  explicit OperatorSpec(config::Section of) : section(std::move(of)) {}

  config::Section section;  // for complaints
  std::string kind;
  std::string name;
  bool has_name = false;          // the section's `name` is this one's
  std::vector<std::string> from;  // empty: the operator before
  Sharding sharding{};
  std::uint64_t outputs = 0;  // features
  std::uint64_t rows = 0;     // of an embedding
  Pair kernel;
  Pair stride;
  Pair padding{0, 0};
  Pair dilation;
  std::uint64_t groups = 0;
  bool bias = false;
  bool average = false;
  bool global = false;
  AttentionShape attention;
};

class LayerBuilder {
 public:
  LayerBuilder(const OperatorMaker& make, bool training, Shape input);

  const OperatorMaker& make() const { return make_; }
  bool training() const { return training_; }
  const LayerTensor& input() const { return input_; }
  std::vector<Operator>& operators() { return operators_; }

  // Appends the operator, whose output the tensor is.
  LayerTensor add(Operator op, Shape shape, bool cut);
  // The operator keeps the tensor for backward unless another one of the layer does.
  void keep_input(Operator& op, const LayerTensor& tensor);

 private:
  OperatorMaker make_;
  bool training_;
  LayerTensor input_;
  std::vector<Operator> operators_;
  std::vector<bool> kept_{false};  // by number of the tensor
};

struct OperatorKind {
  // Reads the kind's own keys; false after a complaint that leaves it without a meaning. Null when
  // there are none.
  bool (*read)(config::Section& section, OperatorSpec& spec);
  // Appends the operator and gives its output; without one after a complaint.
  std::optional<LayerTensor> (*build)(LayerBuilder& layer, OperatorSpec& spec,
                                      const std::vector<LayerTensor>& inputs);
  bool joins = false;  // several inputs, else one
  // Those that `read` reads; null when there are none.
  std::vector<ParameterInfo> (*keys)() = nullptr;

  bool keyless() const { return read == nullptr && !joins; }
};

// "convolution" and so on.
const std::map<std::string, OperatorKind>& operator_kinds();
// The keys of all kinds, each once, for `tessera list`.
std::vector<ParameterInfo> operator_parameters();

}  // namespace tessera::workload
