#include "serving/npu_notes.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "tessera/network/sharing.hpp"

namespace tessera::sim {
namespace {

using executor::ServiceSettings;
using executor::ServingWork;

std::string model_name(const ServiceSettings& tenant) {
  return tenant.replicas > 1 ? tenant.name.substr(0, tenant.name.rfind('.')) : tenant.name;
}

// "a, b and c".
std::string enumeration(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    text += i == 0 ? "" : i + 1 == names.size() ? " and " : ", ";
    text += names[i];
  }
  return text;
}

void note_shared_costs(const ServingWork& work,
                       const std::map<std::uint32_t, std::vector<const ServiceSettings*>>& served,
                       std::vector<std::string>& notes) {
  std::set<std::string> seen;
  std::vector<std::string> sharers;
  std::size_t shared = 0;
  bool has_price = false;
  for (const auto& [npu, tenants] : served) {
    if (tenants.size() < 2) {
      continue;
    }
    ++shared;
    for (const ServiceSettings* const tenant : tenants) {
      has_price = has_price || tenant->price > 0;
      if (seen.insert(model_name(*tenant)).second) {
        sharers.push_back(model_name(*tenant));
      }
    }
  }
  if (has_price) {
    notes.push_back(enumeration(sharers) + " share " + std::to_string(shared) +
                    (work.on_tiles ? " tiles" : " NPUs") +
                    ": each model's cost of a million tokens counts its share of the time in which "
                    "these have work");
  }
}

// Models that stream from memory, or whose cores load operands from there.
class ChannelSharers {
 public:
  ChannelSharers(const machine::Machine& machine, const ServingWork& work) {
    const bool loads = work.of_cores && work.core.operands == npu::Operands::memory;
    for (std::size_t number = 0; number < work.tenants.size(); ++number) {
      const ServiceSettings& tenant = work.tenants[number];
      const std::size_t units = tenant.npus.size() / tenant.model->stages();
      for (std::size_t unit = 0; (tenant.streams() || loads) && unit < tenant.npus.size(); ++unit) {
        add(machine, work.npus[tenant.npus[unit]], {number, unit / units});
        names_[number] = model_name(tenant);
      }
    }
  }

  // With several units of a stage at a channel.
  std::set<std::string> of_a_step() const {
    return names([](const Stages&, const Stages::value_type& stage) { return stage.second > 1; });
  }
  // With several stages, also of replicas or with others.
  std::set<std::string> of_several_steps() const {
    return names([](const Stages& stages, const Stages::value_type&) { return stages.size() > 1; });
  }
  std::set<std::string> over_the_network() const {
    std::set<std::string> some;
    for (const auto& [number, is_far] : is_far_) {
      if (is_far) {
        some.insert(names_.at(number));
      }
    }
    return some;
  }

 private:
  // Units by tenant and stage.
  using Stages = std::map<std::pair<std::size_t, std::size_t>, std::size_t>;

  void add(const machine::Machine& machine, const std::vector<EntityId>& cores,
           const Stages::key_type& stage) {
    std::set<std::uint32_t> channels;
    for (const EntityId core : cores) {
      const std::uint32_t channel = machine.channel_of[core.value()];
      channels.insert(channel);
      is_far_[stage.first] = is_far_[stage.first] || machine.channels[channel].node != core;
    }
    for (const std::uint32_t channel : channels) {
      ++stages_[channel][stage];
    }
  }

  template <class Holds>
  std::set<std::string> names(const Holds& holds) const {
    std::set<std::string> some;
    for (const auto& [channel, stages] : stages_) {
      for (const Stages::value_type& stage : stages) {
        if (holds(stages, stage)) {
          some.insert(names_.at(stage.first.first));
        }
      }
    }
    return some;
  }

  std::map<std::uint32_t, Stages> stages_;    // by channel
  std::map<std::size_t, std::string> names_;  // by tenant
  std::map<std::size_t, bool> is_far_;        // the same: some channel is at another node
};

}  // namespace

void note_ports(const ServingWork& work, std::vector<std::string>& notes) {
  std::set<std::string> meet;
  for (const ServiceSettings& tenant : work.tenants) {
    if (work.whole_steps && (tenant.prefill > 0 || tenant.model->stages() > 1)) {
      meet.insert(model_name(tenant));
    }
  }
  if (!meet.empty()) {
    notes.push_back(
        enumeration({meet.begin(), meet.end()}) +
        ": cache handovers and messages from the host to units do not wait at ports for exchanges "
        "of whole steps, nor these for them (with steps: walked they do)");
  }
}

void note_channels(const Platform& platform, const ServingWork& work,
                   std::vector<std::string>& notes) {
  if (!work.whole_steps || !platform.memory->shares_channels()) {
    return;
  }
  const ChannelSharers sharers(platform.machine, work);
  if (const std::set<std::string> all = sharers.of_a_step(); !all.empty()) {
    notes.push_back(
        enumeration({all.begin(), all.end()}) +
        ": units of a step that stream from the same memory channel do so at the same time, each "
        "with an even share of its bandwidth (steps: walked serves them as they arrive)");
  }
  if (const std::set<std::string> all = sharers.of_several_steps(); !all.empty()) {
    notes.push_back(
        enumeration({all.begin(), all.end()}) +
        ": concurrent steps of a model's stages, its replicas or other models do not slow each "
        "other down where they stream from the same memory channel (with steps: walked they do)");
  }
  const bool waits = network::sharing_of(*platform.network) != plan::Sharing::nothing;
  if (const std::set<std::string> all = sharers.over_the_network(); waits && !all.empty()) {
    notes.push_back(enumeration({all.begin(), all.end()}) +
                    ": data that units stream crosses an otherwise idle network (steps: walked "
                    "shares its links)");
  }
}

void note_npus(const ServingWork& work, std::vector<std::string>& notes) {
  std::map<std::uint32_t, std::vector<const ServiceSettings*>> served;
  for (const ServiceSettings& tenant : work.tenants) {
    for (const std::uint32_t npu : tenant.npus) {
      served[npu].push_back(&tenant);
    }
  }
  note_shared_costs(work, served, notes);
  if (work.idle_npus > 0) {
    notes.push_back(std::to_string(work.idle_npus) + " of " +
                    std::to_string(served.size() + work.idle_npus) +
                    (work.on_tiles ? " tiles" : " NPUs") +
                    " are idle: models run on the first ones, or on their 'npus'");
  }
}

}  // namespace tessera::sim
