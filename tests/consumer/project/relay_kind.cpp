// A kind of work of one's own, in one file: `workload: {kind: relay, laps: N, bytes: B, work: W}`.
// A baton goes round all tiles, N times; who has it computes W FLOPs of vector work and hands B
// bytes on over the machine's network.
#include <iostream>
#include <map>
#include <string>
#include <utility>

#include "tessera/comm/communicator.hpp"
#include "tessera/compute/messages.hpp"
#include "tessera/network/messages.hpp"
#include "tessera/sim/experiment.hpp"
#include "tessera/sim/simulation.hpp"
#include "tessera/sim/work.hpp"

namespace {

using namespace tessera;
using sim::Platform;

constexpr std::uint32_t came = 0;
constexpr std::uint32_t computed = 1;

struct Relay {
  std::vector<EntityId> tiles;
  std::uint32_t laps = 1;
  Bytes bytes;
  std::vector<workload::Operation> operations;  // one
  std::uint32_t first_operation = 0;            // its number where other jobs have some too
};

class RelayExecutor final : public executor::Executor {
 public:
  RelayExecutor(const Relay& relay, std::uint32_t laps, std::span<const EntityId> members)
      : relay_(relay), laps_(laps), members_(members), states_(members.size()) {
    for (std::uint32_t place = 0; place < relay.tiles.size(); ++place) {
      place_of_[relay.tiles[place]] = place;
    }
  }

  void start(pdes::Context& context) override {
    if (context.self() == relay_.tiles.front()) {
      compute::execute(context, sim::compute_slot, relay_.first_operation, port(computed), 0);
      states_[context.index()].since = context.now();
    }
  }
  void handle(pdes::Context& context, const pdes::Event& event) override {
    State& state = states_[context.index()];
    if (event.port == port(came)) {
      state.since = context.now();
      compute::execute(context, sim::compute_slot, relay_.first_operation, port(computed), 0);
      return;
    }
    ++state.laps;
    state.busy += context.now() - state.since;
    state.end = context.now();
    const std::uint32_t place = place_of_.at(context.self());
    const bool is_last = place + 1 == relay_.tiles.size();
    if (!is_last || state.laps < laps_) {
      const EntityId next = relay_.tiles[is_last ? 0 : place + 1];
      network::send(context, sim::network_slot, next, relay_.bytes, port(came), 0, 0);
    }
  }
  void visit_results(const std::function<void(const executor::TileResult&)>& visit) const override {
    for (std::size_t index = 0; index < members_.size(); ++index) {
      const auto place = place_of_.find(members_[index]);
      if (place != place_of_.end()) {
        executor::TileResult result;
        result.tile = members_[index];
        result.role = place->second;
        result.finished = states_[index].laps == laps_;
        result.end = states_[index].end;
        result.time[static_cast<std::size_t>(executor::Activity::compute)] = states_[index].busy;
        result.time[static_cast<std::size_t>(executor::Activity::bubble)] =
            states_[index].end - states_[index].busy;
        visit(result);
      }
    }
  }
  std::uint64_t unfinished() const override {
    std::uint64_t count = 0;
    visit_results([&](const executor::TileResult& result) { count += result.finished ? 0 : 1; });
    return count;
  }
  std::vector<std::string> waiting(std::size_t) const override { return {}; }
  std::uint64_t instructions_done() const override {
    std::uint64_t sum = 0;
    for (const State& state : states_) {
      sum += state.laps;
    }
    return sum;
  }

 private:
  struct State {
    std::uint32_t laps = 0;
    SimTime since;
    SimTime busy;
    SimTime end;
  };
  static pdes::Port port(std::uint32_t kind) { return {sim::executor_slot, kind}; }

  const Relay& relay_;
  std::uint32_t laps_;
  std::span<const EntityId> members_;
  std::vector<State> states_;  // [members]
  std::map<EntityId, std::uint32_t> place_of_;
};

class RelayWork final : public sim::Work {
 public:
  RelayWork(const Platform& platform, const Relay& relay, std::uint32_t iterations)
      : platform_(platform), relay_(relay), iterations_(iterations) {}

