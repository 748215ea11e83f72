// Collectives over several dimensions: what each NPU holds after all phases, and how many bytes it
// has sent.
#include "tessera/collective/stacked/stacked.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "tessera/collective/compat/astra.hpp"
namespace tessera::collective::stacked_test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

std::vector<StackedDimension> dimensions_of(const std::vector<std::uint32_t>& sizes) {
  std::vector<StackedDimension> dimensions;
  std::uint64_t rate = 200'000'000'000;
  for (const std::uint32_t size : sizes) {
    dimensions.push_back({size, Bandwidth::bytes_per_second(rate)});
    rate /= 2;
  }
  return dimensions;
}

// All NPUs of a stack with one chunk of a collective. A vector is a number of pieces that any cut
// leaves whole: as many as there are NPUs. A piece has the NPUs whose contributions are in it.
class Stacked {
 public:
  Stacked(Kind kind, std::vector<std::uint32_t> sizes, ChunkPlan plan)
      : kind_(kind), sizes_(std::move(sizes)), plan_(std::move(plan)) {
    npus_ = std::accumulate(sizes_.begin(), sizes_.end(), 1U, std::multiplies<>());
    for (std::uint32_t npu = 0; npu < npus_; ++npu) {
      holds_.emplace_back(npus_, std::vector<int>(npus_, 0));
      for (std::uint32_t piece = 0; piece < npus_; ++piece) {
        const bool has = kind == Kind::all_gather || kind == Kind::gather   ? owner(piece) == npu
                         : kind == Kind::broadcast || kind == Kind::scatter ? npu == 0
                                                                            : true;
        holds_[npu][piece][npu] = has ? 1 : 0;
      }
    }
  }

  // Every phase as a whole, as its definition says.
  void run() {
    for (const Phase& phase : plan_.phases) {
      const auto before = holds_;
      for (std::uint32_t npu = 0; npu < npus_; ++npu) {
        if (takes_part(phase, npu)) {
          apply(phase, npu, before);
        }
      }
    }
  }

  // Whose piece it is: in the order of the plan, the first cut is the coarsest.
  std::uint32_t owner(std::uint32_t piece) const {
    std::vector<std::uint32_t> coordinates(sizes_.size(), 0);
    std::uint32_t pieces = npus_;
    for (const std::uint32_t dimension : cut_order()) {
      pieces /= sizes_[dimension];
      coordinates[dimension] = piece / pieces;
      piece %= pieces;
    }
    std::uint32_t npu = 0;
    for (std::size_t d = sizes_.size(); d > 0; --d) {
      npu = npu * sizes_[d - 1] + coordinates[d - 1];
    }
    return npu;
  }
  const std::vector<int>& contributions(std::uint32_t npu, std::uint32_t piece) const {
    return holds_[npu][piece];
  }
  std::uint32_t npus() const { return npus_; }

 private:
  std::vector<std::uint32_t> cut_order() const {
    std::vector<std::uint32_t> order = plan_.order;
    if (kind_ == Kind::gather || kind_ == Kind::scatter) {
      std::reverse(order.begin(), order.end());
    }
    return order;
  }
  std::uint32_t coordinate(std::uint32_t npu, std::uint32_t dimension) const {
    for (std::uint32_t d = 0; d < dimension; ++d) {
      npu /= sizes_[d];
    }
    return npu % sizes_[dimension];
  }
  std::uint32_t moved(std::uint32_t npu, std::uint32_t dimension, std::uint32_t to) const {
    std::uint32_t stride = 1;
    for (std::uint32_t d = 0; d < dimension; ++d) {
      stride *= sizes_[d];
    }
    return npu + (to - coordinate(npu, dimension)) * stride;
  }
  bool takes_part(const Phase& phase, std::uint32_t npu) const {
    for (std::uint32_t at = 0; at < phase.with_root; ++at) {
      if (coordinate(npu, plan_.order[at]) != 0) {
        return false;
      }
    }
    return true;
  }
  // The pieces of the NPU's vector in this phase, cut by the dimensions before.
  std::pair<std::uint32_t, std::uint32_t> range(const Phase& phase, std::uint32_t npu) const {
    std::uint32_t first = 0;
    std::uint32_t count = npus_;
    const auto order = cut_order();
    for (std::uint32_t cut = 0; cut < phase.cuts; ++cut) {
      count /= sizes_[order[cut]];
      first += coordinate(npu, order[cut]) * count;
    }
    return {first, count};
  }

