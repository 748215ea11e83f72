// What the tiles of a rank do: a job (job.hpp) as one rank does it, or several in one. The rest of
// the room asks here and need not know which kind it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tessera/core/data_type.hpp"
#include "tessera/core/sparse_table.hpp"
#include "tessera/core/wide.hpp"
#include "tessera/executor/program/executor.hpp"
#include "tessera/sim/job.hpp"
#include "tessera/sim/platform.hpp"
#include "tessera/trace/records.hpp"

namespace tessera::sim {

// In notes.
inline const std::string free_additions = "reductions in collectives take no time";
inline const std::string no_hosts = "machine.compute.issue and issue_pass have no effect on ";

// The components' numbers at the engine.
enum Slot : unsigned { network_slot, memory_slot, compute_slot, executor_slot, coherent_slot };

// About when tiles have something to do, and what they send each other then: the first part of the
// work on an idle machine, to judge cuts by.
struct WorkForecast {
  struct Run {
    EntityId node;
    SimTime end;
  };
  struct Talk {  // one message after the other, from `begin` to `end`
    EntityId from;
    EntityId to;
    std::uint64_t messages = 0;
    Bytes bytes;  // of one
    SimTime begin;
    SimTime end;
    std::uint32_t peers = 1;  // that `to` stands for
  };
  std::vector<Run> runs;
  std::vector<Talk> talks;
  double part = 1;  // of all that the whole run does
};

// Messages of one kind, as far as memory is predicted by them.
struct MessageKind {
  EntityId from{};
  EntityId to{};
  Bytes bytes{};              // of one
  std::uint64_t at_once = 1;  // that are sent one behind the other
  // What asks for them: a node has one of these under way at a time, of each that it may be.
  enum class Of : std::uint8_t { work, memory, pipeline };
  Of of = Of::work;
  EntityId node = EntityId::none();  // that waits for them; none: `from`
  double made_s = 0;  // time in which `count` are made, or memory serves `at_once`; 0: not known
  std::uint64_t count = 1;
  // Of pipelines: those with one number go on at the same time, and those of one chain are
  // `in_chain` at most, wherever they are. Of memory the channel's node is the chain.
  std::uint32_t stage = 0;
  std::uint32_t chain = 0;
  std::uint64_t in_chain = 1;
};
using MessageVisit = std::function<void(const MessageKind& kind)>;

class Work {
 public:
  // Tiles that the breakdown of time tells apart.
  struct Part {
    std::string name;
    std::uint64_t tiles = 0;  // simulated
  };

  // Bytes that the whole run reads from and writes to memory.
  struct Accessed {
    std::uint64_t read = 0;
    std::uint64_t written = 0;
  };

  // Of one of those whose requests are served, on its fullest NPU.
  struct Kept {
    Bytes weights;
    Bytes block;  // of its cache; zero: it has none
  };

  // What one of several jobs does.
  struct Share {
    std::string name;
    std::string workload;
    SimTime start;
    std::uint64_t tiles = 0;
    std::uint32_t iterations = 0;
    std::uint64_t samples = 0;  // of an iteration; so are the FLOPs
    double flops = 0;
    double flops_done = 0;
    double peak_flops_per_s = 0;
  };

  virtual ~Work() = default;
  // At work, whether simulated or stood for by others.
  virtual std::uint64_t tiles() const = 0;
  // Where these are.
  virtual std::vector<EntityId> nodes() const = 0;
  // Of the whole run; graphs may hold several in themselves, jobs that share a machine have their
  // own.
  virtual std::uint32_t iterations() const = 0;
  // Of one iteration, all tiles together: the measure of progress.
  virtual std::uint64_t instructions() const = 0;
  // Of the tiles at work, together.
  virtual double peak_flops_per_s() const = 0;
  // Of one iteration. Of several jobs: of the whole run, samples of all together.
  virtual std::uint64_t samples() const = 0;
  // Of the samples of language models that are planned; else 0.
  virtual std::uint64_t tokens() const { return 0; }
  // Of the model, in which nothing is computed twice, as far as the work knows its model.
  virtual double flops_of_sample() const = 0;
  // Of one iteration, by all tiles together: what is recomputed, what several do alike and the
  // update among them.
  virtual double flops_done() const { return flops_of_sample() * static_cast<double>(samples()); }

