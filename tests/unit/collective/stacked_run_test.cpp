// Runs of stacked collectives: all NPUs of a stack, step by step, with a clock of the test.
#include "tessera/collective/stacked/stacked_run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "run_clock.hpp"
#include "tessera/core/error.hpp"
#include "tessera/core/random.hpp"

namespace tessera::collective::stacked_run_test {
namespace {

constexpr std::int64_t ns = 1000;

struct Layer {
  std::string algorithm;
  std::uint32_t size = 1;
  std::int64_t bytes_per_ns = 100;
  std::int64_t latency_ns = 500;
  std::uint32_t free_additions = 0;
  std::uint32_t queues = 1;
};

struct Setting {
  Kind kind = Kind::all_reduce;
  std::uint64_t bytes = 0;
  StackedOptions options = {};
  std::uint32_t at_a_time = 1;
  ChunkQueue queue = ChunkQueue::fifo;
  SimTime endpoint = {};
  Bandwidth local_memory = {};
  std::uint32_t channels = 1;  // of the only dimension
};

// All NPUs and a network without contention, in which a message takes latency and its bytes at the
// rate of the dimension, cut to whole nanoseconds, and a delay of the test's own.
class Cluster {
 public:
  using Delay = std::function<std::int64_t()>;

  Cluster(std::vector<Layer> layers, const Setting& setting, Delay delay = {})
      : layers_(std::move(layers)) {
    std::vector<RunDimension> dimensions;
    for (const Layer& layer : layers_) {
      algorithms_.push_back(algorithms().at(layer.algorithm)({}));
      dimensions.push_back(
          {{layer.size,
            Bandwidth::bytes_per_second(static_cast<std::uint64_t>(layer.bytes_per_ns) *
                                        1'000'000'000U),
            layer.queues},
           algorithms_.back().get(),
           {setting.endpoint, setting.local_memory, SimTime::from_ps(1000), layer.free_additions}});
      npus_ *= layer.size;
    }
    const auto message = [this](std::uint32_t dimension, Member, Member, Bytes bytes) {
      return message_time(dimension, bytes);
    };
    const TurnOptions turns{setting.at_a_time, setting.queue};
    collective_ = setting.channels > 1
                      ? plan_channels(setting.kind, Bytes(setting.bytes), dimensions.front(),
                                      setting.channels, setting.options, turns, message)
                      : plan_collective(setting.kind, Bytes(setting.bytes), std::move(dimensions),
                                        setting.options, turns, message);
    clock_ = std::make_unique<test::RunClock>(test::RunWorld{
        npus_, [this](std::uint32_t npu) { return new_run(npu); },
        [this](std::uint32_t npu, std::uint32_t dimension, std::uint32_t coordinate) {
          std::uint32_t stride = 1;
          for (std::uint32_t d = 0; d < dimension; ++d) {
            stride *= layers_[d].size;
          }
          const std::uint32_t own = npu / stride % layers_[dimension].size;
          return npu + (coordinate - own) * stride;
        },
        [this](std::uint32_t dimension, Bytes bytes) { return message_time(dimension, bytes); },
        std::move(delay)});
  }

  void run(std::size_t most_events = 10'000'000) { clock_->run(most_events); }
  void go_on(std::size_t most_events) { clock_->go_on(most_events); }
  bool all_over() const { return clock_->all_over(); }
  std::int64_t last_end_ns() const { return *std::max_element(ends().begin(), ends().end()) / ns; }
  const std::vector<std::int64_t>& ends() const { return clock_->ends(); }
  std::size_t kept() const { return clock_->kept(); }
  void save_and_restore() { clock_->save_and_restore(); }

 private:
  std::unique_ptr<CollectiveRun> new_run(std::uint32_t npu) const {
    std::vector<std::uint32_t> coordinates;
    for (const Layer& layer : layers_) {
      coordinates.push_back(npu % layer.size);
      npu /= layer.size;
    }
    return std::make_unique<StackedRun>(collective_, std::move(coordinates),
                                        std::vector<std::uint32_t>(layers_.size()));
  }

  SimTime message_time(std::uint32_t dimension, Bytes bytes) const {
    const Layer& layer = layers_[dimension];
    return SimTime::from_ps(
        (layer.latency_ns + static_cast<std::int64_t>(bytes.count()) / layer.bytes_per_ns) * ns);
  }
  std::vector<Layer> layers_;
  std::vector<std::unique_ptr<Algorithm>> algorithms_;
  std::uint32_t npus_ = 1;
  StackedCollective collective_;
  std::unique_ptr<test::RunClock> clock_;
};

Bandwidth per_ns(std::uint64_t bytes) {
  return Bandwidth::bytes_per_second(bytes * 1'000'000'000U);
}

// The closed forms that go with the figures of ASTRA-sim's congestion-unaware backend; s is the
// time of a message, R of its addition, ep the endpoint delay.
TEST(StackedRun, TakesTheClosedFormsOfOneDimension) {
  constexpr std::int64_t ep = 10;
  const Setting base{Kind::all_reduce,          1U << 20,    {}, 1, ChunkQueue::fifo,
                     SimTime::from_ps(ep * ns), per_ns(1600)};
  const auto end = [&](const Layer& layer, Kind kind) {
    Setting setting = base;
    setting.kind = kind;
    Cluster cluster({layer}, setting);
    cluster.run();
    EXPECT_TRUE(cluster.all_over());
    return cluster.last_end_ns();
  };
  const auto s = [](std::int64_t bytes) { return 500 + bytes / 100; };
  const auto reduction = [](std::int64_t bytes) { return 3 * (bytes / 1600); };
  constexpr std::int64_t n = 8;
  constexpr std::int64_t m = (1 << 20) / n;
  EXPECT_EQ(end({"ring", n}, Kind::reduce_scatter),
            (n - 1) * s(m) + n * ep + (n - 1) * reduction(m));
  EXPECT_EQ(end({"ring", n}, Kind::all_gather), (n - 1) * s(m) + n * ep);
  EXPECT_EQ(end({"ring", n}, Kind::all_reduce),
            2 * (n - 1) * s(m) + (2 * n - 1) * ep + (n - 1) * reduction(m));
  constexpr std::int64_t k = n * (n - 1) / 2;
  EXPECT_EQ(end({"ring-relay", n}, Kind::all_to_all), k * s(m) + (k + 1) * ep);
  EXPECT_EQ(end({"direct", n}, Kind::reduce_scatter), s(m) + 2 * ep + reduction(m));
  EXPECT_EQ(end({"direct", n}, Kind::all_gather), s(m) + 2 * ep);
  EXPECT_EQ(end({"direct", n}, Kind::all_reduce), 2 * s(m) + 3 * ep + reduction(m));
  EXPECT_EQ(end({"direct", n}, Kind::all_to_all), s(m) + 2 * ep);
  std::int64_t halving = 0;
  std::int64_t additions = 0;
  for (int i = 1; i <= 3; ++i) {
    halving += s((1 << 20) >> i);
    additions += i > 1 ? reduction((1 << 20) >> i) : 0;
  }
  EXPECT_EQ(end({"halving-doubling", n, 100, 500, 1}, Kind::all_reduce),
            2 * halving + 7 * ep + additions);
}

struct Case {
  std::vector<Layer> layers;
  Setting setting;
};

std::vector<Case> cases() {
  std::vector<Case> cases;
  const std::vector<std::vector<Layer>> stacks{
      {{"ring", 5}},
      {{"ring", 4}, {"direct", 3}},
      {{"ring", 2}, {"direct", 1}, {"halving-doubling", 6, 50}},
      {{"ring-bidirectional", 4, 300}, {"halving-doubling", 5}, {"direct", 2, 25}},
      {{"double-binary-tree", 6}}};
  for (const std::vector<Layer>& layers : stacks) {
    for (std::size_t kind = 0; kind < kinds; ++kind) {
      const bool offered = std::all_of(layers.begin(), layers.end(), [&](const Layer& layer) {
        return algorithms().at(layer.algorithm)({})->offers(static_cast<Kind>(kind));
      });
      for (const DimensionOrder order :
           {DimensionOrder::ascending, DimensionOrder::round_robin, DimensionOrder::themis}) {
        // Themis cuts an all-reduce in two, which trees do not offer.
        const bool cut = order == DimensionOrder::themis;
        if (offered && !(cut && layers.front().algorithm == "double-binary-tree")) {
          Setting setting;
          setting.kind = static_cast<Kind>(kind);
          setting.bytes = 1'000'003;
          setting.options.chunks = 7;
          setting.options.order = order;
          setting.at_a_time = 1 + static_cast<std::uint32_t>(kind) % 3;
          setting.queue = static_cast<ChunkQueue>((kind + cases.size()) % 3);
          setting.endpoint = SimTime::from_ps(kind % 2 == 0 ? 0 : 7 * ns);
          cases.push_back({layers, setting});
          if (layers.size() == 1 && layers.front().algorithm == "ring" && !has_root(setting.kind)) {
            cases.push_back({{{"ring", 6}}, setting});
            cases.back().setting.channels = 3;
          }
        }
      }
    }
  }
  return cases;
}

// Every channel is a ring of its own, of whose steps all take their message: so many bytes less.
TEST(StackedRun, GoesInChannelsAtOnce) {
  Setting setting;
  setting.bytes = 1U << 20;
  setting.channels = 4;
  Cluster cluster({{"ring", 8}}, setting);
  cluster.run();
  EXPECT_TRUE(cluster.all_over());
  constexpr std::int64_t s = 500 + (1 << 20) / 4 / 8 / 100;
  EXPECT_EQ(cluster.last_end_ns(), 14 * s);
}

// In channel c the members of a block are counted from its c-th on.
TEST(Channels, TurnBlocksOfMembers) {
  for (const std::uint32_t of : {1U, 2U, 4U}) {
    for (std::uint32_t number = 0; number < of; ++number) {
      const Channel channel{number, of};
      EXPECT_EQ(channel.turned_back(0), number);
      EXPECT_EQ(channel.turned_back(of), of + number);
      for (Member member = 0; member < 3 * of; ++member) {
        EXPECT_EQ(channel.turned_back(channel.turned(member)), member);
        EXPECT_EQ(channel.turned(member) / of, member / of) << "stays in its block";
      }
    }
  }
}

// Whatever the network does to messages, every NPU comes to an end and no message is left.
TEST(StackedRun, EndsWithAnyDelays) {
  for (const Case& one : cases()) {
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      std::uint64_t state = seed;
      Cluster cluster(one.layers, one.setting, [&state] {
        state = state * 6364136223846793005U + 1442695040888963407U;
        return static_cast<std::int64_t>(state >> 45U);  // up to half a microsecond
      });
      cluster.run();
      EXPECT_TRUE(cluster.all_over()) << to_string(one.setting.kind) << ", seed " << seed;
      EXPECT_EQ(cluster.kept(), 0U);
    }
  }
}

TEST(StackedRun, GoesOnFromWhatItSaved) {
  for (const Case& one : cases()) {
    Cluster whole(one.layers, one.setting);
    whole.run();
    Cluster stopped(one.layers, one.setting);
    stopped.run(37);
    for (int i = 0; i < 12; ++i) {
      stopped.save_and_restore();
      stopped.go_on(101);
    }
    stopped.go_on(10'000'000);
    EXPECT_TRUE(stopped.all_over()) << to_string(one.setting.kind);
    EXPECT_EQ(stopped.ends(), whole.ends());
  }
}

TEST(StackedRun, ChunksOverlapInDimensions) {
  Setting setting{Kind::all_reduce, 1U << 24};
  const std::vector<Layer> layers{{"ring", 4}, {"ring", 4, 25}};
  Cluster whole(layers, setting);
  whole.run();
  setting.options.chunks = 8;
  Cluster cut(layers, setting);
  cut.run();
  EXPECT_LT(cut.last_end_ns(), whole.last_end_ns());
}

TEST(Turns, AnOrderForEachDimension) {
  const std::vector<StackedDimension> shape{{4, per_ns(100)}, {2, per_ns(100)}};
  StackedOptions options;
  options.chunks = 2;
  const Turns turns = plan_turns(Kind::all_reduce, Bytes(1U << 20), shape, options, {},
                                 [](const Phase&, Bytes) { return SimTime::from_ps(ns); });
  // Reduce-scatter, all-reduce, all-gather: 0 of chunk 0, 0 of chunk 1, then the way back.
  EXPECT_EQ(turns.of[0], (std::vector<Turn>{{0, 0}, {1, 0}, {0, 2}, {1, 2}}));
  EXPECT_EQ(turns.of[1], (std::vector<Turn>{{0, 1}, {1, 1}}));
}

// Reduce-scatters of chunks go to one queue here, all-gathers to the other.
TEST(Turns, QueuesOfADimensionInTurn) {
  const std::vector<StackedDimension> shape{{4, per_ns(100), 2}, {2, per_ns(100)}};
  StackedOptions options;
  options.chunks = 2;
  const Turns turns = plan_turns(Kind::all_reduce, Bytes(1U << 20), shape, options, {},
                                 [](const Phase&, Bytes) { return SimTime::from_ps(ns); });
  EXPECT_EQ(turns.of[0], (std::vector<Turn>{{0, 0}, {1, 0}}));
  EXPECT_EQ(turns.of[1], (std::vector<Turn>{{0, 2}, {1, 2}}));
  EXPECT_EQ(turns.of[2], (std::vector<Turn>{{0, 1}, {1, 1}}));
}

// Of two queues each takes a chunk, one way round the ring and the other.
TEST(StackedRun, QueuesWorkAtTheSameTime) {
  for (const std::string algorithm : {"ring", "direct", "halving-doubling", "ring-relay"}) {
    for (const Kind kind : {Kind::all_reduce, Kind::all_gather, Kind::broadcast}) {
      if (!algorithms().at(algorithm)({})->offers(kind)) {
        continue;
      }
      Setting setting{kind, 1U << 20};
      Cluster half({{algorithm, 4}}, {kind, 1U << 19});
      half.run();
      setting.options.chunks = 2;
      Layer layer{algorithm, 4};
      layer.queues = 2;
      Cluster both({layer}, setting);
      both.run(20);
      both.save_and_restore();
      both.go_on(10'000'000);
      EXPECT_TRUE(both.all_over());
      EXPECT_EQ(both.last_end_ns(), half.last_end_ns()) << algorithm << to_string(kind);
    }
  }
}

}  // namespace
}  // namespace tessera::collective::stacked_run_test
