#include "results/trace_attributes.hpp"

#include <string>
#include <vector>

#include "experiment/description.hpp"
#include "tessera/core/text.hpp"
#include "tessera/core/version.hpp"

namespace tessera::sim {
namespace {

template <class Enum>
std::string names_of(std::size_t count) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) {
    names.push_back(to_string(static_cast<Enum>(i)));
  }
  return join(names, ",");
}

std::string link_classes(const machine::Topology& topology) {
  std::vector<std::string> names;
  for (const machine::LinkClass& link_class : topology.link_classes()) {
    names.push_back(link_class.name);
  }
  return join(names, ",");
}

std::string names_of_tenants(const Experiment& experiment) {
  std::vector<std::string> names;
  for (const PlacedJob& placed : experiment.jobs) {
    if (!placed.name.empty()) {
      names.push_back(placed.name);
    }
  }
  return join(names, ",");
}

}  // namespace

trace::Attributes trace_attributes(const Experiment& experiment, const Work& work, int rank,
                                   int ranks, std::uint32_t segment) {
  return {{"program", "tessera " + std::string(version())},
          {"git_hash", std::string(git_hash())},
          {"rank", std::to_string(rank)},
          {"ranks", std::to_string(ranks)},
          {"segment", std::to_string(segment)},
          {"experiment", experiment.name},
          {"configuration_hash", experiment.configuration_hash()},
          {"trace_level", name_of(experiment.options.trace)},
          {"phases", join(work.phases(), ",")},
          {"activities", names_of<executor::Activity>(executor::activities)},
          {"traffic", names_of<plan::Traffic>(plan::traffic_kinds)},
          {"collectives", names_of<collective::Kind>(collective::kinds)},
          {"link_classes", link_classes(*experiment.machine.topology)},
          {"tenants", names_of_tenants(experiment)}};
}

}  // namespace tessera::sim
