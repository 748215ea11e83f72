// Several compute models in a machine, by the types of its tiles: one tile in detail among coarse
// ones.

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tessera/compute/compute.hpp"
#include "tessera/config/without_effect.hpp"

namespace tessera::compute {
namespace {

// Of the models that types have of their own; other tiles have the first of all.
using Places = std::map<std::string, std::uint16_t>;

std::uint16_t place_of(const Places& of_types, const machine::Tile& tile) {
  const auto found = of_types.find(tile.name);
  return found == of_types.end() ? std::uint16_t{0} : found->second;
}

class ModelByType final : public ComputeModel {
 public:
  ModelByType(std::vector<std::unique_ptr<ComputeModel>> models, Places of_types,
              const machine::Machine& machine)
      : models_(std::move(models)), of_types_(std::move(of_types)), tiles_(models_.size()) {
    const std::vector<std::uint64_t> nodes = machine.nodes_of_types();
    for (std::size_t type = 0; type < nodes.size(); ++type) {
      tiles_[place_of(machine.tiles()[type])] += nodes[type];
    }
  }

  std::unique_ptr<Compute> build(const ComputeSetup& setup) const override {
    ComputeParts all;
    for (const auto& model : models_) {
      all.parts.push_back(model->build(setup));
    }
    all.part_of.reserve(setup.members.size());
    for (const EntityId node : setup.members) {
      all.part_of.push_back(place_of(setup.machine.tile_of(node)));
    }
    return make_compute_of(std::move(all));
  }

  SimTime duration(const machine::Machine& machine, const machine::Tile& tile,
                   const workload::Operation& operation) const override {
    return models_[place_of(tile)]->duration(machine, tile, operation);
  }
  SimTime shared_duration(const machine::Machine& machine, const machine::Tile& tile,
                          const workload::Operation& operation,
                          const CoresOfNpu& npu) const override {
    return models_[place_of(tile)]->shared_duration(machine, tile, operation, npu);
  }

  bool uses_shapes() const override {
    return std::any_of(models_.begin(), models_.end(),
                       [](const auto& model) { return model->uses_shapes(); });
  }
  bool has_hosts() const override {
    return std::any_of(models_.begin(), models_.end(),
                       [](const auto& model) { return model->has_hosts(); });
  }

  const ComputeModel& of(const machine::Tile& tile) const override {
    return models_[place_of(tile)]->of(tile);
  }

  std::size_t predicted_bytes(std::uint64_t nodes) const override {
    std::size_t bytes = nodes * sizeof(std::uint16_t);
    for (std::size_t place = 0; place < models_.size(); ++place) {
      bytes += models_[place]->predicted_bytes(std::min(nodes, tiles_[place]));
    }
    return bytes;
  }

 private:
  std::uint16_t place_of(const machine::Tile& tile) const {
    return compute::place_of(of_types_, tile);
  }

