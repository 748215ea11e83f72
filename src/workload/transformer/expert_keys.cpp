#include "transformer/expert_keys.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include "tessera/config/key.hpp"
#include "tessera/config/without_effect.hpp"
#include "tessera/core/text.hpp"

namespace tessera::workload {
namespace {

using config::between;
using config::ChoiceKey;
using config::DerivedKey;
using config::Key;
using config::ListKey;
using config::RequiredKey;
using Count = std::uint64_t;

// Made when asked for, as kinds of work register before this file's own objects are there.
struct ExpertKeys {
  RequiredKey<Count> count{"experts.count",
                           "experts of a layer; without the section experts there is one MLP",
                           between<Count>(1, 1 << 16)};
  RequiredKey<Count> top_k{"experts.top_k", "experts that each token is sent to, at most `count`",
                           between<Count>(1, 1 << 16)};
  Key<Count> every{"experts.every", ExpertShape{}.every,
                   "the last of every so many layers has experts", between<Count>(1, 1 << 14)};
  Key<Count> dense_first{"experts.dense_first", 0,
                         "layers at the beginning that have one MLP of width `ffn` instead",
                         between<Count>(0, 1 << 14)};
  Key<double> capacity_factor{"experts.capacity_factor",
                              static_cast<double>(ExpertShape{}.capacity_millionths) / 1e6,
                              "capacity of an expert, relative to its tokens in an even "
                              "distribution",
                              between(1e-3, 1e3)};
  Key<Count> shared{"experts.shared", 0, "additional experts that process every token",
                    between<Count>(0, 1 << 10)};
  DerivedKey<Count> ffn{"experts.ffn", "ffn", "hidden width of one expert",
                        between<Count>(1, 1 << 24)};
  ChoiceKey<ExpertRoom> room{
      "experts.room",
      {{"padded", ExpertRoom::padded},
       {"dropped", ExpertRoom::dropped},
       {"unlimited", ExpertRoom::unlimited}},
      ExpertShape{}.room,
      "padded: an expert processes its full capacity, even if fewer tokens arrive; dropped: the "
      "tokens that arrive, up to its capacity; unlimited: all that arrive"};
  ChoiceKey<ExpertLoads> loads{
      "experts.loads",
      {{"even", ExpertLoads::even},
       {"zipf", ExpertLoads::zipf},
       {"exponential", ExpertLoads::exponential}},
      ExpertShape{}.loads,
      "distribution of tokens over experts that are not padded: even, or drawn for each layer: "
      "zipf or exponential"};
  Key<double> skew{"experts.skew", ExpertShape{}.skew,
                   "zipf: the share of the expert of rank r is proportional to r^-skew",
                   between(0.0, 10.0)};
  Key<Count> seed{"experts.seed", ExpertShape{}.seed, "seed of the drawn loads",
                  between<Count>(0, std::uint64_t{1} << 62)};
  ListKey<double> shares{
      "experts.shares",
      {},
      "instead of `loads`: the relative share of each expert; at most 1/top_k of the sum"};
};

const ExpertKeys& expert_keys() {
  static const ExpertKeys made;
  return made;
}

bool are_shares(const std::vector<double>& shares, std::uint64_t count) {
  const bool sound = std::all_of(shares.begin(), shares.end(),
                                 [](double share) { return share >= 0 && std::isfinite(share); });
  return sound && shares.size() == count && std::accumulate(shares.begin(), shares.end(), 0.0) > 0;
}

// A token picks an expert at most once, so that none has more than one of its `top_k` choices.
bool can_be_chosen(config::Section& section, const ExpertShape& experts) {
  if (experts.top_k == 0 || experts.top_k > experts.count) {
    return true;  // complained about by itself
  }
  const double sum = std::accumulate(experts.shares.begin(), experts.shares.end(), 0.0);
  constexpr double most = 1 + 1e-9;  // choices of a token
  bool sound = true;
  for (std::size_t expert = 0; expert < experts.shares.size(); ++expert) {
    const double choices = static_cast<double>(experts.top_k) * (experts.shares[expert] / sum);
    if (choices > most) {
      section.error("shares", section.raw("shares").items[expert],
                    "expert " + std::to_string(expert) + " would have " +
                        format_number(std::round(100 * choices) / 100) + " of the " +
                        std::to_string(experts.top_k) +
                        " choices of a token, which chooses an expert once; a share is at most "
                        "1/top_k of their sum");
      sound = false;
    }
  }
  return sound;
}

// Whether what is said of loads goes together.
bool read_loads(config::Section& section, ExpertShape& experts) {
  experts.room = expert_keys().room.read(section);
  experts.loads = expert_keys().loads.read(section);
  experts.skew = expert_keys().skew.read(section);
  experts.seed = expert_keys().seed.read(section);
  experts.shares = expert_keys().shares.read(section);
  // Of values, not of keys that are there: resolved configurations state all of them.
  const bool is_drawn = experts.loads != ExpertLoads::even;
  const bool is_given = !experts.shares.empty();
  for (const auto& [key, is_set] : {std::pair("loads", is_drawn), std::pair("shares", is_given)}) {
    if (is_set && experts.room == ExpertRoom::padded) {
      section.error(key,
                    "has no effect on experts that work on their capacity, full or not; give "
                    "'room: dropped' or 'room: unlimited'");
      return false;
    }
  }
  if (experts.room == ExpertRoom::unlimited &&
      experts.capacity_millionths != ExpertShape{}.capacity_millionths) {
    section.error("capacity_factor", "is of no effect with 'room: unlimited'");
    return false;
  }
  if (is_given && is_drawn) {
    section.error("loads", "are not drawn where 'shares' are given");
    return false;
  }
  if (is_given && !are_shares(experts.shares, experts.count)) {
    section.error("shares", "must be " + std::to_string(experts.count) +
                                " numbers from 0 on, not all 0, one for each expert");
    return false;
  }
  if (is_given && !can_be_chosen(section, experts)) {
    return false;
  }
  if (experts.loads != ExpertLoads::zipf && experts.skew != ExpertShape{}.skew) {
    config::note_without_effect(section, "skew", "loads other than zipf");
  }
  if (!is_drawn && experts.seed != ExpertShape{}.seed) {
    config::note_without_effect(section, "seed", "loads that are not drawn");
  }
  return true;
}

}  // namespace

std::optional<ExpertShape> read_experts(config::Section section, std::uint64_t ffn) {
  ExpertShape experts;
  experts.count = expert_keys().count.read(section);
  experts.top_k = expert_keys().top_k.read(section);
  experts.every = expert_keys().every.read(section);
  experts.dense_first = expert_keys().dense_first.read(section);
  experts.capacity_millionths =
      static_cast<std::uint64_t>(std::llround(1e6 * expert_keys().capacity_factor.read(section)));
  experts.shared = expert_keys().shared.read(section);
  experts.ffn = expert_keys().ffn.read(section, ffn);
  const bool sound = read_loads(section, experts);
  if (experts.count == 0 || experts.top_k == 0) {
    return std::nullopt;
  }
  if (experts.top_k > experts.count) {
    section.error("top_k", "a token cannot go to " + std::to_string(experts.top_k) + " of " +
                               std::to_string(experts.count) + " experts");
    return std::nullopt;
  }
  return sound ? std::optional(experts) : std::nullopt;
}

std::vector<ParameterInfo> expert_parameters() {
  const ExpertKeys& all = expert_keys();
  return {all.count,           all.top_k,  all.every, all.dense_first,
          all.capacity_factor, all.shared, all.ffn,   all.room,
          all.loads,           all.skew,   all.seed,  all.shares};
}

}  // namespace tessera::workload
