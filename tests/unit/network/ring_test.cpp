// Rings whose steps are lumped where nobody disturbs them give what a simulation of each message
// gives.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "harness.hpp"

namespace tessera::network::ring_test {
namespace {

using testing::Described;
using testing::Send;

struct RingOf {
  std::uint64_t word = 0;
  std::vector<std::uint32_t> members;  // nodes
  std::uint32_t steps = 0;
  std::uint64_t bytes = 0;              // of the smaller messages
  std::uint32_t larger = 0;             // messages have one byte more
  std::vector<std::int64_t> begins_ps;  // of members
};

struct Case {
  std::vector<RingOf> rings;
  std::vector<Send> sends;
};

// What happened: of members the end of their ring, of other messages their arrival.
struct Outcome {
  std::map<std::pair<std::uint64_t, std::uint32_t>, std::int64_t> ends_ps;  // by ring and node
  std::map<std::uint16_t, std::int64_t> arrivals_ps;                        // by tag
  std::vector<testing::Use> uses;
  std::uint64_t messages = 0;
  std::uint64_t hops = 0;
  std::uint64_t events = 0;
};

// Members of rings, and senders of messages beside them.
class Driver final : public pdes::Component {
 public:
  static constexpr unsigned slot = 0;
  static constexpr unsigned network_slot = 1;
  static constexpr unsigned begin_kind = 0;
  static constexpr unsigned send_kind = 1;
  static constexpr unsigned step_kind = 2;
  static constexpr unsigned arrival_kind = 3;

  Driver(const Case& of, bool announces, std::span<const EntityId> members)
      : case_(of), announces_(announces), members_(members) {}

  void start(pdes::Context& context) override {
    for (std::uint32_t r = 0; r < case_.rings.size(); ++r) {
      const RingOf& ring = case_.rings[r];
      for (std::uint32_t member = 0; member < ring.members.size(); ++member) {
        if (ring.members[member] == context.self().value()) {
          context.send_self(SimTime::from_ps(ring.begins_ps[member]), pdes::Port(slot, begin_kind),
                            std::uint64_t{r} << 32 | member);
        }
      }
    }
    for (std::uint32_t i = 0; i < case_.sends.size(); ++i) {
      if (case_.sends[i].from == context.self().value()) {
        context.send_self(SimTime::from_ps(case_.sends[i].at_ps), pdes::Port(slot, send_kind), i);
      }
    }
  }

  void handle(pdes::Context& context, const pdes::Event& event) override {
    switch (event.port.kind()) {
      case begin_kind:
        begin(context, event.as<std::uint64_t>());
        break;
      case send_kind: {
        const Send& one = case_.sends[event.as<std::uint32_t>()];
        send(context, network_slot, EntityId(one.to), Bytes(one.bytes),
             pdes::Port(slot, arrival_kind), one.tag, 0);
        break;
      }
      case arrival_kind:
        outcome.arrivals_ps[event.tag] = context.now().ps();
        break;
      default: {
        const auto arrival = event.as<Arrival>();
        Part& part = parts_[{arrival.word, context.self().value()}];
        part.received += arrival.untold;
        part.sent += part.has_begun ? arrival.untold : 0;
        ASSERT_TRUE(arrival.untold == 0 || part.has_begun);
        ++part.received;
        go_on(context, arrival.word, part);
      }
    }
  }

  void save(std::uint32_t index, pdes::StateWriter& writer) const override {
    const std::uint32_t here = members_[index].value();
    std::vector<Saved> parts;
    for (const auto& [name, part] : parts_) {
      if (name.second == here) {
        const auto end = outcome.ends_ps.find(name);
        parts.push_back({name.first, end == outcome.ends_ps.end() ? -1 : end->second, part.member,
                         part.has_begun ? 1U : 0U, part.received, part.sent});
      }
    }
    writer.put_all(parts);
    std::vector<std::int64_t> arrivals;
    for (const Send& one : case_.sends) {
      const auto arrival = outcome.arrivals_ps.find(one.tag);
      if (one.to == here && arrival != outcome.arrivals_ps.end()) {
        arrivals.insert(arrivals.end(), {one.tag, arrival->second});
      }
    }
    writer.put_all(arrivals);
  }
  void restore(std::uint32_t index, pdes::StateReader& reader) override {
    const std::uint32_t here = members_[index].value();
    for (const Saved& saved : reader.get_all<Saved>()) {
      const auto ring = std::find_if(case_.rings.begin(), case_.rings.end(),
                                     [&](const RingOf& one) { return one.word == saved.word; });
      parts_[{saved.word, here}] = {&*ring, saved.member, saved.has_begun != 0, saved.received,
                                    saved.sent};
      if (saved.end_ps >= 0) {
        outcome.ends_ps[{saved.word, here}] = saved.end_ps;
      }
    }
    const auto arrivals = reader.get_all<std::int64_t>();
    for (std::size_t i = 0; i < arrivals.size(); i += 2) {
      outcome.arrivals_ps[static_cast<std::uint16_t>(arrivals[i])] = arrivals[i + 1];
    }
  }