  std::uint64_t tiles() const override { return relay_.tiles.size(); }
  std::vector<EntityId> nodes() const override { return relay_.tiles; }
  std::uint32_t iterations() const override { return iterations_; }
  std::uint64_t instructions() const override { return relay_.tiles.size() * relay_.laps; }
  double peak_flops_per_s() const override {
    return sim::sum_of_peaks(platform_, relay_.tiles, DataType::fp16);
  }
  std::uint64_t samples() const override { return 1; }
  double flops_of_sample() const override {
    return static_cast<double>(relay_.operations[0].flops.count() * instructions());
  }
  std::vector<executor::Activity> activities() const override {
    return {executor::Activity::compute, executor::Activity::bubble};
  }
  std::vector<std::string> phases() const override { return {"relay"}; }
  std::vector<Part> parts() const override { return {{"all", tiles()}}; }
  std::size_t part_of(std::uint32_t) const override { return 0; }
  const std::vector<std::string>& names() const override { return names_; }
  std::vector<EntityId> samples_of_parts() const override { return {relay_.tiles.front()}; }
  void describe(EntityId, trace::NodeRow&) const override {}
  Wide operand_bytes() const override { return 0; }  // it computes on nothing in DRAM
  std::size_t shared_bytes() const override { return 0; }
  std::size_t bytes_a_tile() const override { return 64; }
  std::size_t compute_bytes(std::uint64_t nodes) const override {
    return platform_.compute->predicted_bytes(nodes);
  }
  tessera::SparseCounts predicted_events() const override {
    return {platform_.machine.topology->nodes(), relay_.laps};
  }
  std::span<const workload::Operation> operations() const override { return relay_.operations; }
  std::unique_ptr<compute::Compute> make_compute(std::span<const EntityId> members) const override {
    return sim::make_model_cores(platform_, relay_.operations, members);
  }
  std::unique_ptr<executor::Executor> make_executor(std::span<const EntityId> members,
                                                    executor::Observer*,
                                                    const executor::OutlookSetup&) const override {
    return std::make_unique<RelayExecutor>(relay_, relay_.laps * iterations_, members);
  }

 private:
  const Platform& platform_;
  const Relay& relay_;
  std::uint32_t iterations_;
  std::vector<std::string> names_;
};

class RelayJob final : public sim::Job {
 public:
  explicit RelayJob(Relay relay) : relay_(std::move(relay)) {}
  std::unique_ptr<sim::Work> work(const Platform& platform) const override {
    return std::make_unique<RelayWork>(platform, relay_, iterations);
  }
  sim::JobDescription describe(const Platform&) const override {
    return {{{"laps", std::to_string(relay_.laps)}}, "", ""};
  }
  std::string brief() const override { return "relay"; }
  std::span<const workload::Operation> operations() const override { return relay_.operations; }
  void number(sim::NextNumbers& next) override { relay_.first_operation = next.operation++; }

 private:
  Relay relay_;
};

class RelayReader final : public sim::JobReader {
 public:
  explicit RelayReader(const sim::JobSetup& setup) : setup_(setup) {}
  std::unique_ptr<sim::Job> read() override {
    config::Section workload = setup_.section.section("workload");
    Relay relay;
    relay.tiles = setup_.tiles.nodes.listed();
    relay.laps = static_cast<std::uint32_t>(
        workload.get_or<std::int64_t>("laps", 1, config::between<std::int64_t>(1, 1000)));
    relay.bytes = workload.get<Bytes>("bytes");
    workload::Operation operation;
    operation.flops = workload.get<Flops>("work");
    relay.operations = {operation};
    return std::make_unique<RelayJob>(std::move(relay));
  }

 private:
  sim::JobSetup setup_;
};

const Registration relay(sim::work_kinds(), {"relay", "a baton goes round all tiles", {}},
                         sim::WorkKind{.read = [](const sim::JobSetup& setup) {
                           return std::make_unique<RelayReader>(setup);
                         }});

constexpr const char* machine =
    "machine:\n"
    "  topology: {kind: mesh, rows: 2, columns: 4, bandwidth: 1 GB/s, latency: 10 ns}\n"
    "  network: {model: packet}\n"
    "  tile: {peak: {fp16: 1 GFLOP/s}}\n";

trace::Summary run(const std::string& text, int ranks) {
  const sim::Experiment experiment =
      sim::read_experiment("relay.yaml", {"run.trace=none", "run.partition=stripes"},
                           [&](const std::string&) { return machine + text; });
  trace::Summary result;
  comm::run_ranks_as_threads(ranks, [&](comm::Communicator& communicator) {
    trace::Summary summary = sim::run(experiment, communicator, {});
    if (communicator.rank() == 0) {
      result = std::move(summary);
    }
  });
  return result;
}

// The kind alone, two of them as tenants, and one whose name is misspelt.
int tell() {
  const std::string keys = "laps: 2, bytes: 1 kB, work: 1 kFLOP}\n";
  const std::string alone = "workload: {kind: relay, " + keys;
  const std::string both =
      "workload:\n  kind: tenants\n  tenants:\n"
      "  - name: left\n    tiles: [0, 1, 4, 5]\n    workload: {kind: relay, " +
      keys + "  - name: right\n    tiles: [2, 3, 6, 7]\n    workload: {kind: relay, " + keys;
  for (const std::string& text : {alone, both}) {
    const trace::Summary one = run(text, 1);
    std::cout << one.status << " at " << one.simulated_time_ps << " ps";
    for (int ranks = 2; ranks <= 4; ++ranks) {
      std::cout << (run(text, ranks).result_digest == one.result_digest ? ", equal" : ", differs");
    }
    std::cout << "\n";
  }
  try {
    run("workload: {kind: relai, " + keys, 1);
  } catch (const ConfigError& error) {
    std::cout << error.what() << "\n";
  }
  return 0;
}

}  // namespace

int main() {
  return tell();
}
