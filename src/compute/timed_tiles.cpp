#include "tessera/compute/timed.hpp"

#include <algorithm>
#include <tuple>
#include <vector>

#include "tessera/compute/messages.hpp"

namespace tessera::compute {
namespace {

constexpr unsigned free_kind = 2;
constexpr unsigned choose_kind = 3;

class TimedTiles final : public Compute {
 public:
  TimedTiles(std::span<const EntityId> members, unsigned slot)
      : tiles_(members.size()), slot_(slot) {}

  // Two events for an operation, four where others wait: who ends one may ask for the next in the
  // same instant, and takes part in the choice.
  void handle(pdes::Context& context, const pdes::Event& event) override {
    Tile& tile = tiles_[context.index()];
    switch (event.port.kind()) {
      case timed_kind:
        tile.waiting.push_back({event.as<TimedRequest>(), event.tag});
        break;
      case free_kind:
        context.send_self(SimTime::zero(), pdes::Port(slot_, choose_kind), std::uint32_t{0});
        return;
      default:
        tile.wakes = false;
        break;
    }
    if (context.now() >= tile.free_at) {
      begin(context, tile);
    }
    if (!tile.waiting.empty() && !tile.wakes) {
      tile.wakes = true;
      context.send_self(tile.free_at - context.now(), pdes::Port(slot_, free_kind),
                        std::uint32_t{0});
    }
  }

  // It sends to nobody; who waits for it knows what comes then.
  std::optional<pdes::Outlook> outlook(std::uint32_t, const pdes::Moment&) override {
    return pdes::Outlook{};
  }

  void save(std::uint32_t index, pdes::StateWriter& writer) const override {
    const Tile& tile = tiles_[index];
    writer.put_all(tile.waiting);
    writer.put(tile.free_at);
    writer.put(tile.wakes);
  }
  void restore(std::uint32_t index, pdes::StateReader& reader) override {
    Tile& tile = tiles_[index];
    tile.waiting = reader.get_all<Waiting>();
    tile.free_at = reader.get<SimTime>();
    tile.wakes = reader.get<bool>();
  }
  const char* name() const override { return "compute"; }
  std::size_t resident_bytes() const override { return tiles_.capacity() * sizeof(Tile); }

 private:
  struct Waiting {
    TimedRequest request;
    std::uint16_t tag = 0;
  };
  struct Tile {
    std::vector<Waiting> waiting;  // in order of their coming
    SimTime free_at;
    bool wakes = false;  // an event is under way that says it is free
  };

  // What comes first of those that wait.
  void begin(pdes::Context& context, Tile& tile) {
    const auto first = std::min_element(tile.waiting.begin(), tile.waiting.end(),
                                        [](const Waiting& a, const Waiting& b) {
                                          return std::tuple(b.request.priority, a.request.order) <
                                                 std::tuple(a.request.priority, b.request.order);
                                        });
    if (first == tile.waiting.end()) {
      return;
    }
    tile.free_at = context.now() + first->request.duration;
    context.send_self(first->request.duration, first->request.done, std::uint32_t{0}, first->tag);
    tile.waiting.erase(first);
  }

  std::vector<Tile> tiles_;  // [local entities]
  unsigned slot_;
};

}  // namespace

std::unique_ptr<Compute> make_timed_tiles(std::span<const EntityId> members, unsigned slot) {
  return std::make_unique<TimedTiles>(members, slot);
}

}  // namespace tessera::compute