  Outcome outcome;

 private:
  struct Saved {
    std::uint64_t word = 0;
    std::int64_t end_ps = 0;
    std::uint32_t member = 0;
    std::uint32_t has_begun = 0;
    std::uint32_t received = 0;
    std::uint32_t sent = 0;
  };
  struct Part {
    const RingOf* ring = nullptr;
    std::uint32_t member = 0;
    bool has_begun = false;
    std::uint32_t received = 0;
    std::uint32_t sent = 0;
  };

  void begin(pdes::Context& context, std::uint64_t name) {
    const RingOf& ring = case_.rings[name >> 32];
    Part& part = parts_[{ring.word, context.self().value()}];
    part.ring = &ring;
    part.member = static_cast<std::uint32_t>(name);
    part.has_begun = true;
    if (announces_) {
      context.send_self(SimTime::zero(), pdes::Port(network_slot, ring_kind),
                        RingPart{ring.word, static_cast<std::uint32_t>(ring.members.size()),
                                 part.member, ring.steps, 0});
    }
    go_on(context, ring.word, part);
  }

  // Sends what it may: in each step what was received in the one before.
  void go_on(pdes::Context& context, std::uint64_t word, Part& part) {
    if (!part.has_begun) {
      return;
    }
    const RingOf& ring = *part.ring;
    const auto members = static_cast<std::uint32_t>(ring.members.size());
    for (; part.sent < ring.steps && part.sent <= part.received; ++part.sent) {
      const std::uint32_t chain = (part.member + members - part.sent % members) % members;
      send(context, network_slot, EntityId(ring.members[(part.member + 1) % members]),
           Bytes(ring.bytes + (chain < ring.larger ? 1 : 0)), pdes::Port(slot, step_kind),
           static_cast<std::uint16_t>(part.sent), word);
    }
    if (part.received == ring.steps) {
      outcome.ends_ps[{word, context.self().value()}] = context.now().ps();
    }
  }

