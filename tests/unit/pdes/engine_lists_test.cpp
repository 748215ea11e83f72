// How an engine finds each entity's events in a window: which way it takes, told by the work space
// that it leaves, and that it looks ahead at nothing but the models' state.

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "regions.hpp"
#include "tessera/core/error.hpp"
#include "tessera/pdes/engine.hpp"

namespace tessera::pdes::engine_lists_test {
namespace {

using testing::blocks;
using testing::regions_of;

constexpr SimTime lookahead = SimTime::from_ps(1000);
constexpr Port port(0, 0);

// Entity 7 sends an event to every `stride`-th entity, all for one window.
class Sender : public Component {
 public:
  Sender(std::uint32_t events, std::uint32_t stride) : events_(events), stride_(stride) {}
  void start(Context& context) override {
    for (std::uint32_t i = 0; context.self() == EntityId(7) && i < events_; ++i) {
      context.send(EntityId(i * stride_ % entities), lookahead * 3, port, i);
    }
  }
  void handle(Context&, const Event&) override { ++handled; }
  std::uint32_t entities = 0;
  std::uint32_t handled = 0;

 private:
  std::uint32_t events_;
  std::uint32_t stride_;
};

// Work space after so many events, without the calendar's wheels and chunks.
std::size_t work_space(std::uint32_t entities, std::uint32_t events, std::uint32_t stride) {
  const auto communicator = comm::make_in_process();
  Engine engine(*communicator, regions_of(*communicator, entities, blocks(entities), lookahead),
                lookahead);
  Sender sender(events, stride);
  sender.entities = entities;
  engine.attach(sender);
  const std::size_t before = engine.memory().event_bytes;
  EXPECT_TRUE(engine.run());
  EXPECT_EQ(sender.handled, events);
  EXPECT_EQ(engine.statistics().events, events);
  EXPECT_EQ(engine.statistics().windows, 1U);
  const bool is_small = entities <= 16'384;
  const std::size_t in_chunk = is_small ? 8 : 21;
  const std::size_t chunks = (events + in_chunk - 1) / in_chunk;
  return engine.memory().event_bytes - before -
         (chunks + 3) / 4 * 4 * (is_small ? 16 + 8 * 48 : 1024);
}

std::size_t with_slack(std::size_t size) {
  return size + size / 16;
}

// From an eighth of the entities on: room for as many events, and a list of chunks.
TEST(EngineLists, AreSortedByCountingWhereTheyAreDense) {
  EXPECT_EQ(work_space(256, 2000, 1), with_slack(2000) * 8 + 256 * 8);
  EXPECT_EQ(work_space(256, 32, 8), with_slack(32) * 8 + 4 * 8);
}

// Below, by a table of twice to four times as many slots.
TEST(EngineLists, AreLookedUpWhereTheyAreShort) {
  EXPECT_EQ(work_space(256, 31, 8), with_slack(64) * 2 + with_slack(31) * 16 + 4 * 8);
  EXPECT_EQ(work_space(4096, 32, 8), with_slack(128) * 2 + with_slack(32) * 16 + 4 * 8);
  EXPECT_EQ(work_space(40'000, 1024, 8), with_slack(4096) * 2 + with_slack(1024) * 16 + 64 * 8);
}

// Longer ones by keys.
TEST(EngineLists, AreSortedByKeysWhereTheyAreSparse) {
  EXPECT_EQ(work_space(40'000, 1025, 8), 2 * with_slack(1025) * 8 + 64 * 8);
}

// Pages of state between such that must not be touched.
class GuardedState {
 public:
  explicit GuardedState(std::size_t bytes) : bytes_(bytes + 2 * page()) {
    ensure(bytes % page() == 0, "whole pages");
    all_ = static_cast<unsigned char*>(
        mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ensure(all_ != MAP_FAILED, "memory for a test");
    ensure(mprotect(all_ + page(), bytes, PROT_READ | PROT_WRITE) == 0, "pages for a test");
  }
  ~GuardedState() { munmap(all_, bytes_); }
  GuardedState(const GuardedState&) = delete;
  GuardedState& operator=(const GuardedState&) = delete;
  const void* first() const { return all_ + page(); }

 private:
  static std::size_t page() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

  std::size_t bytes_;
  unsigned char* all_;
};

class Guarded final : public Sender {
 public:
  Guarded(std::uint32_t events, std::uint32_t stride, const GuardedState& state, std::size_t bytes)
      : Sender(events, stride), array_{state.first(), bytes} {}
  StateArray state_array() const override { return array_; }

 private:
  StateArray array_;
};

// Loads of state ahead of events stay within it, at either end, whatever the list.
TEST(EngineLists, LookAheadAtStateAlone) {
  for (const std::size_t bytes : {64U, 128U, 256U}) {
    for (const auto& [entities, events] :
         {std::pair(1024U, 3000U), std::pair(1024U, 1024U), std::pair(1024U, 40U),
          std::pair(1024U, 100U), std::pair(32'768U, 1000U), std::pair(32'768U, 3000U)}) {
      const GuardedState first(entities * bytes);
      const GuardedState second(std::size_t{entities} * 64);
      const auto communicator = comm::make_in_process();
      Engine engine(*communicator, regions_of(*communicator, entities, blocks(entities), lookahead),
                    lookahead);
      // The last entity has one, too.
      Guarded sender(events, entities / events + 1 + entities % 2, first, bytes);
      Guarded other(0, 1, second, 64);
      sender.entities = other.entities = entities;
      engine.attach(sender);
      engine.attach(other);
      EXPECT_TRUE(engine.run());
      EXPECT_EQ(sender.handled, events);
    }
  }
}

}  // namespace
}  // namespace tessera::pdes::engine_lists_test
