#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "tessera/core/ids.hpp"
#include "tessera/core/random.hpp"
#include "transformer/layers.hpp"

namespace tessera::workload {
namespace {

enum DrawStream : std::uint32_t { of_ranks, of_shares };

// One to each rank, shuffled.
std::vector<double> zipf_shares(const ExpertShape& experts, EntityId layer) {
  RandomStream draws(experts.seed, layer, of_ranks);
  std::vector<double> shares;
  for (std::uint64_t rank = 1; rank <= experts.count; ++rank) {
    shares.push_back(std::pow(static_cast<double>(rank), -experts.skew));
  }
  for (std::uint64_t left = experts.count; left > 1; --left) {
    std::swap(shares[left - 1], shares[draws.next_below(left)]);
  }
  return shares;
}

std::vector<double> shares_of(const ExpertShape& experts, std::uint64_t layer) {
  if (!experts.shares.empty()) {
    return experts.shares;
  }
  const EntityId number(static_cast<std::uint32_t>(layer));
  switch (experts.loads) {
    case ExpertLoads::even:
      break;
    case ExpertLoads::zipf:
      return zipf_shares(experts, number);
    case ExpertLoads::exponential: {
      RandomStream draws(experts.seed, number, of_shares);
      std::vector<double> shares(experts.count);
      std::generate(shares.begin(), shares.end(), [&] { return draws.next_exponential(1); });
      return shares;
    }
  }
  return std::vector<double>(experts.count, 1);
}

// Experts by falling share, of equal ones by number.
std::vector<std::size_t> in_order(const std::vector<double>& shares) {
  std::vector<std::size_t> order(shares.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return shares[a] > shares[b]; });
  return order;
}

}  // namespace

// The largest shares first, each of what is left for it and those behind it; a token goes to an
// expert once.
std::vector<std::uint64_t> expert_copies(const ExpertShape& experts, std::uint64_t tokens,
                                         std::uint64_t layer) {
  const std::vector<double> shares = shares_of(experts, layer);
  const std::vector<std::size_t> order = in_order(shares);
  double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  std::uint64_t left = tokens * experts.top_k;
  std::vector<std::uint64_t> copies(shares.size());
  for (std::size_t place = 0; place < order.size(); ++place) {
    const std::size_t expert = order[place];
    const std::uint64_t others = order.size() - place - 1;
    // What those behind cannot take comes here.
    const std::uint64_t least = left - std::min(left, others * tokens);
    const double wanted = sum > 0 ? static_cast<double>(left) * (shares[expert] / sum) : 0;
    const auto rounded = static_cast<std::uint64_t>(std::llround(wanted));
    copies[expert] = std::min({std::max(rounded, least), tokens, left});
    left -= copies[expert];
    sum -= shares[expert];
  }
  if (experts.room == ExpertRoom::dropped) {
    const std::uint64_t capacity = expert_capacity(experts, tokens);
    for (std::uint64_t& each : copies) {
      each = std::min(each, capacity);
    }
  }
  return copies;
}

}  // namespace tessera::workload