  virtual std::vector<executor::Activity> activities() const = 0;
  // What its levels leave out, and what of it has no effect; for users.
  virtual std::vector<std::string> notes() const { return {}; }
  // What is drawn at random, by a name for users and the seed that it follows from: what two have
  // alike of these is the same.
  virtual std::vector<std::pair<std::string, std::uint64_t>> draws() const { return {}; }
  // Names of what computing is for, by the numbers of plan::Phase.
  virtual std::vector<std::string> phases() const = 0;
  virtual std::vector<Part> parts() const = 0;
  virtual std::size_t part_of(std::uint32_t role) const = 0;
  // Roles are numbered from 0 on; those that have nothing to do are no tiles at work, and are in no
  // part.
  virtual std::uint64_t roles() const { return tiles(); }
  virtual bool has_work(std::uint32_t /*role*/) const { return true; }
  // Of operators; their numbers are the places here.
  virtual const std::vector<std::string>& names() const = 0;
  // Tiles whose operators a summary trace holds.
  virtual std::vector<EntityId> samples_of_parts() const = 0;
  virtual void describe(EntityId node, trace::NodeRow& row) const = 0;
  // Of those whose requests are served; computing is for them then.
  virtual std::vector<std::string> services() const { return {}; }
  // [services] what they keep on an NPU.
  virtual std::vector<Kept> kept() const { return {}; }
  // Of models with replicas, whose services are also told together.
  virtual std::vector<std::string> service_totals() const { return {}; }
  // None: one job has the machine alone.
  virtual std::vector<Share> shares() const { return {}; }
  virtual std::size_t share_of(std::uint32_t /*role*/) const { return 0; }

  // Of the description, which every rank holds whole, and of one tile's state.
  virtual std::size_t shared_bytes() const = 0;
  virtual std::size_t bytes_a_tile() const = 0;
  // Visits messages between nodes, each kind once, as far as they are known beforehand: of long
  // collectives some. They are one after the other of each node.
  virtual void visit_messages(const MessageVisit& /*visit*/) const {}
  // Of the cores, where a rank has so many nodes.
  virtual std::size_t compute_bytes(std::uint64_t nodes) const = 0;
  // None: not known beforehand.
  virtual std::optional<Accessed> accessed() const { return std::nullopt; }
  // Likewise by all tiles, those among them that others stand for; of one job.
  virtual std::optional<Accessed> accessed_by_all() const { return accessed(); }
  // Where cores access memory by themselves and tiles stand for others: what programs of simulated
  // tiles access beside that, what those of all tiles do, and for how many tiles each stands.
  struct StoodFor {
    Accessed simulated;
    Accessed all;
    std::uint64_t each = 1;
  };
  virtual std::optional<StoodFor> stood_for() const { return std::nullopt; }
  // What all tiles send in the whole run where some are stood for; none: not known. Of one job.
  virtual std::optional<executor::SentBytes> sent_by_all() const { return std::nullopt; }
  // Whether some are stood for, so that what is counted of a run is not of all.
  virtual bool stands_for_others() const { return false; }
  // Of stages, where these are known beforehand and its executor follows none.
  virtual std::vector<StagePeak> known_peaks() const { return {}; }
  // The works of several jobs, in the order of executor::Executor::visit_jobs; of one job itself.
  virtual void visit_jobs(const std::function<void(const Work& work)>& visit) const {
    visit(*this);
  }
  // Bytes that operations of all tiles read and write in the whole run of operands in DRAM
  // (machine::Tile::operands_in_dram), beside those of accesses and what its executor finds.
  virtual Wide operand_bytes() const = 0;
  // [nodes] see weights.hpp.
  virtual SparseCounts predicted_events() const = 0;
  // Where that knows nothing of tiles, which are alike: how many events one has, roughly, against
  // tiles with other work.
  virtual std::uint64_t events_of_tile() const { return 0; }
  // None: not known, or a plan, whose programs say more.
  virtual std::optional<WorkForecast> forecast() const { return std::nullopt; }
  // Operations that are done by cores which several jobs may share, each at its `first_operation`;
  // none: it has cores of its own.
  virtual std::span<const workload::Operation> operations() const { return {}; }
  // The cores of this rank: of the compute model, for these operations, or its own.
  virtual std::unique_ptr<compute::Compute> make_compute(
      std::span<const EntityId> members) const = 0;
  virtual std::unique_ptr<executor::Executor> make_executor(
      std::span<const EntityId> members, executor::Observer* observer,
      const executor::OutlookSetup& outlook) const = 0;
  // Whether its executor's outlook knows when it next has something computed that accesses memory.
  virtual bool tells_when_cores_begin() const { return false; }
  // Whether all pairs of nodes that exchange messages are known beforehand; then visits them.
  virtual bool knows_pairs() const { return false; }
  virtual void visit_pairs(const std::function<void(EntityId, EntityId)>& /*visit*/) const {}
};

// The cores of the compute model, for these operations.
std::unique_ptr<compute::Compute> make_model_cores(const Platform& platform,
                                                   std::span<const workload::Operation> operations,
                                                   std::span<const EntityId> members);

// In FLOP/s. Of cores without a peak of their tiles (model npu) that of their arrays.
double sum_of_peaks(const Platform& platform, std::span<const EntityId> tiles, DataType type);
// The same of work in several types of numbers: all FLOPs over the time that those of each type
// take at its peak. Of no FLOPs, and of one type, the peak of that (`usual`).
double mixed_peak(const Platform& platform, std::span<const EntityId> tiles,
                  const std::map<DataType, double>& flops, DataType usual);

}  // namespace tessera::sim
