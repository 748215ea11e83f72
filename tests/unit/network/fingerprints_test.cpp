// Traffic over every network, as a digest: arrivals, use of links in all and by bins, events, and
// what two ranks know beforehand of what they send each other. A change of any of these is a change
// of a model or of what it costs, and is to be meant.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "harness.hpp"
#include "tessera/core/digest.hpp"
#include "tessera/core/random.hpp"

namespace tessera::network::fingerprints_test {
namespace {

using testing::Arrived;
using testing::carry;
using testing::Cut;
using testing::Described;
using testing::Driver;
using testing::mesh;
using testing::network_of;
using testing::Send;
using testing::Traffic;
using testing::Use;

struct Case {
  std::string name;
  std::string topology;
  std::string keys;
  std::uint64_t traffic = 0;   // digest
  std::uint64_t outlooks = 0;  // digest
  std::uint64_t forecasts = 0;
  std::uint32_t nodes = 16;
  std::uint64_t most_bytes = 3000;
};

void PrintTo(const Case& one, std::ostream* stream) {
  *stream << one.name;
}

class Digest {
 public:
  void add(std::uint64_t word) { value_ = mix64(value_ ^ word) + 1; }
  void add(std::int64_t word) { add(static_cast<std::uint64_t>(word)); }
  void add(SimTime time) { add(time.ps()); }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0;
};

// Some at once to one node, the others at any time between any two; one in eight has a limit.
std::vector<Send> sends_of(const Case& one) {
  std::vector<Send> sends;
  RandomStream random(5, EntityId(0), 0);
  const auto below = [&](std::uint64_t bound) { return random.next_below(bound); };
  for (int i = 0; i < 160; ++i) {
    Send send;
    send.at_ps = i % 8 == 0 ? 100'000 : static_cast<std::int64_t>(below(400'000));
    send.from = static_cast<std::uint32_t>(below(one.nodes));
    send.to = i % 8 == 0 ? one.nodes / 2 : static_cast<std::uint32_t>(below(one.nodes));
    send.bytes = i % 16 == 1 ? 0 : 1 + below(i % 4 == 0 ? one.most_bytes / 50 : one.most_bytes);
    send.tag = static_cast<std::uint16_t>(i);
    send.limit = i % 8 == 3 ? 1'000'000'000 + below(5'000'000'000) : 0;
    sends.push_back(send);
  }
  return sends;
}

void add(Digest& digest, const std::vector<Use>& uses) {
  for (const Use& use : uses) {
    digest.add(std::uint64_t{use.node} << 32 | use.port);
    digest.add(use.begin_ps);
    digest.add(use.end_ps);
    digest.add(use.bytes);
    digest.add(use.busy_ps);
    digest.add(use.queue);
  }
}

std::uint64_t digest_of(const Traffic& traffic) {
  Digest digest;
  for (const Arrived& arrived : traffic.arrivals) {
    digest.add(arrived.at_ps);
    digest.add(std::uint64_t{arrived.at} << 32 | arrived.from);
    digest.add(arrived.word << 16 | arrived.tag);
  }
  add(digest, traffic.totals);
  add(digest, traffic.bins);
  digest.add(traffic.hops);
  digest.add(traffic.messages);
  digest.add(traffic.events);
  digest.add(traffic.end_ps);
  return digest.value();
}

// Asks the models in each round what they know of the other rank.
class Asking final : public pdes::SyncPolicy {
 public:
  Asking(comm::Communicator& communicator, const RegionDelays& delays, Digest& digest)
      : other_(static_cast<std::uint32_t>(1 - communicator.rank())),
        windows_(pdes::make_window_policy(communicator, delays)),
        digest_(digest) {}
  pdes::RoundResult advance(pdes::Site& site, const pdes::RoundSums& sums) override {
    const pdes::RoundResult result = windows_->advance(site, sums);
    if (!result.finished) {
      const SimTime next = result.global_next;
      for (const SimTime wanted : {next + site.width(), next + site.width() * 100}) {
        const pdes::Outlook outlook = site.outlook(other_, wanted);
        digest_.add(outlook.at);
        digest_.add(outlook.after_next);
        digest_.add(outlook.after_input);
      }
    }
    return result;
  }

 private:
  std::uint32_t other_;
  std::unique_ptr<pdes::SyncPolicy> windows_;
  Digest& digest_;
};

