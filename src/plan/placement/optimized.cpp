// A placement with small hop-weighted traffic.
//
// Begins with the cheapest of the starts (placement/starts.hpp) and goes on by simulated annealing
// (S. Kirkpatrick, C. D. Gelatt, M. P. Vecchi, "Optimization by simulated annealing", Science 220
// (1983), doi:10.1126/science.220.4598.671) with the moves of placement/moves.hpp, in passes. The
// temperature falls geometrically, then to zero; the cheapest placement seen at one of its steps is
// the result, so that it is never worse than the start. Costs are exact integers and random numbers
// depend on the seed alone: the result is the same everywhere.
#include <algorithm>
#include <array>

#include "placement/cost.hpp"
#include "placement/moves.hpp"
#include "placement/starts.hpp"
#include "tessera/core/random.hpp"

namespace tessera::plan {
namespace {

constexpr std::uint64_t moves_a_role = 6000;
constexpr std::uint64_t most_moves = 10'000'000;  // unless asked for: a few seconds
constexpr unsigned steps = 256;                   // of the temperature
constexpr unsigned steps_at_zero = 32;            // the last of them
constexpr double cooling = 0.985;                 // from step to step
// One after the other, each from the best so far: whole groups and stages alone, which keeps rings
// as they are; then hot enough to take the start apart where roles do not match its rectangles;
// then to mend it where they do. `warmth` is the first temperature in parts of the cost of what
// moves, a tensor group or a role.
struct AnnealingPass {
  bool keeps_groups;
  double warmth;
};
constexpr std::array<AnnealingPass, 4> passes{
    {{true, 0.1}, {false, 0.6}, {false, 0.25}, {false, 0.1}}};

class Annealing {
 public:
  Annealing(const machine::Machine& machine, const PlacementRequest& request,
            const RoleTrafficList& traffic)
      : cost_(machine, traffic, static_cast<std::uint32_t>(request.degrees.tiles())),
        random_(request.optimization.seed, EntityId(0), 0),
        moves_(machine, request, cost_, random_),
        tensor_(request.degrees.tensor) {
    visit_starts(machine, request, [&](const std::vector<EntityId>& tiles) {
      const Wide cost = cost_.total(tiles);
      if (best_.empty() || cost < best_cost_) {
        best_ = tiles;
        best_cost_ = cost;
      }
    });
  }

  std::vector<EntityId> run(std::uint64_t budget) {
    for (const AnnealingPass& pass : passes) {
      if (moves_.keep_groups(pass.keeps_groups)) {
        moves_.set(best_);
        now_ = best_cost_;
        const std::size_t parts = best_.size() / (pass.keeps_groups ? tensor_ : 1);
        cool(pass.warmth * static_cast<double>(now_) / static_cast<double>(parts),
             budget / passes.size());
      }
    }
    return std::move(best_);
  }

 private:
  // From this temperature to zero, with moves of so many tiles.
  void cool(double temperature, std::uint64_t budget) {
    temperature_ = temperature;
    for (unsigned step = 0; step < steps; ++step) {
      if (step + steps_at_zero >= steps) {
        temperature_ = 0;
      }
      spend(budget * (step + 1) / steps - budget * step / steps);
      temperature_ *= cooling;
      if (now_ < best_cost_) {
        best_ = moves_.tiles();
        best_cost_ = now_;
      }
    }
  }

  // Tries moves of so many tiles; one that leads nowhere counts as one.
  void spend(std::uint64_t tiles) {
    for (std::uint64_t spent = 0; spent < tiles;) {
      const std::vector<std::uint32_t>& roles = moves_.propose();
      spent += std::max<std::uint64_t>(1, roles.size());
      if (roles.empty()) {
        continue;
      }
      const Wide before = cost_.of(moves_.tiles(), roles);
      moves_.swap();
      const Wide after = cost_.of(moves_.tiles(), roles);
      if (after <= before || accepts(after - before)) {
        now_ = now_ + after - before;
      } else {
        moves_.swap();
      }
    }
  }

  // With probability exp(-worse / temperature) (Metropolis).
  bool accepts(Wide worse) {
    return temperature_ > 0 && static_cast<double>(worse) < random_.next_exponential(temperature_);
  }

  PlacementCost cost_;
  RandomStream random_;
  PlacementMoves moves_;
  std::uint32_t tensor_;
  std::vector<EntityId> best_;
  Wide best_cost_ = 0;
  Wide now_ = 0;
  double temperature_ = 0;  // [2^-20 ps]
};

Placement place_optimized(const machine::Machine& machine, const PlacementRequest& request,
                          const TrafficSource& traffic) {
  if (!request.tiles.empty()) {
    return Placement(request.degrees, request.tiles, machine.topology->nodes());
  }
  const std::uint64_t usual = std::min(most_moves, moves_a_role * request.degrees.tiles());
  Annealing annealing(machine, request, traffic());
  return Placement(request.degrees, annealing.run(request.optimization.moves.value_or(usual)),
                   machine.topology->nodes());
}

const Registration optimized(placements(),
                             {"optimized",
                              "hop-weighted traffic minimised by simulated annealing; any topology",
                              {}},
                             place_optimized);

}  // namespace
}  // namespace tessera::plan
