// What tiles have to do: a job, read by its kind. The rest of the room and the command line ask
// here and need not know which kind it is; docs/adding-a-part.md has how one is added.
//
// A job is what all ranks share: it is read once, numbered beside others that share the machine,
// and not changed while it runs. Work (work.hpp) is what a rank makes of it.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tessera/config/document.hpp"
#include "tessera/core/ids.hpp"
#include "tessera/core/registry.hpp"
#include "tessera/core/section_info.hpp"
#include "tessera/core/sparse_table.hpp"
#include "tessera/core/time.hpp"
#include "tessera/core/units.hpp"
#include "tessera/machine/partition/weights.hpp"
#include "tessera/memory/coherent/coherent_memory.hpp"
#include "tessera/plan/memory.hpp"
#include "tessera/plan/plan.hpp"
#include "tessera/sim/platform.hpp"
#include "tessera/workload/graph.hpp"
#include "tessera/workload/operation.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::sim {

class Work;

// What a strategy made of a workload: programs of stages, and where they are.
struct PlannedWork {
  workload::Workload workload;
  plan::Plan plan;
  plan::BytesByChannel in_channels{};  // that programs keep there
  // What else than whole runs its placement was compared with others by; "": nothing.
  std::string placed_by{};
};

// Memory that those who serve requests divide among themselves, by channel of the machine. A
// channel belongs to the NPUs that have cores which it serves, in even parts.
class ServingMemory {
 public:
  // All of the machine, which must outlive it, for nobody yet.
  explicit ServingMemory(const machine::Machine& machine) : channels_(&machine.channels) {}

  // None: not stated.
  std::optional<Bytes> free(std::uint32_t channel) const;
  // Not more than is free.
  void take(std::uint32_t channel, Bytes bytes) { taken_[channel] += bytes; }
  std::uint32_t npus(std::uint32_t channel) const { return npus_.at(channel); }
  void add_npu(std::uint32_t channel) { ++npus_[channel]; }

 private:
  const machine::MemoryChannels* channels_;
  std::map<std::uint32_t, Bytes> taken_;         // by channel
  std::map<std::uint32_t, std::uint32_t> npus_;  // the same
};

// Where the numbers and addresses of the next job begin, of several on one machine.
struct NextNumbers {
  std::uint32_t group = 0;      // of messages in collectives of graphs
  std::uint32_t operation = 0;  // of cores that several jobs share
  std::uint64_t address = 0;    // of operands in memory
};

// For `tessera check`.
struct JobDescription {
  struct Peak {
    std::string name;
    plan::MemoryUse use;
    Bytes on_host{};  // of one tile, in the memory of its host
  };

  std::vector<std::pair<std::string, std::string>> entities;  // what, and how many
  std::string tables;                                         // text behind them
  std::string ideal;          // what `ideal_time` counts; empty: it is not known
  std::vector<Peak> peaks{};  // of stages, when a tile of them holds most
};

// What a device of a stage holds when it holds most.
struct StagePeak {
  std::string name;  // of the stage
  plan::MemoryWalk::Peak peak;
};

// Of nodes that a job says nothing of.
inline constexpr std::uint32_t no_owner = std::numeric_limits<std::uint32_t>::max();

class Job {
 public:
  using BytesByNode = std::map<EntityId, Bytes>;  // of memories

  virtual ~Job() = default;

  std::string name;              // of the workload
  std::uint32_t iterations = 1;  // how often
  SimTime ideal_time;            // of an iteration; zero: not known
  bool may_end_sooner = false;   // than that, by chance
  // A lower bound of an iteration; zero: not known.
  SimTime least_time() const { return may_end_sooner ? SimTime::zero() : ideal_time; }

  // The job as one rank does it; refers to both.
  virtual std::unique_ptr<Work> work(const Platform& platform) const = 0;
  virtual JobDescription describe(const Platform& platform) const = 0;
  virtual std::string brief() const = 0;  // one line, for logs

