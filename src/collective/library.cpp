#include "tessera/collective/library.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>

#include "tessera/core/error.hpp"

namespace tessera::collective {
namespace {

constexpr std::size_t protocols_known = 3;  // LL, LL128 and Simple
using ByProtocol = std::array<double, protocols_known>;

// Of rings or trees [us].
struct Latencies {
  ByProtocol base;
  ByProtocol inside;   // a step in a server, over NVLink
  ByProtocol between;  // and over the network
};

constexpr std::size_t sizes_corrected = 23;

struct Tuning {
  Latencies ring;
  Latencies tree;
  // A ring's all-reduce between servers takes so many times the latency ("plateau effect") from so
  // many bytes a rank on.
  double plateau;
  double plateau_bytes;
  double tree_share;
  // "Trees are not perfectly sticking to the model for medium sizes": by powers of two from 64 B.
  std::array<std::array<double, sizes_corrected>, protocols_known> tree_correction;
};

// All of NVIDIA/nccl, src/graph/tuning.cc: at commit 01afd20,
constexpr Tuning of_ampere{
    {{3.6, 10.0, 8.4}, {0.47, 1.9, 3.4}, {2.7, 4.0, 9.6}},
    {{4.4, 4.4, 0}, {0.52, 1.2, 28}, {5.0, 8.5, 50}},
    1.9,
    65536.0 / 16,
    0.9,
    {{{1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1},
      {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .5, .6, .6, .7, .7, .8, .9, .9, 1, 1},
      {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .5, .5, .6, .6, .7, .8, .9, 1}}},
};
// and at commit f44ac75; the plateau with 16 channels, of 64 B each.
constexpr Tuning of_hopper{
    {{6.6, 14.0, 8.4}, {0.6, 1.9, 3.4}, {2.7, 4.0, 14.0}},
    {{6.8, 14.0, 8.4}, {0.6, 1.25, 4.0}, {5.0, 8.5, 14.0}},
    1.4,
    64 * 16,
    0.92,
    {{{1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1},
      {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1},
      {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5,
       .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9}}},
};

constexpr double ll_between_servers = 1.8;  // Ampere: times the latency in one
constexpr double tree_ll = 1 / 3.8;
constexpr double tree_ll128_in_server = 7.0 / 9;
// Hopper: what the network's host takes to post a step, three times that for Simple [us].
constexpr double post = 1.0;
constexpr double nvls_share = 0.85;            // v2.28.3
constexpr double nvls_latency = 25;            // [us]
constexpr double nvls_between_latency = 14.0;  // [us]

constexpr double unlimited = std::numeric_limits<double>::infinity();

std::uint32_t log2_down(std::uint64_t value) {
  std::uint32_t log = 0;
  while (value > 1) {
    value >>= 1U;
    ++log;
  }
  return log;
}

double microseconds(SimTime time) {
  return static_cast<double>(time.ps()) * 1e-6;
}

// Times of one collective, by algorithm and protocol [us].
class Model {
 public:
  Model(LibraryDevice device, Kind kind, const LibraryGroup& group, Bytes bytes,
        const LibraryLinks& links)
      : reduces_all_(kind == Kind::all_reduce),
        is_hopper_(device == LibraryDevice::hopper),
        tuning_(is_hopper_ ? of_hopper : of_ampere),
        group_(group),
        bytes_(bytes),
        links_(links) {}

  double ring(LibraryProtocol protocol) const {
    const double passed = rounds() * (group_.ranks - 1) / group_.ranks * size();
    return ring_latency(protocol) +
           std::max(microseconds(links_.ring) / ring_share(protocol), passed / most(protocol));
  }

  double tree(LibraryProtocol protocol) const {
    const auto& correction = tuning_.tree_correction[static_cast<std::size_t>(protocol)];
    const std::uint32_t log = log2_down(bytes_.count() >> 6U);
    const double corrected = log < correction.size() ? correction[log] : 1;
    // Every byte goes up and down once.
    const double alone = std::max(2 * microseconds(links_.inside), out_of_servers());
    const double least = std::max(alone / tuning_.tree_share, 2 * size() / most_of_tree(protocol));
    const double moved = std::max(least / tree_share(protocol), 2 * size() / most(protocol));
    return tree_latency(protocol) + moved / corrected;
  }

  // Each rank's link carries what the switch asks it for, and what comes of that.
  double nvls() const {
    const double ranks = group_.ranks / group_.servers;
    const double share = reduces_all_ ? 1 + 1 / ranks : 1;
    const double in_server = share * microseconds(links_.inside) / nvls_share;
    return nvls_latency + 2 * log2_down(group_.servers) * nvls_between_latency +
           std::max(in_server, out_of_servers());
  }

 private:
  double rounds() const { return reduces_all_ ? 2 : 1; }
  // With rates in GB/s it gives microseconds.
  double size() const { return static_cast<double>(bytes_.count()) * 1e-3; }
  bool has_several() const { return group_.servers > 1; }
  // A server of a tree sends to the one above, and to those below; of two, each is the root of one
  // half.
  double out_of_servers() const {
    return (group_.servers == 2 ? 1 : 2) * microseconds(links_.between);
  }

  // Most that a protocol passes [GB/s]; between servers with Intel's CPUs.
  double most(LibraryProtocol protocol) const {
    if (!is_hopper_ || protocol != LibraryProtocol::ll) {
      return unlimited;
    }
    return group_.servers == 1 ? 141 : group_.servers == 2 ? 39 : 20.4;
  }
  // Most that trees reach [GB/s].
  double most_of_tree(LibraryProtocol protocol) const {
    if (is_hopper_) {
      return unlimited;
    }
    const bool ll128 = protocol == LibraryProtocol::ll128;
    return group_.servers > 2 ? (ll128 ? 105 : 80) : (ll128 ? 130 : 110);
  }