// On two ranks, with the digest of what they know. As in `carry`, with `kept` and `from`.
struct Shared {
  std::vector<Arrived> arrivals;
  std::uint64_t outlooks = 0;
};

Shared share(const Described& described, std::vector<Send> sends, Cut* kept = nullptr,
             const Cut* from = nullptr) {
  Shared shared;
  for (std::size_t i = 0; described.network->promises() && i < sends.size(); i += 3) {
    sends[i].flags = followed_flag;
  }
  std::vector<Digest> digests(2);
  std::mutex mutex;
  const machine::Topology& topology = *described.machine.topology;
  const machine::Partition partition = machine::partitioners().at("stripes")(topology, 2, {});
  const SimTime lookahead =
      std::min(topology.smallest_latency(),
               described.network->reach(described.machine).value_or(SimTime::never()));
  comm::run_ranks_as_threads(2, [&](comm::Communicator& communicator) {
    const auto rank = static_cast<std::size_t>(communicator.rank());
    Digest& digest = digests[rank];
    const std::vector<EntityId> members = partition.members[rank].listed();
    const std::vector<std::uint32_t> owner = partition.owner.listed();
    const RegionDelays delays = testing::delays_of(described, partition, communicator.rank());
    pdes::Engine engine(communicator, {owner, members, delays}, lookahead,
                        std::make_unique<Asking>(communicator, delays, digest));
    Driver driver(sends, members);
    const pdes::RegionView region{owner, static_cast<std::uint32_t>(rank)};
    const std::unique_ptr<Network> network =
        described.network->build({described.machine,
                                  members,
                                  Driver::network_slot,
                                  described.network->promises() ? &region : nullptr,
                                  {}});
    const auto told = [&digest](const Progress& message) {
      digest.add(std::uint64_t{message.source.value()} << 32 | message.target.value());
      digest.add(message.word << 16 | message.tag);
      digest.add(message.earliest);
    };
    if (described.network->promises()) {
      network->report_progress(
          [&told](const Progress& message) {
            told(message);
            return message.word % 2 == 0;
          },
          told);
    }
    for (const EntityId here : members) {
      for (std::uint32_t node = 0; node < owner.size(); ++node) {
        const pdes::Exit exit = network->exit_of(here, EntityId(node));
        digest.add(std::uint64_t{exit.region});
        digest.add(exit.latency);
        digest.add(network->exit_of_message(here, EntityId(node), Bytes(777)).latency);
        digest.add(network->least_time(here, EntityId(node), Bytes(777)));
      }
    }
    engine.attach(driver);
    engine.attach(*network);
    tessera::testing::run_over_a_pause(engine, rank == 0, kept, from, [] {});
    digest.add(network->longest_unshared());
    digest.add(network->carried().bytes_taken);
    digest.add(network->carried().bytes_delivered);
    const std::scoped_lock lock(mutex);
    shared.arrivals.insert(shared.arrivals.end(), driver.arrivals.begin(), driver.arrivals.end());
  });
  std::stable_sort(shared.arrivals.begin(), shared.arrivals.end(),
                   [](const Arrived& a, const Arrived& b) { return a.at < b.at; });
  shared.outlooks = mix64(digests[0].value()) ^ digests[1].value();
  return shared;
}

