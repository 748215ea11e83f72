#include "serving/models.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "serving/keys.hpp"
#include "serving/served/graph.hpp"
#include "serving/served/layers.hpp"
#include "serving/served/weight_types.hpp"
#include "tessera/config/without_effect.hpp"
#include "tessera/core/error.hpp"
#include "tessera/onnx/description.hpp"
#include "tessera/onnx/import.hpp"
#include "tessera/onnx/passes/optimize.hpp"
#include "tessera/serving/language_model.hpp"
#include "tessera/sim/onnx/layers.hpp"
#include "tessera/workload/keys.hpp"

namespace tessera::sim {
namespace {

using config::Section;
using executor::ServiceSettings;
using executor::ServingWork;
using Tiles = std::vector<const machine::Tile*>;

constexpr std::size_t most_totals = 256;  // numbers of samples of a model

// Of tiles that have to do with numbers of this type.
void check_peaks(Section& model, const Tiles& tiles, DataType type, const char* key = "data_type") {
  for (const machine::Tile* const tile : tiles) {
    if (!tile->peak.contains(type) && !tile->peak.contains(element_type(type))) {
      model.error(model.has(key) ? key : "", "the model computes in " + to_string(type) +
                                                 ", of which the machine gives no peak (machine." +
                                                 tile->peak_key() + ")");
    }
  }
}

// "KEY: ..."
struct Complaint {
  explicit Complaint(const std::string& message)
      : key(message.substr(0, message.find(": "))),
        rest(message.substr(std::min(message.size(), key.size() + 2))) {}
  bool is_of_cut() const { return key == "tensor" || key == "pipeline" || key == "expert"; }
  void put(Section& at) const { at.error(at.has(key) ? key : "", rest); }

