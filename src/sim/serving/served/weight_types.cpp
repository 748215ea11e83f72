#include "serving/served/weight_types.hpp"

#include <algorithm>
#include <array>

#include "tessera/config/without_effect.hpp"
#include "tessera/core/data_type.hpp"

namespace tessera::sim {
namespace {

using config::Section;
using serving::WeightClass;
using serving::WeightOperator;

struct ClassKey {
  const char* name;
  WeightClass of_class;
  const char* absent;  // from which models
};

constexpr std::array<ClassKey, serving::weight_class_count> classes{{
    {"attention", WeightClass::attention, "a model without attention and state-space layers"},
    {"mlp", WeightClass::mlp, "a model whose layers have no dense MLP"},
    {"experts", WeightClass::experts, "a model without experts"},
    {"router", WeightClass::router, "a model without experts"},
    {"head", WeightClass::head, "a model whose head is tied"},
}};

// A class of one operator may have its name, and is what it says then.
bool is_class(const std::string& name) {
  return std::ranges::any_of(classes, [&](const ClassKey& one) { return name == one.name; });
}

bool is_of_layers(WeightClass of_class) {
  return serving::WeightTypes::of_layers(npu::StoredWeights::plain(Bytes(1)))
      .of(of_class)
      .has_value();
}

void refuse_tied_head(Section& weights) {
  for (const char* const key : {"head", "lm_head"}) {
    if (weights.has(key)) {
      weights.error(key,
                    "the head is the table of the vocabulary ('tie_embeddings'), whose type is "
                    "'word_embedding'");
    }
  }
}

// Of a class the model may have operators, and some of them may have no types of their own.
struct ClassUse {
  bool is_there = false;
  bool is_asked = false;
};

ClassUse use_of(WeightClass of_class, const std::vector<WeightOperator>& operators,
                const Section& weights) {
  ClassUse use;
  for (const WeightOperator& one : operators) {
    if (one.of_class == of_class) {
      use.is_there = true;
      use.is_asked = use.is_asked || is_class(one.name) || !weights.has(one.name);
    }
  }
  return use;
}

void note_absent_operators(Section& weights, const std::vector<WeightOperator>& operators) {
  for (const std::string& part : weight_part_keys()) {
    const bool is_there =
        std::ranges::any_of(operators, [&](const WeightOperator& one) { return one.name == part; });
    if (!is_class(part) && weights.has(part) && !is_there) {
      config::note_without_effect(weights, part, "a model without that operator");
    }
  }
}

}  // namespace

const std::vector<std::string>& weight_part_keys() {
  static const std::vector<std::string> keys = [] {
    std::vector<std::string> names;
    for (const ClassKey& one : classes) {
      names.emplace_back(one.name);
    }
    for (const WeightOperator& one : serving::weight_operators()) {
      if (!is_class(one.name)) {
        names.push_back(one.name);
      }
    }
    return names;
  }();
  return keys;
}

serving::WeightTypes read_weight_types(Section& tenant,
                                       const std::optional<workload::TransformerShape>& shape) {
  if (!tenant.has("weights")) {
    return {};
  }
  Section weights = tenant.section("weights");
  // Types of operators can stand alone; a name that is misspelt is complained of by itself.
  const bool has_own = weights.has("type") || weights.has("group_size") || weights.has("scale");
  auto types = serving::WeightTypes::of_layers(
      !weights.keys().empty() && !has_own ? std::nullopt : npu::read_stored_weights(tenant));
  for (const ClassKey& one : classes) {
    if (weights.has(one.name)) {
      types.of(one.of_class) = npu::read_stored_weights(weights, one.name);
    }
  }
  for (const std::string& part : weight_part_keys()) {
    const auto stored = is_class(part) ? std::nullopt : npu::read_stored_weights(weights, part);
    if (stored) {
      types.set(part, *stored);
    }
  }
  if (shape && shape->tie_embeddings) {
    refuse_tied_head(weights);
  }
  return types;
}

void note_unused_types(Section& tenant, const workload::TransformerShape& shape) {
  if (!tenant.has("weights")) {
    return;
  }
  Section weights = tenant.section("weights");
  const std::vector<WeightOperator> operators = serving::weight_operators_of(shape);
  bool leaves_some = false;
  for (const ClassKey& one : classes) {
    const ClassUse use = use_of(one.of_class, operators, weights);
    leaves_some =
        leaves_some || (use.is_asked && is_of_layers(one.of_class) && !weights.has(one.name));
    if (weights.has(one.name) && !use.is_asked) {
      config::note_without_effect(
          weights, one.name, use.is_there ? "separate types for all its products" : one.absent);
    }
  }
  note_absent_operators(weights, operators);
  if (!leaves_some) {
    for (const char* const of_all : {"type", "group_size"}) {
      config::note_without_effect(weights, of_all,
                                  "separate types for all products of the model's layers");
    }
  }
}

void keep_as_multiplied(const NumberFormat& products, DataType data_type,
                        serving::WeightTypes& weights) {
  if (element_size(products.type) >= element_size(data_type)) {
    return;
  }
  constexpr std::uint64_t bits_of_byte = 8;
  const bool in_squares = products != format_of(products.type);
  const auto stored = npu::stored_in(
      bits_of_byte * element_size(products.type).count(),
      in_squares ? products.group_size * products.group_size : products.group_size, products.scale);
  for (const ClassKey& one : classes) {
    std::optional<npu::StoredWeights>& of_class = weights.of(one.of_class);
    if (is_of_layers(one.of_class) && !of_class) {
      of_class = stored;
    }
  }
}

}  // namespace tessera::sim