// What is told of traffic before a run.
std::uint64_t forecast(const Described& described, const std::vector<Send>& sends) {
  Digest digest;
  const NetworkModel& model = *described.network;
  const machine::Machine& machine = described.machine;
  for (const bool bins : {false, true}) {
    digest.add(std::uint64_t{model.predicted_bytes(machine, 7, bins)});
  }
  const auto traffic = model.predict_traffic(machine);
  for (const Send& send : sends) {
    const EntityId from(send.from);
    const EntityId to(send.to);
    digest.add(model.events_of_message(machine, from, to, Bytes(send.bytes)));
    const machine::Path path{send.tag % 5U, SimTime::from_ps(7000 + send.tag),
                             Bandwidth::bytes_per_second(3'000'000'000),
                             SimTime::from_ps(500 + 91 * send.tag)};
    digest.add(model.idle_time(path, Bytes(7 * send.bytes)));
    std::vector<std::uint64_t> events(machine.topology->nodes());
    traffic->visit_events(from, to, Bytes(send.bytes), [&](EntityId node, std::uint64_t count) {
      events.at(node.value()) += count;
    });
    for (const std::uint64_t count : events) {
      digest.add(count);
    }
  }
  return digest.value();
}

class Fingerprints : public ::testing::TestWithParam<Case> {};

TEST_P(Fingerprints, AreWhatTheyWere) {
  const Case& one = GetParam();
  const Described described = network_of(one.topology, one.keys);
  const std::vector<Send> sends = sends_of(one);
  const Traffic alone = carry(described, sends, {1, "stripes", 70'000});
  EXPECT_EQ(alone.arrivals.size(), sends.size());
  EXPECT_EQ(digest_of(alone), one.traffic) << "traffic of " << one.name;
  Cut cut{150'000, {}, {}};
  const Shared shared = share(described, sends, &cut);
  EXPECT_EQ(shared.arrivals, alone.arrivals);
  const Shared resumed = share(described, sends, nullptr, &cut);
  EXPECT_EQ(resumed.arrivals, alone.arrivals);
  const std::uint64_t outlooks = mix64(shared.outlooks) ^ resumed.outlooks;
  EXPECT_EQ(outlooks, one.outlooks) << "outlooks of " << one.name;
  const std::uint64_t forecasts = forecast(described, sends);
  EXPECT_EQ(forecasts, one.forecasts) << "forecasts of " << one.name;
}

const std::string links = "{bandwidth: 32 GB/s, latency: 1 ns}";
const std::string slow = "{bandwidth: 7 GB/s, latency: 8 ns}";
const std::string wafer = "{kind: wafer, tiles: [2, 2], cores: [2, 2], intra_tile: " + links +
                          ", inter_tile: " + slow + "}";
const std::string tree =
    "{kind: fat-tree, k: 4, node: " + links + ", edge: " + slow + ", core: " + links + "}";
const std::string cluster =
    "{kind: cluster, nodes: 4, accelerators: 4, nics: 2, switch: {bandwidth: 200 GB/s, latency: 50 "
    "ns}, nic: {bandwidth: 50 GB/s, latency: 30 ns}, port: {bandwidth: 25 GB/s, latency: 70 ns}, "
    "fabric: {kind: fat-tree, leaf_nodes: 2, spines: 2, bandwidth: 100 GB/s, latency: 20 ns}}";
const std::string dragonfly =
    "{kind: dragonfly, groups: 4, routers: 2, npus: 2, global: 2, node: " + links +
    ", local: " + links + ", global_links: " + slow + "}";

std::string grid(const std::string& kind = "mesh") {
  return mesh(4, 4, "32 GB/s", "1 ns", kind);
}

INSTANTIATE_TEST_SUITE_P(
    Packets, Fingerprints,
    ::testing::Values(
        Case{"packet_mesh", grid(), "packet_size: 256 B", 5388681700933467241U,
             14393098666999344755U, 5952106481527248772U},
        Case{"packet_few", mesh(4, 4), "packet_size: 100 B, max_packets: 3, routing: yx",
             13733385726426428187U, 7896207956849639351U, 1814725700273043278U},
        Case{"packet_store", grid("torus"), "packet_size: 300 B, switching: store-and-forward",
             12675757969292199918U, 8533813918999296543U, 2492643451613472697U},
        Case{"packet_fair", mesh(4, 4), "packet_size: 256 B, arbitration: fair",
             13961632534753886852U, 227872440992481776U, 4015474299021371577U},
        Case{"packet_wafer", wafer, "packet_size: 512 B, message_overhead: 3 ns",
             12348955145046608754U, 5571688523986703849U, 15479875232821145472U},
        Case{"packet_tree", tree, "routing: ecmp", 12076114208993703070U, 17495074377277950011U,
             5291321260196144091U},
        Case{"packet_shortest", dragonfly, "routing: shortest, packet_size: 64 B",
             12292747859577529504U, 1450691045449745924U, 12278648922218799848U},
        Case{"packet_cluster", cluster, "packet_size: 1 kB", 12601051461210351789U,
             5925518842425086027U, 4806945036481451007U},
        Case{"crossbar", grid(), "model: crossbar, packet_size: 256 B", 12353589982685302645U,
             16029670981779212054U, 11068539221070652115U},
        Case{"crossbar_slow", tree,
             "model: crossbar, port_bandwidth: 3 GB/s, port_latency: 11 ns, message_overhead: 5 ns",
             6871941555370254451U, 15663863090371505399U, 14048883875513204894U},
        Case{"analytical", mesh(4, 4), "model: analytical", 6732112215097027416U,
             10635159008075683828U, 14297398295967743435U},
        Case{"analytical_shared", cluster, "model: analytical, ports: shared", 8003639174307555079U,
             15320957806218043803U, 1525399639353632778U},
        Case{"analytical_free", wafer, "model: analytical, ports: free, message_overhead: 3 ns",
             7897007715775149487U, 3523613574265143440U, 8499392711138510846U}),
    [](const auto& parameter) { return parameter.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Flows, Fingerprints,
    ::testing::Values(Case{"flow_mesh", mesh(4, 4), "model: flow", 5818001098970518831U,
                           2710886271915794242U, 17144257506742866740U},
                      Case{"flow_wafer", wafer, "model: flow, weights: latency",
                           15363136236442006278U, 8902041718614050050U, 17144257506742866740U},
                      Case{"flow_together", tree,
                           "model: flow, pairs: together, flow_limit: 6 GB/s",
                           12301070396219331878U, 7087255873584141554U, 10270028245288593475U},
                      Case{"flow_window", dragonfly,
                           "model: flow, window: 500 B, message_overhead: 3 ns",
                           16007116025372338474U, 13780268653043804336U, 14454128007506662716U},
                      Case{"flow_cluster", cluster, "model: flow", 9773017051089943859U,
                           5642526118290655114U, 11461611064173231841U, 16, 300'000}),
    [](const auto& parameter) { return parameter.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Flits, Fingerprints,
    ::testing::Values(
        Case{"flit_xy", grid(), "model: flit, packet_size: 256 B", 6781427084687124536U,
             17161183838181965082U, 8472339274313466617U},
        Case{"flit_eight", grid(), "model: flit, packet_size: 96 B, virtual_channels: 8",
             3894037014542731696U, 16755535536585788186U, 4276169692519308716U},
        Case{"flit_west_first", grid(),
             "model: flit, routing: west-first, virtual_channels: 2, loopback: true",
             17557743921146524867U, 10208420264909108154U, 13798295278639037020U},
        Case{"flit_odd_even", grid(),
             "model: flit, routing: odd-even, packet_size: 200 B, flit_size: 16 B",
             5239919688788649662U, 13267701146477201169U, 14664570742191317465U},
        Case{"flit_shortest", grid(),
             "model: flit, routing: shortest, virtual_channels: 2, packet_size: 128 B",
             14666986612126278640U, 1029621440427509923U, 13798295278639037020U},
        Case{"flit_torus", grid("torus"),
             "model: flit, virtual_channels: 2, buffer: 2, packet_size: 128 B",
             13770568143584423997U, 16328569481795446230U, 9985652615037652945U},
        Case{"flit_tail_credit", grid(),
             "model: flit, tail_credit: true, credit_delay: 2, buffer: 3, packet_size: 64 B",
             7184702841430325590U, 7159888681448658148U, 10237673756264329602U},
        Case{"flit_round_robin", grid(),
             "model: flit, allocator: round-robin, allocator_iterations: 2, packet_size: 64 B",
             15142598245010354718U, 169246824243218263U, 8472339274313466617U},
        Case{"flit_speed_ups", grid(),
             "model: flit, input_speedup: 2, output_speedup: 2, speculative: true",
             3562470183666806408U, 6221935984365400346U, 6698533021369296278U},
        Case{"flit_delays", grid(),
             "model: flit, vc_allocation_delay: 2, switch_allocation_delay: 3, routing_delay: 2, "
             "traversal_delay: 2, interface_delay: 3, packet_size: 160 B",
             2087367327473271735U, 15907648286451683750U, 1426518424171705047U},
        Case{"flit_wafer", wafer, "model: flit, packet_size: 256 B, message_overhead: 3 ns",
             17793440328501300378U, 3015122455964128609U, 17906066064511511098U},
        Case{"flit_tree", tree, "model: flit, virtual_channels: 1, packet_size: 512 B",
             12183266657075687492U, 12855519859002140874U, 7100876278404350506U},
        Case{"flit_dragonfly", dragonfly, "model: flit, packet_size: 96 B", 3562213974504843758U,
             7379836751374617632U, 11118491039129337152U}),
    [](const auto& parameter) { return parameter.param.name; });

}  // namespace
}  // namespace tessera::network::fingerprints_test