  double ring_share(LibraryProtocol protocol) const {
    switch (protocol) {
      case LibraryProtocol::ll:
        return is_hopper_ ? 1.0 / 2 : has_several() || reduces_all_ ? 1.0 / 4 : 1.0 / 3;
      case LibraryProtocol::ll128:
        return !is_hopper_ && group_.ranks < 2 * group_.servers ? 0.7 : 0.92;
      case LibraryProtocol::simple:
        return 1;
    }
    throw InternalError("a protocol outside its list");
  }
  double tree_share(LibraryProtocol protocol) const {
    switch (protocol) {
      case LibraryProtocol::ll:
        return tree_ll;
      case LibraryProtocol::ll128:
        return !has_several() ? tree_ll128_in_server : is_hopper_ ? 120.0 / 128 : 0.915;
      case LibraryProtocol::simple:
        return 1;
    }
    throw InternalError("a protocol outside its list");
  }

  // Of a step in a server.
  double inside(double latency, LibraryProtocol protocol, bool of_ring) const {
    const bool ll = protocol == LibraryProtocol::ll;
    if (is_hopper_) {
      const double posts = protocol == LibraryProtocol::simple ? 3 * post : post;
      return of_ring && has_several() ? std::max(latency, posts) : latency;
    }
    return has_several() && ll ? ll_between_servers * latency : latency;
  }

  double ring_latency(LibraryProtocol protocol) const {
    const auto at = static_cast<std::size_t>(protocol);
    const double steps = rounds() * (group_.ranks - 1);
    const double between = rounds() * (group_.servers - 1);
    // Hopper: one rank a server has nothing to hide the network behind.
    const bool is_open = is_hopper_ && group_.ranks == group_.servers;
    const double latency = tuning_.ring.base[at] +
                           (steps - between) * inside(tuning_.ring.inside[at], protocol, true) +
                           between * (is_open ? tuning_.tree : tuning_.ring).between[at];
    const bool at_plateau = protocol == LibraryProtocol::simple && has_several() && reduces_all_ &&
                            size() * 1e3 >= group_.ranks * tuning_.plateau_bytes;
    return at_plateau ? latency * tuning_.plateau : latency;
  }

  double tree_latency(LibraryProtocol protocol) const {
    const auto at = static_cast<std::size_t>(protocol);
    const auto steps = group_.ranks / group_.servers - 1;  // whole ranks, as NCCL counts them
    return tuning_.tree.base[at] + 2 * (steps * inside(tuning_.tree.inside[at], protocol, false) +
                                        log2_down(group_.servers) * tuning_.tree.between[at]);
  }

  bool reduces_all_;
  bool is_hopper_;
  const Tuning& tuning_;
  const LibraryGroup& group_;
  Bytes bytes_;
  const LibraryLinks& links_;
};

// Between servers only all-reduces, and only where a server has several ranks.
bool has_nvls(const LibrarySettings& settings, Kind kind, const LibraryGroup& group) {
  return settings.nvls && settings.device == LibraryDevice::hopper &&
         group.ranks >= 2 * group.servers && (group.servers == 1 || kind == Kind::all_reduce);
}

}  // namespace

std::string to_string(LibraryAlgorithm algorithm) {
  switch (algorithm) {
    case LibraryAlgorithm::ring:
      return "ring";
    case LibraryAlgorithm::tree:
      return "tree";
    case LibraryAlgorithm::nvls:
      return "NVLS";
    case LibraryAlgorithm::nvls_tree:
      return "NVLSTree";
  }
  throw InternalError("an algorithm outside its list");
}

std::string to_string(LibraryProtocol protocol) {
  switch (protocol) {
    case LibraryProtocol::ll:
      return "LL";
    case LibraryProtocol::ll128:
      return "LL128";
    case LibraryProtocol::simple:
      return "Simple";
  }
  throw InternalError("a protocol outside its list");
}

bool models(Library library, Kind kind) {
  return library == Library::nccl &&
         (kind == Kind::all_reduce || kind == Kind::all_gather || kind == Kind::reduce_scatter);
}

LibraryChoice choose(const LibrarySettings& settings, Kind kind, const LibraryGroup& group,
                     Bytes bytes, const LibraryLinks& links) {
  ensure(models(settings.library, kind), "a collective that the library has no model of");
  ensure(group.servers > 0 && group.ranks > 1 && bytes > Bytes(0), "nothing to choose for");
  const Model model(settings.device, kind, group, bytes, links);
  LibraryChoice best;
  double least = unlimited;
  const auto consider = [&](LibraryAlgorithm algorithm, LibraryProtocol protocol, double time) {
    if (time < least) {
      least = time;
      best.algorithm = algorithm;
      best.protocol = protocol;
    }
  };
  for (const LibraryProtocol protocol :
       {LibraryProtocol::simple, LibraryProtocol::ll128, LibraryProtocol::ll}) {
    consider(LibraryAlgorithm::ring, protocol, model.ring(protocol));
    if (kind == Kind::all_reduce) {
      consider(LibraryAlgorithm::tree, protocol, model.tree(protocol));
    }
  }
  if (has_nvls(settings, kind, group)) {
    consider(group.servers == 1 ? LibraryAlgorithm::nvls : LibraryAlgorithm::nvls_tree,
             LibraryProtocol::simple, model.nvls());
  }
  best.time = SimTime::from_ps(static_cast<std::int64_t>(std::ceil(least * 1e6)));
  return best;
}

}  // namespace tessera::collective