  const Case& case_;
  bool announces_;
  std::span<const EntityId> members_;
  std::map<std::pair<std::uint64_t, std::uint32_t>, Part> parts_;
};

// With `kept` and `from` as of testing::carry.
Outcome run(const Case& of, const std::string& topology, const std::string& keys, bool lumps,
            int ranks = 1, testing::Cut* kept = nullptr, const testing::Cut* from = nullptr) {
  const Described described = testing::network_of(
      topology, "model: flow, uncontended_steps: " + std::string(lumps ? "lumped" : "each") + keys);
  Outcome outcome;
  std::mutex mutex;
  const machine::Topology& nodes = *described.machine.topology;
  const machine::Partition partition = machine::partitioners().at("stripes")(nodes, ranks, {});
  const SimTime lookahead = *described.network->reach(described.machine);
  comm::run_ranks_as_threads(ranks, [&](comm::Communicator& communicator) {
    const std::vector<EntityId> members =
        partition.members[static_cast<std::size_t>(communicator.rank())].listed();
    pdes::Engine engine(communicator,
                        {partition.owner.listed(), members,
                         testing::delays_of(described, partition, communicator.rank())},
                        lookahead);
    Driver driver(of, lumps, members);
    const std::unique_ptr<Network> network =
        described.network->build({described.machine, members, Driver::network_slot});
    engine.attach(driver);
    engine.attach(*network);
    tessera::testing::run_over_a_pause(engine, communicator.rank() == 0, kept, from, [] {});
    std::vector<std::uint64_t> last{static_cast<std::uint64_t>(engine.last_event_time().ps())};
    communicator.reduce_max(last);
    const SimTime end = SimTime::from_ps(static_cast<std::int64_t>(last[0]));
    const std::scoped_lock lock(mutex);
    network->visit_links(end, [&](const LinkUse& use) {
      outcome.uses.push_back({use.node.value(), use.port, use.begin.ps(), use.end.ps(),
                              use.bytes.count(), use.busy.ps(), use.largest_queue.count()});
    });
    outcome.ends_ps.merge(driver.outcome.ends_ps);
    outcome.arrivals_ps.merge(driver.outcome.arrivals_ps);
    outcome.messages += network->messages();
    outcome.hops += network->packet_hops();
    outcome.events += engine.statistics().events;
  });
  std::sort(outcome.uses.begin(), outcome.uses.end());
  return outcome;
}

void expect_same(const Outcome& each, const Outcome& lumped) {
  EXPECT_EQ(each.ends_ps, lumped.ends_ps);
  EXPECT_EQ(each.arrivals_ps, lumped.arrivals_ps);
  ASSERT_EQ(each.uses.size(), lumped.uses.size());
  for (std::size_t link = 0; link < each.uses.size(); ++link) {
    EXPECT_EQ(each.uses[link].bytes, lumped.uses[link].bytes) << "link " << link;
    EXPECT_EQ(each.uses[link].busy_ps, lumped.uses[link].busy_ps) << "link " << link;
  }
  EXPECT_EQ(each.messages, lumped.messages);
  EXPECT_EQ(each.hops, lumped.hops);
}

// Members of a star around a switch: their links to it are theirs.
std::string star(const std::vector<std::string>& bandwidths) {
  std::string links;
  for (std::size_t i = 0; i < bandwidths.size(); ++i) {
    links += (i > 0 ? ", " : "") + ("{from: \"n[" + std::to_string(i)) +
             "]\", to: hub, bandwidth: " + bandwidths[i] +
             ", latency: " + std::to_string(2 + i % 3) + " ns}";
  }
  return "{kind: graph, nodes: [{name: n, count: " + std::to_string(bandwidths.size()) +
         "}, {name: hub, kind: switch}], links: [" + links + "]}";
}

RingOf ring_of(std::uint64_t word, std::uint32_t members, std::uint64_t bytes,
               std::uint32_t larger) {
  RingOf ring{word, {}, 2 * (members - 1), bytes, larger, {}};
  for (std::uint32_t member = 0; member < members; ++member) {
    ring.members.push_back(member);
    ring.begins_ps.push_back(1000);
  }
  return ring;
}

constexpr std::uint32_t nodes = 12;

std::string same_links() {
  return star(std::vector<std::string>(nodes, "10 GB/s"));
}
std::string unequal_links() {
  std::vector<std::string> bandwidths(nodes, "40 GB/s");
  bandwidths[3] = bandwidths[7] = "10 GB/s";
  return star(bandwidths);
}

const std::vector<std::string>& pair_modes() {
  static const std::vector<std::string> modes{
      ", pairs: in-turn", ", pairs: together", ", pairs: in-turn, weights: latency",
      ", pairs: in-turn, window: 50 kB, message_overhead: 100 ns"};
  return modes;
}

TEST(LumpedRings, EndWhenSimulatedOnesDo) {
  for (const std::uint32_t larger : {0U, 5U}) {
    const Case one{{ring_of(7, nodes, 40'000, larger)}, {}};
    for (const std::string& keys : pair_modes()) {
      const Outcome each = run(one, same_links(), keys, false);
      const Outcome lumped = run(one, same_links(), keys, true);
      expect_same(each, lumped);
      EXPECT_LT(3 * lumped.events, each.events);
    }
  }
}

// Messages queue where links are slow; where they go together they meet there, and nothing is
// lumped.
TEST(LumpedRings, QueueAtSlowLinksAsSimulatedOnes) {
  const Case one{{ring_of(7, nodes, 40'000, 3)}, {}};
  const Outcome each = run(one, unequal_links(), pair_modes()[0], false);
  const Outcome lumped = run(one, unequal_links(), pair_modes()[0], true);
  expect_same(each, lumped);
  EXPECT_LT(2 * lumped.events, each.events);
  expect_same(run(one, unequal_links(), pair_modes()[1], false),
              run(one, unequal_links(), pair_modes()[1], true));
}

// Messages and other rings come at any time, to links of the ring and to others; members begin
// together or not.
Case random_case(std::uint32_t seed) {
  std::mt19937 random(seed);
  const auto below = [&random](std::uint64_t bound) { return random() % bound; };
  Case one;
  const std::uint64_t rings = 1 + below(3);
  for (std::uint64_t word = 1; word <= rings; ++word) {
    const auto members = static_cast<std::uint32_t>(3 + below(nodes - 2));
    RingOf ring = ring_of(word, members, 1000 + below(60'000), 0);
    ring.larger = static_cast<std::uint32_t>(below(members + 1));
    ring.steps = below(2) == 0 ? ring.steps : members - 1;
    std::shuffle(ring.members.begin(), ring.members.end(), random);
    const std::uint64_t spread = below(2) == 0 ? 1 : 1 + below(20'000'000);
    const std::uint64_t since = below(40'000'000);
    for (std::int64_t& begin : ring.begins_ps) {
      begin = static_cast<std::int64_t>(since + below(spread));
    }
    one.rings.push_back(ring);
  }
  const std::uint64_t sends = below(6);
  for (std::uint64_t number = 0; number < sends; ++number) {
    const auto from = static_cast<std::uint32_t>(below(nodes));
    const auto to = static_cast<std::uint32_t>((from + 1 + below(nodes - 1)) % nodes);
    one.sends.push_back({static_cast<std::int64_t>(below(150'000'000)), from, to,
                         1 + below(200'000), static_cast<std::uint16_t>(number)});
  }
  return one;
}

TEST(LumpedRings, GoOnByThemselvesWhereTheyAreDisturbed) {
  constexpr std::uint32_t cases = 400;
  std::uint64_t saved = 0;
  for (std::uint32_t seed = 0; seed < cases && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Case one = random_case(seed);
    const std::string& keys = pair_modes()[seed % 4];
    const std::string topology = seed % 8 < 4 ? same_links() : unequal_links();
    const Outcome each = run(one, topology, keys, false);
    const Outcome lumped = run(one, topology, keys, true);
    expect_same(each, lumped);
    saved += each.events > lumped.events ? 1 : 0;
  }
  EXPECT_GT(saved, cases / 4);
}

// Whatever is disturbed: a change is one of what lumping spares.
TEST(LumpedRings, TakeSoManyEvents) {
  std::vector<std::uint64_t> events(4);
  for (std::uint32_t seed = 0; seed < 48; ++seed) {
    const std::string topology = seed % 8 < 4 ? same_links() : unequal_links();
    events[seed % 4] += run(random_case(seed), topology, pair_modes()[seed % 4], true).events;
  }
  EXPECT_EQ(events, (std::vector<std::uint64_t>{8826, 15'718, 11'186, 12'021}));
}

TEST(LumpedRings, AreTheSameOnAnyNumberOfRanks) {
  for (std::uint32_t seed = 0; seed < 8; ++seed) {
    const Case one = random_case(seed);
    const Outcome alone = run(one, same_links(), pair_modes()[0], true);
    for (const int ranks : {2, 3, 4}) {
      expect_same(alone, run(one, same_links(), pair_modes()[0], true, ranks));
    }
  }
}

// Rings that are lumped, and such as have been disturbed and go on message by message.
TEST(LumpedRings, GoOnFromACheckpoint) {
  for (std::uint32_t seed = 0; seed < 24 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Case one = random_case(seed);
    const std::string& keys = pair_modes()[seed % 4];
    const std::string topology = seed % 8 < 4 ? same_links() : unequal_links();
    const Outcome alone = run(one, topology, keys, true);
    std::int64_t end = 0;
    for (const auto& [name, at] : alone.ends_ps) {
      end = std::max(end, at);
    }
    for (const std::int64_t part : {1, 3, 6}) {
      testing::Cut cut{std::max<std::int64_t>(end * part / 8, 1), {}, {}};
      expect_same(alone, run(one, topology, keys, true, 2, &cut));
      ASSERT_FALSE(cut.run.is_empty());
      expect_same(alone, run(one, topology, keys, true, 1, nullptr, &cut));
      expect_same(alone, run(one, topology, keys, true, 3, nullptr, &cut));
    }
  }
}

}  // namespace
}  // namespace tessera::network::ring_test
