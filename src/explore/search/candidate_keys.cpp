// One strategy among candidates, as settings, words and a plan have it.
#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "tessera/core/error.hpp"
#include "tessera/explore/candidates.hpp"
#include "tessera/plan/schedule/schedule.hpp"
#include "whole_number.hpp"

namespace tessera::explore {

const std::vector<std::pair<std::string, plan::Recompute>>& recomputations() {
  static const std::vector<std::pair<std::string, plan::Recompute>> all{
      {"none", plan::Recompute::none},
      {"selective", plan::Recompute::selective},
      {"full", plan::Recompute::full},
      {"alternate", plan::Recompute::alternate}};
  return all;
}

std::string name_of(plan::Recompute recompute) {
  for (const auto& [name, each] : recomputations()) {
    if (each == recompute) {
      return name;
    }
  }
  throw InternalError("a recomputation outside its list");
}

plan::Recompute recompute_named(const std::string& name) {
  for (const auto& [each, recompute] : recomputations()) {
    if (each == name) {
      return recompute;
    }
  }
  throw ConfigError("'" + name + "' is no recomputation");
}

KeptPlacement::KeptPlacement(const config::Value& placement) {
  for (const config::Value::Member& member : placement.members) {
    if (member.key == "layout" || member.key == "tiles") {
      continue;
    }
    keys_.emplace_back(member.key, config::to_inline_yaml(member.value));
    if (member.value.kind == config::Value::Kind::sequence) {
      std::uint64_t& tiles = tiles_[member.key] = 1;
      for (const config::Value& side : member.value.items) {
        tiles *= whole_number(side.text).value_or(0);
      }
    }
  }
}

std::string KeptPlacement::with(const std::string& layout,
                                const std::optional<Tiles>& tiles) const {
  const auto means_something = [&](const std::string& key) {
    if (const auto shape = tiles_.find(key); shape != tiles_.end()) {
      return layout != "linear" && shape->second == (key == "group" ? tiles->stage : tiles->tensor);
    }
    if (key == "band" || key == "replica_order") {
      return layout == "replicas";
    }
    return key == "tensor_members" ? layout != "linear" : layout == "optimized";
  };
  std::string text = "{layout: " + layout;
  for (const auto& [key, value] : keys_) {
    text += !tiles || means_something(key) ? ", " + key + ": " + value : "";
  }
  return text + "}";
}

std::vector<std::string> Candidate::settings(const KeptPlacement& placement) const {
  const auto number = [](const char* key, std::uint64_t value) {
    return std::string("strategy.") + key + "=" + std::to_string(value);
  };
  const auto flag = [](const char* key, bool value) {
    return std::string("strategy.") + key + (value ? "=true" : "=false");
  };
  return {number("pipeline", degrees.pipeline),
          number("tensor", degrees.tensor),
          number("data", degrees.data),
          number("context", context),
          number("expert", expert),
          flag("sequence_parallel", sequence_parallel),
          number("micro_batch", micro_batch),
          number("chunks", chunks),
          "strategy.schedule=" + schedule,
          "strategy.recompute=" + name_of(recompute),
          number("zero", zero),
          number("shard", shard),
          flag("overlap_gradients", overlap_gradients),
          flag("overlap_tensor", overlap_tensor),
          flag("async_tensor", async_tensor),
          flag("overlap_passes", overlap_passes),
          "strategy.placement=" +
              placement.with(layout, KeptPlacement::Tiles{degrees.data * context * degrees.tensor,
                                                          degrees.tensor})};
}

std::string Candidate::key() const {
  std::string text;
  std::vector<std::string> all = settings();
  all.back() = "=" + layout;
  for (const std::string& setting : all) {
    text += (text.empty() ? "" : "/") + setting.substr(setting.find('=') + 1);
  }
  return text;
}

std::string Candidate::title() const {
  std::string text = "pipeline " + std::to_string(degrees.pipeline) + ", tensor " +
                     std::to_string(degrees.tensor) + ", data " + std::to_string(degrees.data);
  const auto more = [&](const char* name, std::uint64_t value) {
    text += value > 1 ? std::string(", ") + name + " " + std::to_string(value) : "";
  };
  more("context", context);
  more("expert", expert);
  text += ", micro-batch " + std::to_string(micro_batch) + ", " + schedule;
  more("chunks", chunks);
  text += recompute == plan::Recompute::none ? "" : ", recompute " + name_of(recompute);
  text += zero > 0 ? ", ZeRO " + std::to_string(zero) : "";
  text += shard > 0 ? " over " + std::to_string(shard) : "";
  text += sequence_parallel ? ", sequence parallel" : "";
  text += overlap_gradients ? ", gradients overlap" : "";
  text += overlap_tensor ? ", tensor sums overlap" : "";
  text += async_tensor ? ", products in pieces" : "";
  text += overlap_passes ? ", passes take turns" : "";
  return text;
}

bool Candidate::is_v_shaped() const {
  return plan::schedules().contains(schedule) && plan::schedules().at(schedule).v_shaped;
}

bool Candidate::has_pairs() const {
  plan::Strategy strategy;
  strategy.schedule = schedule;
  return strategy.has_pairs();
}

plan::Strategy Candidate::strategy(const plan::Strategy& base, std::uint64_t samples) const {
  plan::Strategy strategy = base;
  strategy.degrees = degrees;
  strategy.degrees.data *= context;
  strategy.context = context;
  strategy.expert = expert;
  strategy.sequence_parallel = sequence_parallel;
  strategy.micro_batch = micro_batch;
  strategy.micro_batches =
      static_cast<std::uint32_t>(samples / (std::uint64_t{micro_batch} * degrees.data));
  strategy.chunks = chunks;
  strategy.schedule = schedule;
  strategy.v_shaped = is_v_shaped();
  strategy.mirrored = false;
  strategy.order.clear();
  strategy.recompute = recompute;
  strategy.zero = zero;
  strategy.shard = shard;
  strategy.overlap_gradients = overlap_gradients;
  strategy.overlap_tensor = overlap_tensor;
  strategy.async_tensor = async_tensor;
  strategy.overlap_passes = overlap_passes && strategy.has_pairs();
  strategy.layout = layout;
  plan::PlacementRequest& placement = strategy.placement;
  placement.degrees = strategy.degrees;
  placement.tiles.clear();
  placement.first_layers.clear();
  const auto leave_other = [](std::optional<std::array<std::uint32_t, 2>>& shape,
                              std::uint64_t tiles) {
    if (shape && std::uint64_t{(*shape)[0]} * (*shape)[1] != tiles) {
      shape.reset();
    }
  };
  leave_other(placement.group, std::uint64_t{strategy.degrees.data} * degrees.tensor);
  leave_other(placement.tensor_group, degrees.tensor);
  return strategy;
}

const std::vector<std::string>& varied_keys() {
  static const std::vector<std::string> keys{
      "pipeline",          "tensor",         "data",
      "context",           "expert",         "sequence_parallel",
      "micro_batch",       "chunks",         "schedule",
      "recompute",         "zero",           "shard",
      "overlap_gradients", "overlap_tensor", "async_tensor",
      "overlap_passes",    "placement"};
  return keys;
}

}  // namespace tessera::explore