  std::string key;
  std::string rest;
};

using npu::StoredWeights;

// What a number takes in the cache; 0: what it takes where it is computed with.
std::uint64_t bits_in_cache(const std::string& type) {
  constexpr std::uint64_t byte = 8;
  const std::uint64_t bits = npu::bits_of_stored_type(type);
  const std::optional<DataType> computed = data_type_from(type);
  return bits == 0 && computed ? byte * element_size(*computed).count() : bits;
}

struct CacheScales {
  std::uint64_t group = 0;  // 0: there are none
  Bytes scale;
};

// With its scales, of which there are none with a type that the model computes in.
std::optional<StoredWeights> stored_with(Section& batching, std::uint64_t bits,
                                         const CacheScales& scales) {
  const auto stored = npu::stored_in(bits, scales.group, scales.scale);
  if (bits > 0 && !stored) {
    batching.error(served_keys().cache_scale.key(), "numbers with their scales take more than " +
                                                        to_string(Bytes(npu::most_weight_bytes)) +
                                                        " each");
  }
  return stored;
}

void note_unused_scales(Section& batching, bool are_stored) {
  const ServedKeys& keys = served_keys();
  const bool has_groups = batching.has(keys.cache_group.key());
  if (has_groups && !are_stored) {
    config::note_without_effect(batching, keys.cache_group.key(),
                                "a cache in the type that the model computes in");
  }
  if (batching.has(keys.cache_scale.key()) && !has_groups) {
    batching.raw(keys.cache_scale.key());
    batching.error(keys.cache_scale.key(),
                   "is of a group of numbers, whose 'cache_group_size' is not given");
  }
}

// Of keys and of values.
std::pair<std::optional<StoredWeights>, std::optional<StoredWeights>> read_cache_types(
    Section& tenant, const std::optional<workload::TransformerShape>& shape) {
  Section batching = tenant.section("batching");
  const ServedKeys& keys = served_keys();
  const std::uint64_t both = bits_in_cache(keys.cache_type.read(batching));
  std::array<std::uint64_t, 2> apart{};
  for (std::size_t place = 0; place < apart.size(); ++place) {
    const config::NameKey& key = place == 0 ? keys.key_type : keys.value_type;
    apart[place] = bits_in_cache(key.read(batching));
    if (apart[place] > 0 && shape && shape->latent) {
      batching.error(key.key(),
                     "latent attention keeps one vector for keys and values; its type "
                     "is 'cache_type'");
    }
  }
  if (both > 0 && apart[0] > 0 && apart[1] > 0) {
    config::note_without_effect(batching, keys.cache_type.key(),
                                "both key_type and value_type, which are given");
  }
  note_unused_scales(batching, both + apart[0] + apart[1] > 0);
  CacheScales scales{keys.cache_group.read(batching).value_or(0), Bytes()};
  if (scales.group > 0) {
    scales.scale = keys.cache_scale.read(batching);
  }
  const auto stored_keys = stored_with(batching, apart[0] > 0 ? apart[0] : both, scales);
  return {stored_keys, apart[0] == apart[1]
                           ? stored_keys
                           : stored_with(batching, apart[1] > 0 ? apart[1] : both, scales)};
}

std::optional<DataType> read_state_type(Section& tenant,
                                        const std::optional<workload::TransformerShape>& shape) {
  Section batching = tenant.section("batching");
  const std::optional<DataType> type = data_type_from(served_keys().state_type.read(batching));
  if (type && shape && !shape->ssm) {
    config::note_without_effect(batching, "state_type", "a model without state-space layers");
  }
  return type;
}

void note_rooms_of_experts(Section& model, const workload::TransformerShape& shape) {
  if (!shape.experts) {
    return;
  }
  constexpr std::string_view with = "requests, whose tokens experts take as they come";
  Section experts = model.section("experts");
  if (shape.experts->capacity_millionths != workload::ExpertShape{}.capacity_millionths) {
    config::note_without_effect(experts, "capacity_factor", with);
  }
  if (shape.experts->room != workload::ExpertShape{}.room) {
    config::note_without_effect(experts, "room", with);
  }
}

// Tokens that were wrong leave the cache, but not a state.
void check_drafts(Section& tenant, const ServiceSettings& made) {
  if (made.batching.drafts > 0 && made.batching.layout.states > 0) {
    Section speculation = tenant.section("speculation");
    speculation.error("tokens",
                      "state-space layers cannot take back tokens that a draft had wrong");
  }
}

}  // namespace

std::unique_ptr<serving::ServedModel> read_language_model(Section& tenant, ServiceSettings& made,
                                                          const ServingWork& work,
                                                          const Tiles& tiles,
                                                          std::uint32_t& longest) {
  Section model = tenant.section("language_model");
  served_keys().language_kind.read(model);
  workload::title_key().read(model, "");
  const auto shape = workload::read_transformer_shape(
      model, work.on_tiles ? workload::Products::of_own_type : workload::Products::of_data_type);
  const std::uint32_t tensor = served_keys().tensor.read(tenant);
  const std::uint32_t pipeline = served_keys().pipeline.read(tenant);
  const std::uint32_t expert = served_keys().expert.read(tenant);
  made.experts_spread = expert > 1;
  if (made.batching.sequences > std::uint64_t{serving::most_sequences} * expert) {
    Section batching = tenant.section("batching");
    batching.error("sequences",
                   "at most " + std::to_string(serving::most_sequences) + " on an NPU ('expert')");
  }
  serving::WeightTypes weights = read_weight_types(tenant, shape);
  const auto [stored_keys, stored_values] = read_cache_types(tenant, shape);
  const std::optional<DataType> state_type = read_state_type(tenant, shape);
  if (!shape) {
    return nullptr;
  }
  note_rooms_of_experts(model, *shape);
  longest =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(shape->sequence, serving::most_keys));
  made.data_type = shape->data_type;
  if (work.on_tiles) {
    check_peaks(model, tiles, shape->data_type);
  }
  if (shape->products) {
    made.product_type = shape->products->type;
    check_peaks(model, tiles, shape->products->type, "product_type");
    keep_as_multiplied(*shape->products, shape->data_type, weights);
  }
  try {
    auto served = serving::make_language_model(
        {*shape, work.on_tiles ? nullptr : &work.core, tensor, pipeline, made.batching.block,
         made.batching.sequences, made.batching.tokens, work.cores(), weights, stored_keys,
         stored_values, state_type, made.adapter_rank, made.batching.adapter_slots, expert});
    made.batching.layout = served->cache_layout();
    made.batching.units = expert;
    note_unused_types(tenant, *shape);
    check_drafts(tenant, made);
    return served;
  } catch (const ConfigError& error) {
    const Complaint complaint(error.diagnostics().front().message);
    complaint.put(complaint.is_of_cut() ? tenant : model);
    return nullptr;
  }
}

namespace {

// What the section `onnx` of a tenant says.
struct Described {
  std::optional<DataType> data_type;
  std::string batch;
  onnx::Description model;

