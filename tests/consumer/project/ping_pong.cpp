// The smallest model of one's own: two entities throw a ball to and fro, ten times.
#include <cstdint>
#include <iostream>

#include "tessera/comm/communicator.hpp"
#include "tessera/pdes/engine.hpp"

namespace {

using tessera::EntityId;
using tessera::SimTime;

constexpr SimTime flight = SimTime::from_ps(100);
constexpr SimTime catching = SimTime::from_ps(5);
constexpr std::uint32_t most_hops = 10;
constexpr unsigned component_slot = 0;
constexpr tessera::pdes::Port arrives(component_slot, 0);
constexpr tessera::pdes::Port is_caught(component_slot, 1);

struct Ball {
  std::uint32_t hops;
};

class PingPong : public tessera::pdes::Component {
 public:
  void start(tessera::pdes::Context& context) override {
    if (context.self() == EntityId(0)) {
      context.send(EntityId(1), flight, arrives, Ball{1});
    }
  }

  void handle(tessera::pdes::Context& context, const tessera::pdes::Event& event) override {
    const auto ball = event.as<Ball>();
    if (event.port == arrives) {
      context.send_self(catching, is_caught, ball);
      return;
    }
    hops_ = ball.hops;
    if (ball.hops < most_hops) {
      context.send(EntityId(1 - context.self().value()), flight, arrives, Ball{ball.hops + 1});
    }
  }

  std::uint32_t hops() const { return hops_; }

 private:
  std::uint32_t hops_ = 0;
};

}  // namespace

int main() {
  const auto world = tessera::comm::make_in_process();
  const tessera::pdes::Regions regions{.owner = {0, 0},
                                       .members = {EntityId(0), EntityId(1)},
                                       .delays = {.to = {flight}, .from = {flight}, .direct = {}}};
  tessera::pdes::Engine engine(*world, regions, flight);
  PingPong game;
  engine.attach(game);
  const bool ended = engine.run();
  std::cout << game.hops() << " hops, last at " << engine.last_event_time().ps() << " ps\n";
  return ended ? 0 : 1;
}
