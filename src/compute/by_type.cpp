// Several compute models in a machine, by the types of its tiles: one tile in detail among coarse
// ones.

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tessera/compute/compute.hpp"

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
    for (const EntityId node : machine.topology->computing_node_ids()) {
      ++tiles_[place_of(machine.tile_of(node))];
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
}

}  // namespace tessera::compute