  void apply(const Phase& phase, std::uint32_t npu,
             const std::vector<std::vector<std::vector<int>>>& before) {
    const std::uint32_t size = sizes_[phase.dimension];
    const auto [first, count] = range(phase, npu);
    const std::uint32_t share = count / size;
    const std::uint32_t self = coordinate(npu, phase.dimension);
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint32_t piece = first + i;
      const std::uint32_t member = share == 0 ? 0 : i / share;
      const auto from = [&](std::uint32_t other) -> const std::vector<int>& {
        return before[moved(npu, phase.dimension, other)][piece];
      };
      const auto sum = [&] {
        std::vector<int> all(npus_, 0);
        for (std::uint32_t other = 0; other < size; ++other) {
          for (std::uint32_t who = 0; who < npus_; ++who) {
            all[who] += from(other)[who];
          }
        }
        return all;
      };
      switch (phase.kind) {
        case Kind::all_reduce:
          holds_[npu][piece] = sum();
          break;
        case Kind::reduce_scatter:
          holds_[npu][piece] = member == self ? sum() : std::vector<int>(npus_, 0);
          break;
        case Kind::reduce:
          holds_[npu][piece] = self == 0 ? sum() : std::vector<int>(npus_, 0);
          break;
        case Kind::all_gather:
          holds_[npu][piece] = from(member);
          break;
        case Kind::gather:
          if (self == 0) {
            holds_[npu][piece] = from(member);
          }
          break;
        case Kind::broadcast:
          holds_[npu][piece] = from(0);
          break;
        case Kind::scatter:
          holds_[npu][piece] = member == self ? from(0) : std::vector<int>(npus_, 0);
          break;
        default:
          break;
      }
    }
  }

  Kind kind_;
  std::vector<std::uint32_t> sizes_;
  ChunkPlan plan_;
  std::uint32_t npus_ = 0;
  std::vector<std::vector<std::vector<int>>> holds_;  // [npu][piece][contributor]
};

const std::vector<std::vector<std::uint32_t>> stacks{
    {4}, {2, 3}, {4, 2, 3}, {2, 2, 2, 2}, {1, 3, 1}};

TEST(Stacked, EachContributionComesOnce) {
  for (const auto& sizes : stacks) {
    const auto dimensions = dimensions_of(sizes);
    for (const Kind kind : {Kind::all_reduce, Kind::reduce_scatter, Kind::all_gather,
                            Kind::broadcast, Kind::reduce, Kind::gather, Kind::scatter}) {
      for (const auto decomposition : {Decomposition::bandwidth_aware, Decomposition::baseline}) {
        for (const auto order :
             {DimensionOrder::ascending, DimensionOrder::round_robin, DimensionOrder::themis}) {
          const auto plans =
              plan_chunks(kind, Bytes(1 << 20), dimensions, {5, decomposition, order});
          ASSERT_EQ(plans.size(), 5U);
          for (const ChunkPlan& plan : plans) {
            SCOPED_TRACE(to_string(kind) + ", " + std::to_string(sizes.size()) + " dimensions");
            Stacked stack(kind, sizes, plan);
            stack.run();
            for (std::uint32_t npu = 0; npu < stack.npus(); ++npu) {
              for (std::uint32_t piece = 0; piece < stack.npus(); ++piece) {
                std::vector<int> wanted(stack.npus(), 0);
                const bool own = stack.owner(piece) == npu;
                switch (kind) {
                  case Kind::all_reduce:
                    wanted.assign(stack.npus(), 1);
                    break;
                  case Kind::reduce_scatter:
                    wanted.assign(stack.npus(), own ? 1 : 0);
                    break;
                  case Kind::reduce:
                    wanted.assign(stack.npus(), npu == 0 ? 1 : 0);
                    break;
                  case Kind::all_gather:
                    wanted[stack.owner(piece)] = 1;
                    break;
                  case Kind::gather:
                    if (npu != 0 && !own) {
                      continue;  // what passes through may stay
                    }
                    wanted[stack.owner(piece)] = 1;
                    break;
                  case Kind::broadcast:
                    wanted[0] = 1;
                    break;
                  default:
                    if (!own) {
                      continue;
                    }
                    wanted[0] = 1;
                }
                ASSERT_EQ(stack.contributions(npu, piece), wanted) << npu << ' ' << piece;
              }
            }
          }
        }
      }
    }
  }
}

// Bandwidth-optimal: 2 (n - 1)/n of the vector a member in all, most of it in the first dimension.
TEST(Stacked, SendsAsMuchAsTheClosedForm) {
  const auto dimensions = dimensions_of({4, 2, 8});
  const auto plans = plan_chunks(Kind::all_reduce, Bytes(64 * 64), dimensions, {});
  double sent = 0;
  const std::vector<std::uint32_t> coordinates{1, 0, 5};
  for (const Phase& phase : plans[0].phases) {
    const double size = dimensions[phase.dimension].size;
    const auto bytes = static_cast<double>(
        phase_bytes(plans[0], phase, Bytes(64 * 64), dimensions, coordinates).count());
    sent += (phase.kind == Kind::all_reduce ? 2 : 1) * bytes * (size - 1) / size;
  }
  EXPECT_DOUBLE_EQ(sent, 2.0 * 64 * 64 * 63 / 64);
  EXPECT_EQ(phase_bytes(plans[0], plans[0].phases[1], Bytes(64 * 64), dimensions, coordinates),
            Bytes(1024));
}

