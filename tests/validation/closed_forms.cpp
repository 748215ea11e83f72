// Times that can be computed by hand, beside what the simulator says. Prints one row a case:
// group, case, simulated [ps], closed form [ps]; ends with 1 when any two differ.

#include <iostream>
#include <limits>
#include <string>

#include "executor/harness.hpp"
#include "network/harness.hpp"

namespace tessera {
namespace {

class Table {
 public:
  void row(const std::string& group, const std::string& name, std::int64_t ours,
           std::int64_t expected) {
    std::cout << group << '\t' << name << '\t' << ours << '\t' << expected << '\n';
    failed_ = failed_ || ours != expected;
  }
  bool failed() const { return failed_; }

 private:
  bool failed_ = false;
};

std::int64_t wire_ps(std::uint64_t bytes, std::uint64_t rate) {
  return serialization_time(Bytes(bytes), Bandwidth::bytes_per_second(rate)).ps();
}

// hops * latency + size / bandwidth (PALM, equation (2) on idle links).
void uncontended(Table& table) {
  struct Case {
    std::string machine;
    std::string name;
    std::uint32_t to;
    std::int64_t hops;
    std::int64_t latency_ps;
    std::uint64_t rate;
  };
  using network::testing::mesh;
  const Case cases[] = {
      {mesh(4, 4, "10 GB/s", "2 ns"), "mesh 4x4, 10 GB/s", 15, 6, 2000, 10'000'000'000ULL},
      {mesh(1, 20, "4.4 GB/s", "909 ps"), "mesh 1x20, 4.4 GB/s", 19, 19, 909, 4'400'000'000ULL},
      {mesh(6, 6, "38.4 GB/s", "7.5 ns", "torus"), "torus 6x6, 38.4 GB/s", 35, 2, 7500,
       38'400'000'000ULL},
      {mesh(633, 633, "17.15794543 GB/s", "1324 ps"), "mesh 633x633, 17.15794543 GB/s", 400'688,
       1264, 1324, 17'157'945'430ULL}};
  for (const Case& c : cases) {
    for (const std::string packet : {"4 KiB", "1 kB"}) {
      const network::testing::Described described =
          network::testing::network_of(c.machine, "packet_size: " + packet);
      for (const std::uint64_t bytes : {1ULL, 4096ULL, 1'000'003ULL}) {
        const auto traffic = network::testing::carry(described, {{0, 0, c.to, bytes, 0}});
        table.row("uncontended transfer",
                  c.name + ", " + std::to_string(bytes) + " B in packets of " + packet,
                  traffic.arrivals.at(0).at_ps, c.hops * c.latency_ps + wire_ps(bytes, c.rate));
      }
    }
  }
}

// k senders, one hop from a router, whose messages leave it by one link: the last arrives after two
// latencies and the time of all bytes on the shared link, plus the time of the first byte to get
// there, which is none in cut-through.
void contended(Table& table) {
  constexpr std::uint64_t rate = 10'000'000'000ULL;
  constexpr std::int64_t latency_ps = 2000;
  for (const std::uint32_t senders : {2U, 4U, 8U}) {
    std::string text = "{kind: graph, nodes: [{name: s, count: " + std::to_string(senders) +
                       "}, {name: hub}, {name: sink}], links: [{from: s, to: hub, bandwidth: "
                       "10 GB/s, latency: 2 ns}, {from: hub, to: sink, bandwidth: 10 GB/s, "
                       "latency: 2 ns}]}";
    const network::testing::Described described = network::testing::network_of(text);
    for (const std::uint64_t bytes : {4096ULL, 100'000ULL}) {
      std::vector<network::testing::Send> sends;
      for (std::uint32_t sender = 0; sender < senders; ++sender) {
        sends.push_back({0, sender, senders + 1, bytes, 0});
      }
      const auto traffic = network::testing::carry(described, sends);
      table.row("contended link",
                std::to_string(senders) + " senders of " + std::to_string(bytes) + " B",
                traffic.end_ps, 2 * latency_ps + wire_ps(senders * bytes, rate));
    }
  }
}

// 2 (N - 1) (latency + chunk / bandwidth) (Patarasuk, Yuan, JPDC 2009,
// doi:10.1016/j.jpdc.2008.09.002).
void ring(Table& table) {
  constexpr std::uint64_t rate = 10'000'000'000ULL;
  constexpr std::int64_t latency_ps = 1000;
  for (const std::uint32_t members : {2U, 4U, 16U, 64U}) {
    config::Diagnostics diagnostics;
    config::Section section(
        config::parse("ring.yaml",
                      "topology: {kind: torus, rows: 1, columns: " + std::to_string(members) +
                          ", bandwidth: 10 GB/s, latency: 1 ns}\n"
                          "tile: {peak: {fp16: 1 TFLOP/s}}\n",
                      diagnostics),
        "", diagnostics);
    const auto machine = machine::read_machine(section);
    diagnostics.throw_if_any();
    plan::Plan plan;
    plan.strategy.degrees = {1, 1, members};
    std::vector<EntityId> tiles;
    for (std::uint32_t tile = 0; tile < members; ++tile) {
      tiles.emplace_back(tile);
    }
    plan.placement = plan::Placement(plan.strategy.degrees, tiles, members);
    plan.tensor_algorithm = collective::algorithms().at("ring")({});
    plan.data_algorithm = collective::algorithms().at("ring")({});
    plan.names = {"all-reduce"};
    plan.groups = plan::standard_groups(plan.strategy);
    for (const std::uint64_t chunk : {64ULL, 65'536ULL}) {
      plan::Instruction instruction;
      instruction.action = plan::Action::collective;
      instruction.group = plan::Group::tensor;
      instruction.traffic = plan::Traffic::tensor;
      instruction.bytes = chunk * members;
      plan::Stage stage;
      stage.program.pieces = {{instruction}};
      stage.program.schedule = {{{plan::Phase::forward, 0, 0}, 0}};
      plan.stages.clear();
      plan.stages.push_back(stage);
      const auto outcome = executor::testing::execute(*machine, plan);
      table.row("ring all-reduce",
                std::to_string(members) + " members, chunks of " + std::to_string(chunk) + " B",
                outcome.end.ps(),
                2 * (std::int64_t{members} - 1) * (latency_ps + wire_ps(chunk, rate)));
    }
  }
}

}  // namespace
}  // namespace tessera

int main() {
  tessera::Table table;
  tessera::uncontended(table);
  tessera::contended(table);
  tessera::ring(table);
  return table.failed() ? 1 : 0;
}