  std::vector<std::unique_ptr<ComputeModel>> models_;
  Places of_types_;
  std::vector<std::uint64_t> tiles_;  // [models] of the machine
};

}  // namespace

std::unique_ptr<ComputeModel> read_compute_by_type(config::Section machine_section,
                                                   const machine::Machine& machine) {
  std::vector<std::unique_ptr<ComputeModel>> models;
  Places of_types;
  models.push_back(read_compute(machine_section.section("compute")));
  if (machine_section.has("types")) {
    config::Section types = machine_section.section("types");
    for (const std::string& name : types.keys()) {
      config::Section type = types.section(name);
      if (type.has("compute")) {
        of_types.emplace(name, static_cast<std::uint16_t>(models.size()));
        models.push_back(read_compute(type.section("compute")));
      }
    }
  }
  if (std::find(models.begin(), models.end(), nullptr) != models.end()) {
    return nullptr;  // the sections have complained
  }
  std::set<std::uint16_t> used;
  for (const machine::Tile& tile : machine.tiles()) {
    used.insert(place_of(of_types, tile));
  }
  if (used.size() == 1) {
    return std::move(models[*used.begin()]);
  }
  return std::make_unique<ModelByType>(std::move(models), std::move(of_types), machine);
}

namespace {

// Where the products of a tile do not take the peak that it states.
std::optional<std::string> note_of_peak(const machine::Tile& tile, const ComputeModel& compute,
                                        DataType type) {
  const FlopRate* const stated = tile.stated_peak(type);
  const std::optional<FlopRate> clocked = compute.clocked_rate(type);
  if (stated == nullptr || !clocked) {
    return std::nullopt;
  }
  constexpr double likeness = 1.01;
  const auto [less, more] = std::minmax({static_cast<double>(stated->flops_per_second()),
                                         static_cast<double>(clocked->flops_per_second())});
  if (more <= less * likeness) {
    return std::nullopt;
  }
  return "machine." + tile.peak_key() + " states " + to_string(*stated) + " for " +
         to_string(type) + ", on which utilization is based; products run at the " +
         to_string(*clocked) + " of the array at its clock (compute.macs_per_pe)";
}

// What takes the share of a tile's peak.
enum class ShareOfPeak : std::uint8_t { none, no_products, all };

ShareOfPeak use_of_share(const machine::Tile& tile, const ComputeModel& compute) {
  if (tile.efficiency == machine::Tile().efficiency) {
    return ShareOfPeak::all;
  }
  const bool has_clock = std::ranges::any_of(
      tile.peak, [&](const auto& peak) { return compute.clocked_rate(peak.first).has_value(); });
  if (!compute.uses_peaks()) {
    return ShareOfPeak::none;
  }
  return has_clock ? ShareOfPeak::no_products : ShareOfPeak::all;
}

// Shares of the peak, of types and of all tiles that have none of their own.
void note_shares_of_peaks(config::Section& machine_section, const machine::Machine& machine,
                          const ComputeModel& compute) {
  const auto note = [](config::Section section, ShareOfPeak use) {
    const std::string clock = "a compute model whose array has its own clock";
    if (use != ShareOfPeak::all) {
      config::note_without_effect(
          section, "efficiency",
          use == ShareOfPeak::none ? clock : clock + ", except for work without products");
    }
  };
  ShareOfPeak others = ShareOfPeak::none;
  for (const machine::Tile& tile : machine.tiles()) {
    const ShareOfPeak use = use_of_share(tile, compute.of(tile));
    if (!tile.name.empty() &&
        machine_section.section("types").section(tile.name).has("efficiency")) {
      note(machine_section.section("types").section(tile.name), use);
    } else {
      others = std::max(others, use);
    }
  }
  note(machine_section.section("tile"), others);
}

}  // namespace

std::vector<std::string> notes_of_peaks(const machine::Machine& machine,
                                        const ComputeModel& compute, const WorkTraits& work) {
  std::vector<std::string> notes;
  for (const machine::Tile& tile : machine.tiles()) {
    for (const DataType type : work.product_types.value_or(std::set<DataType>())) {
      auto note = note_of_peak(tile, compute.of(tile), type);
      // Types that have the same from `tile` say it once.
      if (note && std::find(notes.begin(), notes.end(), *note) == notes.end()) {
        notes.push_back(*std::move(note));
      }
    }
  }
  return notes;
}

void note_keys_without_effect(config::Section machine_section, const machine::Machine& machine,
                              const ComputeModel& compute, const WorkTraits& work) {
  std::map<std::string, std::vector<const machine::Tile*>>
      tiles;  // by type; "": of no such section
  for (const machine::Tile& tile : machine.tiles()) {
    const bool has_own =
        !tile.name.empty() && machine_section.section("types").section(tile.name).has("compute");
    tiles[has_own ? tile.name : ""].push_back(&tile);
  }
  for (const auto& [type, of_type] : tiles) {
    config::Section section =
        (type.empty() ? machine_section : machine_section.section("types").section(type))
            .section("compute");
    compute.of(*of_type.front()).note_keys_without_effect(section, machine, of_type, work);
  }
  note_shares_of_peaks(machine_section, machine, compute);
}

}  // namespace tessera::compute