  onnx::Graph graph_of(std::uint32_t samples) const { return std::move(import_of(samples).graph); }
  onnx::Import import_of(std::uint32_t samples) const {
    onnx::ImportOptions options = model.options;
    if (!batch.empty()) {
      options.dimensions[batch] = samples;
    }
    onnx::Import import = onnx::import_model(model.path, options);
    onnx::optimize(import.graph, model.level);
    return import;
  }
};

Described read_described(Section& model) {
  Described described;
  described.data_type = data_type_from(served_keys().onnx_type.read(model));
  described.batch = served_keys().onnx_batch.read(model);
  described.model = onnx::read_description(model);
  return described;
}

// Numbers of samples that batches may have; none after a complaint.
std::vector<std::uint32_t> totals_of(const ServiceSettings& made, const Described& described,
                                     Section& model) {
  const std::string& batch = described.batch;
  if (described.model.options.dimensions.contains(batch)) {
    model.error("batch", "'" + batch + "' is one of the dimensions that are bound already");
    return {};
  }
  std::vector<std::uint32_t> totals =
      serving::possible_samples(*made.requests, made.batching, most_totals);
  if (batch.empty() && totals.back() > 1) {
    model.error("", "batches have up to " + std::to_string(totals.back()) +
                        " samples; 'batch' must name the dimension of the model that they are");
    return {};
  }
  if (totals.size() > most_totals) {
    model.error("", "batches may have more than " + std::to_string(most_totals) +
                        " different numbers of samples; no more are possible");
    return {};
  }
  return totals;
}

// Calls `make`, whose complaints go to the model, those about cuts to the tenant.
std::unique_ptr<serving::ServedModel> complaining(
    Section& tenant, Section& model,
    const std::function<std::unique_ptr<serving::ServedModel>()>& make) {
  try {
    return make();
  } catch (const ConfigError& error) {
    for (const Diagnostic& diagnostic : error.diagnostics()) {
      const Complaint complaint(diagnostic.message);
      const std::string file = diagnostic.file.empty() ? "" : diagnostic.file + ": ";
      if (complaint.is_of_cut()) {
        complaint.put(tenant);
      } else {
        model.error("model", file + diagnostic.message);
      }
    }
  } catch (const IoError& error) {
    model.error("model", error.what());
  }
  return nullptr;
}

// What operators of so many samples compute in.
std::set<DataType> types_of(const serving::ServedModel& served, std::uint32_t samples) {
  const serving::TileModel& model = *served.on_tiles();
  const serving::StepSizes sizes = model.sizes_of({{}, 0, samples});
  std::set<DataType> types;
  for (std::uint32_t unit = 0; unit < served.units(); ++unit) {
    for (const serving::WalkPart& part : model.walk(unit, sizes)) {
      if (part.kind == serving::WalkPart::Kind::operation) {
        types.insert(model.operation(part.op, sizes).operation.data_type);
      }
    }
  }
  return types;
}

std::unique_ptr<serving::ServedModel> layers_on_tiles(const Described& described, Section& model,
                                                      ServedLayersSetup setup, const Tiles& tiles,
                                                      ServiceSettings& made) {
  const std::optional<DataType> type =
      described.data_type ? described.data_type
                          : data_type_of(described.import_of(setup.samples.back()).graph);
  if (!type) {
    model.error("data_type", "the model has no floating-point numbers; name a format");
    return nullptr;
  }
  made.data_type = setup.data_type = *type;
  const std::uint32_t samples = setup.samples.back();
  auto served = make_served_layers(std::move(setup));
  std::set<DataType> types = types_of(*served, samples);
  types.insert(*type);
  for (const DataType each : types) {
    check_peaks(model, tiles, each);
  }
  return served;
}

}  // namespace

std::unique_ptr<serving::ServedModel> read_onnx(Section& tenant, ServiceSettings& made,
                                                const ServingWork& work, const Tiles& tiles) {
  Section model = tenant.section("onnx");
  const Described described = read_described(model);
  made.data_type = described.data_type;
  const std::uint32_t tensor = served_keys().tensor.read(tenant);
  const std::uint32_t pipeline = served_keys().pipeline.read(tenant);
  for (const auto& [key, degree] : {std::pair{served_keys().tensor.key(), tensor},
                                    std::pair{served_keys().pipeline.key(), pipeline}}) {
    if (!work.on_tiles && degree > 1) {
      tenant.error(
          key,
          "NPU cores serve a model of ONNX whole; tiles of other compute models cut it, and NPU "
          "cores with 'steps: whole'");
    }
  }
  if (!model.has("model") || made.requests == nullptr) {
    return nullptr;
  }
  std::vector<std::uint32_t> totals = totals_of(made, described, model);
  if (totals.empty()) {
    return nullptr;
  }
  const auto graph_of = [described](std::uint32_t samples) { return described.graph_of(samples); };
  return complaining(tenant, model, [&]() -> std::unique_ptr<serving::ServedModel> {
    onnx::tell_notices(model, described.model, described.import_of(totals.back()).notices);
    if (work.on_tiles) {
      return layers_on_tiles(described, model,
                             {graph_of, std::move(totals), DataType::fp16, tensor, pipeline}, tiles,
                             made);
    }
    return make_served_graph(
        {work.core, graph_of, std::move(totals), described.data_type, work.cores()});
  });
}

}  // namespace tessera::sim
