#include "tessera/plan/wires.hpp"

#include <array>
#include <string>

#include "tessera/config/data_type_key.hpp"
#include "tessera/config/key.hpp"
#include "tessera/config/members.hpp"
#include "tessera/config/without_effect.hpp"
#include "tessera/plan/strategy.hpp"

namespace tessera::plan {
namespace {

using config::Member;
using WireKey = config::ChoiceKey<std::optional<DataType>>;

WireKey::Choices wire_types() {
  WireKey::Choices choices{{"as_kept", std::nullopt}};
  for (const auto& [name, type] : config::product_types()) {
    choices.emplace_back(name, type);
  }
  return choices;
}

// Made when asked for, as the types of wires are.
struct WireKeys {
  WireKey dispatch{"wires.dispatch", wire_types(), "as_kept",
                   "type in which tokens are sent to experts, and gradients of expert outputs"};
  WireKey combine{"wires.combine", wire_types(), "as_kept",
                  "type in which expert outputs are sent back, and gradients of tokens"};
  WireKey weights{"wires.weights", wire_types(), "as_kept",
                  "type in which replicas gather weights that zero shards"};
  WireKey gradients{"wires.gradients", wire_types(), "as_kept",
                    "type in which replicas reduce gradients; as_kept: gradient_type"};
  WireKey tensor_gathers{"wires.tensor_gathers", wire_types(), "as_kept",
                         "with sequence_parallel: type in which tensor groups gather along the "
                         "tokens"};
  WireKey tensor_sums{"wires.tensor_sums", wire_types(), "as_kept",
                      "type in which tensor groups reduce partial sums"};
};

const WireKeys& wire_keys() {
  static const WireKeys made;
  return made;
}

auto members_of(const WireKeys& keys) {
  return config::Members{Member{keys.dispatch, &Wires::dispatch},
                         Member{keys.combine, &Wires::combine},
                         Member{keys.weights, &Wires::weights},
                         Member{keys.gradients, &Wires::gradients},
                         Member{keys.tensor_gathers, &Wires::tensor_gathers},
                         Member{keys.tensor_sums, &Wires::tensor_sums}};
}

std::string_view why_no_exchange(const Strategy& strategy) {
  return strategy.expert == 1 ? "expert: 1" : "";
}

std::string_view why_no_gathers(const workload::Workload& workload, const Strategy& strategy) {
  if (strategy.zero == 0) {
    return "zero: 0";
  }
  if (strategy.sharing() == 1) {
    return "weights that nobody shares out";
  }
  return workload.training || strategy.zero == 3 ? "" : "inference, which gathers with zero: 3";
}

std::string_view why_no_sums(const workload::Workload& workload, const Strategy& strategy) {
  if (!workload.training) {
    return "inference";
  }
  return strategy.degrees.data == 1 ? "data: 1" : "";
}

}  // namespace

std::vector<ParameterInfo> wire_parameters() {
  return members_of(wire_keys()).parameters();
}

Wires read_wires(config::Section& strategy) {
  Wires wires;
  config::Section section = strategy.section("wires");
  members_of(wire_keys()).read(section, wires);
  section.finish();
  return wires;
}

void note_wires_without_effect(config::Section wires, const workload::Workload& workload,
                               const Strategy& strategy) {
  const WireKeys& keys = wire_keys();
  const Wires& of = strategy.wires;
  const std::string_view alone = strategy.degrees.tensor == 1 ? "tensor: 1" : "";
  struct Note {
    const WireKey& key;
    bool is_set;
    std::string_view with;  // empty: it has an effect
  };
  const std::array<Note, 6> notes{
      {{keys.dispatch, of.dispatch.has_value(), why_no_exchange(strategy)},
       {keys.combine, of.combine.has_value(), why_no_exchange(strategy)},
       {keys.weights, of.weights.has_value(), why_no_gathers(workload, strategy)},
       {keys.gradients, of.gradients.has_value(), why_no_sums(workload, strategy)},
       {keys.tensor_gathers, of.tensor_gathers.has_value(),
        alone.empty() && !strategy.sequence_parallel ? "sequence_parallel: false" : alone},
       {keys.tensor_sums, of.tensor_sums.has_value(), alone}}};
  for (const Note& note : notes) {
    if (note.is_set && !note.with.empty()) {
      config::note_without_effect(wires, note.key.key(), note.with);
    }
  }
}

}  // namespace tessera::plan
