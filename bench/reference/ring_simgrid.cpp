// Ring all-reduce on SimGrid's S4U, as in models/ring.hpp: one actor an accelerator, one link from
// each to the next, one communication a chunk.
//
//   tessera-bench-ring-simgrid ACCELERATORS CHUNK_BYTES BYTES_PER_SECOND LATENCY_PS ITERATIONS
//
// prints one JSON object. The network model is CM02 without its corrections for TCP, so that a
// chunk takes latency + bytes / bandwidth and the simulated time can be compared.

#include <xbt/log.h>
#include <simgrid/s4u.hpp>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "reference/simgrid_program.hpp"

namespace {

namespace s4u = simgrid::s4u;

struct Ring {
  std::size_t accelerators = 0;
  std::uint64_t chunk = 0;  // [B]
  double bandwidth = 0;     // [B/s]
  double latency = 0;       // [s]
  std::uint64_t iterations = 0;
};

Ring read(int count, char** words) {
  if (count != 6) {
    throw std::invalid_argument("five numbers expected");
  }
  Ring ring;
  ring.accelerators = std::stoul(words[1]);
  ring.chunk = std::stoull(words[2]);
  ring.bandwidth = std::stod(words[3]);
  ring.latency = std::stod(words[4]) * 1e-12;
  ring.iterations = std::stoull(words[5]);
  return ring;
}

std::vector<s4u::Host*> build(const Ring& ring) {
  auto* const zone = s4u::create_full_zone("ring");
  std::vector<s4u::Host*> hosts;
  for (std::size_t i = 0; i < ring.accelerators; ++i) {
    hosts.push_back(zone->create_host("a" + std::to_string(i), 1e9)->seal());
  }
  for (std::size_t i = 0; i < ring.accelerators; ++i) {
    s4u::Link* const link =
        zone->create_link("l" + std::to_string(i), ring.bandwidth)->set_latency(ring.latency);
    link->seal();
    zone->add_route(hosts[i]->get_netpoint(), hosts[(i + 1) % ring.accelerators]->get_netpoint(),
                    nullptr, nullptr, {s4u::LinkInRoute(link)}, false);
  }
  zone->seal();
  return hosts;
}

// One accelerator: the next chunk goes out when one has come in and the last one is through.
void take_part(const Ring& ring, std::size_t self, std::uint64_t& flows) {
  static char chunk = 0;  // only its size counts
  s4u::Mailbox* const own = s4u::Mailbox::by_name(std::to_string(self));
  s4u::Mailbox* const next = s4u::Mailbox::by_name(std::to_string((self + 1) % ring.accelerators));
  const std::uint64_t steps = ring.iterations * 2 * (ring.accelerators - 1);
  for (std::uint64_t step = 0; step < steps; ++step) {
    const s4u::CommPtr sent = next->put_async(&chunk, ring.chunk);
    own->get<char>();
    sent->wait();
    ++flows;
  }
}

void run(int count, char** words) {
  xbt_log_control_set("root.thresh:warning");
  s4u::Engine engine(&count, words);
  tessera::bench::set_plain(engine);
  const Ring ring = read(count, words);
  const std::vector<s4u::Host*> hosts = build(ring);
  std::uint64_t flows = 0;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    s4u::Actor::create(hosts[i]->get_name(), hosts[i],
                       [&ring, &flows, i] { take_part(ring, i, flows); });
  }
  const auto cost = tessera::bench::cost_of(false, [&] { engine.run(); });
  tessera::bench::print(flows, cost);
}

}  // namespace

int main(int argc, char** argv) {
  return tessera::bench::guarded([&] { run(argc, argv); });
}
