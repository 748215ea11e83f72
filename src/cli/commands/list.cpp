#include <functional>
#include <iostream>
#include <map>

#include "file_kinds.hpp"
#include "tessera/cli/commands.hpp"
#include "tessera/cli/options.hpp"
#include "tessera/collective/algorithm.hpp"
#include "tessera/collective/program/program.hpp"
#include "tessera/compute/compute.hpp"
#include "tessera/compute/systolic.hpp"
#include "tessera/explore/campaign.hpp"
#include "tessera/explore/sweep.hpp"
#include "tessera/machine/parameters.hpp"
#include "tessera/machine/topology/topology.hpp"
#include "tessera/memory/coherent/coherence.hpp"
#include "tessera/memory/dram/channel.hpp"
#include "tessera/memory/memory.hpp"
#include "tessera/migration/format.hpp"
#include "tessera/network/network.hpp"
#include "tessera/pdes/sync_policy.hpp"
#include "tessera/plan/placement/placement.hpp"
#include "tessera/plan/plan.hpp"
#include "tessera/plan/schedule/schedule.hpp"
#include "tessera/sim/cuts/cuts.hpp"
#include "tessera/sim/experiment.hpp"
#include "tessera/sim/experiment_keys.hpp"
#include "tessera/sim/job.hpp"
#include "tessera/trace/parts_json.hpp"