  // Iterations that one of `iterations` holds in itself.
  virtual std::uint32_t inner_iterations() const { return 1; }
  // Why it cannot be done so often; "" when it can.
  virtual std::string repeat_objection() const { return ""; }
  // How often where nobody says; none: as often as the run says.
  virtual std::optional<std::uint32_t> usual_iterations() const { return std::nullopt; }
  // Tenants that its requests are of, which traces tell apart.
  virtual std::size_t services() const { return 0; }

  // Of work that a strategy cuts into programs; null: it is other work. What it says of messages
  // beforehand makes cuts and promises.
  virtual PlannedWork* planned() { return nullptr; }
  virtual const PlannedWork* planned() const { return nullptr; }
  // Whether its executor tells others when it will next send to them (pdes::Outlook), as models of
  // network and memory may.
  virtual bool promises(const Platform&) const { return false; }
  // The cutter (cuts.hpp) that asks this job which of its tiles go together; "": none.
  virtual std::string cutter() const { return ""; }
  // [nodes] the rank of its tiles, `no_owner` elsewhere; `weights` [nodes], or none: all alike.
  // Throws ConfigError where it has too few parts.
  virtual SparseTable cut(const Platform& platform, int ranks,
                          const machine::Weights& weights) const;
  // What of it has no effect, said before it runs; "": nothing.
  virtual std::string warning() const { return ""; }
  // Whether tiles tell each other of messages in full traces: executor::Observer.
  virtual bool logs_messages() const { return false; }
  // Whose accesses to devices with channels are coherent.
  virtual std::optional<memory::CoherentGroup> coherent_group() const { return std::nullopt; }
  // As graphs of NPUs, for Chakra traces; refers to the job. Throws ConfigError that says why there
  // are none.
  virtual std::shared_ptr<const workload::GraphSource> graphs(const Platform& platform) const;

  // Beside others on one machine. The first address of its operands, where it has some.
  virtual std::uint64_t first_address() const { return 0; }
  // Operations that are done by cores which several jobs may share,
  // memory that it keeps, and what is left for those who take all that is left.
  virtual std::span<const workload::Operation> operations() const { return {}; }
  virtual void number(NextNumbers& /*next*/) {}
  virtual BytesByNode kept(const Platform& /*platform*/, const ServingMemory& /*memory*/) const {
    return {};
  }
  // Whether what it keeps must fit where nobody else keeps anything; others see to that themselves.
  virtual bool must_fit_alone() const { return false; }
  virtual bool takes_the_rest() const { return false; }
  virtual void share_in(const machine::Machine& /*machine*/, ServingMemory& /*memory*/) const {}
  // Complaints go to the section `workload`.
  virtual void fit(const machine::Machine& /*machine*/, const ServingMemory& /*memory*/,
                   config::Section /*workload*/) {}
};

// Nodes that a job may use.
struct JobTiles {
  machine::NodeOrder nodes;  // in the order of its NPUs, cores and roles
  bool are_all = true;       // that compute
};

// What a job is read from. All but the machine's section outlives the job's reader.
struct JobSetup {
  const Platform& platform;
  config::Section section;  // has `workload`, `strategy` and `execution`
  config::Section machine;  // for complaints about what the machine lacks
  JobTiles tiles;
  const config::TextLoader& load;
};