TEST(Stacked, OrdersDimensions) {
  const auto dimensions = dimensions_of({4, 2, 8});
  const auto orders = [&](DimensionOrder order) {
    std::vector<std::vector<std::uint32_t>> all;
    for (const ChunkPlan& plan : plan_chunks(Kind::reduce_scatter, Bytes(1 << 24), dimensions,
                                             {4, Decomposition::bandwidth_aware, order})) {
      all.push_back(plan.order);
    }
    return all;
  };
  EXPECT_THAT(orders(DimensionOrder::ascending), Each(ElementsAre(0U, 1U, 2U)));
  EXPECT_THAT(orders(DimensionOrder::round_robin),
              ElementsAre(ElementsAre(0U, 1U, 2U), ElementsAre(1U, 2U, 0U), ElementsAre(2U, 0U, 1U),
                          ElementsAre(0U, 1U, 2U)));
  // The first chunk gives 3/4 / 200, 1/8 / 100 and 7/64 / 50 of its bytes: the least loaded
  // dimension, 1, comes first then.
  const auto themis = orders(DimensionOrder::themis);
  EXPECT_THAT(themis[0], ElementsAre(0U, 1U, 2U));
  EXPECT_THAT(themis[1], ElementsAre(1U, 2U, 0U));
}

// The public code of ASTRA-sim turns the order from the last dimension to the first.
TEST(Stacked, AllGathersTurnAsAstra) {
  const std::vector<StackedDimension> dimensions(3, {4, Bandwidth::bytes_per_second(100)});
  StackedOptions options{3, Decomposition::bandwidth_aware, DimensionOrder::round_robin};
  options.conventions = &astra_conventions();
  std::vector<std::vector<std::uint32_t>> all;
  for (const ChunkPlan& plan : plan_chunks(Kind::all_gather, Bytes(1 << 24), dimensions, options)) {
    std::vector<std::uint32_t>& order = all.emplace_back();
    for (const Phase& phase : plan.phases) {
      order.push_back(phase.dimension);
    }
  }
  EXPECT_THAT(
      all, ElementsAre(ElementsAre(2U, 1U, 0U), ElementsAre(1U, 0U, 2U), ElementsAre(0U, 2U, 1U)));
}

// An all-gather goes through an order from its end: the vector grows on the way, so that what comes
// first in the order gets most.
TEST(Stacked, ThemisGathersMostInTheLeastLoadedDimension) {
  const std::vector<StackedDimension> dimensions{{4, Bandwidth::bytes_per_second(200)},
                                                 {4, Bandwidth::bytes_per_second(33)},
                                                 {4, Bandwidth::bytes_per_second(50)}};
  StackedOptions options{4, Decomposition::bandwidth_aware, DimensionOrder::themis};
  const auto orders = [&] {
    std::vector<std::vector<std::uint32_t>> all;
    for (const ChunkPlan& plan :
         plan_chunks(Kind::all_gather, Bytes(1 << 24), dimensions, options)) {
      all.push_back(plan.order);
    }
    return all;
  };
  // Of what an NPU has, the first chunk sends 3 times as much in dimension 2, 12 times in 1 and 48
  // times in 0: 3/50, 12/33 and 48/200.
  EXPECT_THAT(orders(), ElementsAre(ElementsAre(0U, 1U, 2U), ElementsAre(2U, 0U, 1U),
                                    ElementsAre(0U, 1U, 2U), ElementsAre(0U, 1U, 2U)));
  // The public code of ASTRA-sim goes up with the first chunk, and counts 3/200 for 2, 12/33 for 1
  // and 48/50 for 0: 0 has to come first of the second.
  options.conventions = &astra_conventions();
  EXPECT_THAT(orders(), ElementsAre(ElementsAre(2U, 1U, 0U), ElementsAre(2U, 1U, 0U),
                                    ElementsAre(1U, 0U, 2U), ElementsAre(2U, 0U, 1U)));
}

TEST(Stacked, OfOneNpuHasNoPhases) {
  const auto plans = plan_chunks(Kind::all_reduce, Bytes(8), dimensions_of({1, 1}), {3, {}, {}});
  ASSERT_EQ(plans.size(), 3U);
  for (const ChunkPlan& plan : plans) {
    EXPECT_TRUE(plan.phases.empty());
  }
}

}  // namespace
}  // namespace tessera::collective::stacked_test