namespace tessera::cli {
namespace {

using Parts = std::vector<PartInfo>;

using PartMakers = std::map<std::string, std::function<Parts()>>;

// Beside those that kinds of work have.
PartMakers own_kinds() {
  return {
      {"topologies", [] { return machine::topologies().infos(); }},
      {"partitions", [] { return sim::partition_infos(); }},
      {"kinds", [] { return sim::work_kind_infos(); }},
      {"experiment",
       [] {
         return Parts{{"experiment", "a machine and its workload", sim::experiment_parameters()}};
       }},
      {"formats", [] { return migration::formats().infos(); }},
      {"networks", [] { return network::networks().infos(); }},
      {"memories", [] { return memory::memories().infos(); }},
      {"dram-presets", [] { return memory::dram_presets().infos(); }},
      {"dram-schedulers", [] { return memory::dram_schedulers().infos(); }},
      {"remote-memories", [] { return memory::remote_memories().infos(); }},
      {"computes", [] { return compute::compute_models().infos(); }},
      {"dataflows", [] { return compute::dataflows().infos(); }},
      {"collectives", [] { return collective::algorithms().infos(); }},
      {"programs",
       [] {
         return Parts{{"program", "a collective written by hand, in a separate file",
                       collective::program_parameters()}};
       }},
      {"schedules", [] { return plan::schedules().infos(); }},
      {"synchronizations", [] { return pdes::sync_policies().infos(); }},
      {"layouts", [] { return plan::placements().infos(); }},
      {"machine",
       [] {
         return Parts{
             {"machine", "the simulated machine", machine::machine_parameters()},
             {"tile", "rates and memory of each computing node", machine::tile_parameters()},
             {"types", "tiles of one type", machine::type_parameters()},
             {"dram", "memory channels at the tiles or at other nodes", machine::dram_parameters()},
             {"faults", "slow and dead links, slow nodes", machine::fault_parameters()},
             {"power", "power that a device draws", machine::power_parameters()},
             {"framework", "device memory that software uses in addition to tensors",
              machine::framework_parameters()},
             {"host", "memory of a device's host, and the link to it", machine::host_parameters()},
             {"coherence", "cache-line access to nodes of kind memory",
              memory::coherence_parameters()}};
       }},
      {"campaign",
       [] {
         return Parts{{"campaign", "a training run of weeks, for tessera campaign",
                       explore::campaign_parameters()}};
       }},
      {"strategy",
       [] {
         return Parts{{"strategy", "how the workload is cut and placed on the machine",
                       plan::strategy_parameters()}};
       }},
      {"sweep",
       [] {
         return Parts{{"sweep", "one experiment at many points", explore::sweep_parameters()}};
       }},
      {"run", [] {
         return Parts{{"run", "how an experiment is simulated", sim::run_parameters()}};
       }}};
}

const PartMakers& kinds() {
  static const PartMakers all = [] {
    PartMakers makers = own_kinds();
    for (const sim::PartList& list : sim::work_part_lists()) {
      makers.emplace(list.name, list.parts);
    }
    return makers;
  }();
  return all;
}

// "1 to 32", "at least 1 B", or the names that it may be; "-": any.
std::string range_of(const ParameterInfo& info) {
  if (!info.names.empty()) {
    return join(info.names);
  }
  if (!info.low.empty() && !info.high.empty()) {
    return info.low + " to " + info.high;
  }
  return !info.low.empty()    ? "at least " + info.low
         : !info.high.empty() ? "at most " + info.high
                              : "-";
}

std::string default_of(const ParameterInfo& info) {
  return info.is_required ? "required" : info.default_value.empty() ? "-" : info.default_value;
}

void print(const std::string& kind, const Parts& parts) {
  std::cout << kind << "\n";
  for (const PartInfo& part : parts) {
    std::cout << "  " << part.name << "  " << part.help << "\n";
    if (part.parameters.empty()) {
      continue;
    }
    TextTable table({"    parameter", "type", "unit", "default", "range", "of cost", "meaning"});
    for (const ParameterInfo& parameter : part.parameters) {
      table.add({"    " + parameter.name, parameter.type.empty() ? "-" : parameter.type,
                 parameter.unit, default_of(parameter), range_of(parameter),
                 parameter.is_cost ? "cost" : "", parameter.help});
    }
    std::cout << table.to_string();
  }
}

// Of one kind, or of all.
trace::PartLists lists_of(const std::string& asked) {
  trace::PartLists lists;
  for (const auto& [name, parts] : kinds()) {
    if (asked.empty() || asked == name) {
      lists.emplace_back(name, parts());
    }
  }
  return lists;
}

int list_command(const Words& words, comm::Communicator& world) {
  std::vector<std::string> names;
  for (const auto& [name, parts] : kinds()) {
    names.push_back(name);
  }
  Options options(
      "list",
      "Show every available part with its parameters, their types, units, defaults and ranges. "
      "Kinds: " +
          join(names) + ".",
      "kind", "[KIND]");
  options.offer_subjects(names);
  OptionValue schema = one_of_value(file_kinds());
  schema.alone = "experiment";
  options.add("json", "print one JSON object")
      .add("schema",
           "print the JSON Schema of a kind of file, for editors: " + join(file_kinds()) +
               "; default: of an experiment",
           schema, "KIND")
      .add("sections",
           "print the sections of a kind of file with all keys, as one JSON object: " +
               join(file_kinds()),
           one_of_value(file_kinds()), "KIND");
  if (!options.parse(words, world)) {
    return 0;
  }
  const std::string asked = options.has_subject() ? options.subject() : "";
  if (options.has_subject() && !kinds().contains(asked)) {
    throw ConfigError(unknown_name("kind", asked, names));
  }
  if (world.rank() != 0) {
    return 0;
  }
  if (options.has("sections")) {
    std::cout << trace::to_json(sections_of_file(options.text("sections")));
  } else if (options.has("schema")) {
    std::cout << trace::to_json_schema(sections_of_file(options.text("schema")));
  } else if (options.flag("json")) {
    std::cout << trace::to_json(lists_of(asked));
  } else {
    for (const auto& [name, parts] : lists_of(asked)) {
      print(name, parts);
    }
  }
  return 0;
}

const Registration list_registration(commands(),
                                     {"list", "show every available part, with its parameters", {}},
                                     Command{"list [KIND]", list_command});

}  // namespace
}  // namespace tessera::cli