// Reads one job: first `read`, then, after no complaint and when all sections were finished,
// `plan`.
class JobReader {
 public:
  virtual ~JobReader() = default;
  // Checks. Complaints go to the diagnostics of the section; ConfigError for those of trace files.
  // Null after complaints that left keys unread.
  virtual std::unique_ptr<Job> read() = 0;
  // What is known when all of the experiment was read. Throws ConfigError.
  virtual void plan(Job& /*job*/) {}
  // Of a plan that runs as graphs and whose placement is settled by simulation: the same as
  // programs, for `plan`, and what was settled, before the graphs are planned. Else null.
  virtual std::unique_ptr<Job> as_programs() const { return nullptr; }
  virtual void take_placement(PlannedWork /*of_programs*/) {}
  // Whether tensors go to the memory of hosts (machine.host).
  virtual bool uses_host() const { return false; }
  // Whether it accesses memory by lines (machine.coherence). After `read`.
  virtual bool uses_coherence() const { return false; }
  // Whether it accesses memory that is not the tiles' own (machine.remote_memory). After `read`.
  virtual bool uses_remote_memory() const { return false; }
  // Whether it counts what a framework holds in memory (machine.framework).
  virtual bool uses_framework() const { return false; }
  // For keys of compute models that are of some work alone. After `read`; what goes on beside
  // operations of a plan after `plan`.
  virtual compute::WorkTraits traits() const { return {}; }
  // Why micro-batches of this job cannot be replayed; "" when they can.
  virtual std::string replay_objection() const {
    return "is for pipelines of micro-batches, and this work has none";
  }
};

// One of a list of jobs, as far as the list knows it.
struct JobEntry {
  std::string name;  // empty: it has the machine alone
  machine::NodeOrder tiles;
  SimTime start;
  std::optional<std::uint32_t> iterations;  // none: as often as the run says
  config::Section section;                  // has `workload`, and what it needs beside
};

// Parts of a kind of work that users may look up (`tessera list NAME`), beside its own keys.
struct PartList {
  std::string name;
  std::function<std::vector<PartInfo>()> parts;
};

// A kind of files that a kind of work has beside experiments: a machine, and a section of its own.
struct WorkFile {
  std::string name;
  std::function<SectionInfo()> section;
};

// A kind of work: how `workload: {kind: NAME, ...}` is read.
struct WorkKind {
  // Parts that the mapping of a job must have.
  std::vector<const char*> parts{"workload"};
  std::function<std::unique_ptr<JobReader>(const JobSetup&)> read{};
  // Where the machine could not be read: complains about the rest. May be empty.
  std::function<void(config::Section&)> complain{};
  // Puts in what stands in other files that the mapping of the job names. May be empty.
  std::function<void(config::Value& job, const config::TextLoader&, config::Diagnostics&)>
      include{};
  // Of a kind that is a list of jobs instead of one; then `read` is empty. Reads it from the
  // section of the experiment. False after complaints that left keys unread.
  std::function<bool(config::Section&, const Platform&, std::vector<JobEntry>&)> list{};
  // The mappings of those jobs in the workload.
  std::function<std::vector<config::Value*>(config::Value& workload)> jobs{};
  // Of a kind that a strategy cuts: reads its layers from the section `workload`, without a
  // strategy, and finishes it. Nothing after complaints. May be empty.
  std::function<std::optional<workload::Workload>(config::Section&)> layers{};
  // What the mapping of the workload may hold, for schemas. Empty: the parameters of the kind.
  std::function<SectionInfo(const PartInfo& kind)> describe{};
  // Names of what its executor measures (sim/measures.hpp), and the one of these that is the better
  // the smaller. May be empty.
  std::vector<std::string> measures{};
  std::string smallest_is_best{};
  // May be empty. Kinds of one family say the same.
  std::vector<PartList> lists{};
  std::vector<WorkFile> files{};
};

// By the name of `workload.kind`. Kinds that others make (workload::workloads(), which a strategy
// cuts, and workload::graph_workloads()) are found as well.
Registry<WorkKind>& work_kinds();
// All there are.
std::vector<std::string> work_kind_names();
std::vector<PartInfo> work_kind_infos();
// What all of them list, in order of names, each once.
std::vector<PartList> work_part_lists();
// Null: no such kind.
const WorkKind* find_work_kind(const std::string& name);
// The kind that a workload names; "" where it names none.
std::string kind_of(const config::Value& workload);

}  // namespace tessera::sim
