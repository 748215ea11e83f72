#include "tessera/collective/library.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "tessera/core/error.hpp"

namespace tessera::collective {
namespace {

constexpr std::size_t algorithms_known = 2;
constexpr std::size_t protocols_known = 3;
using Table = std::array<std::array<double, protocols_known>, algorithms_known>;

// All of NVIDIA/nccl, src/graph/tuning.cc (commit 01afd20); ring before tree, LL, LL128 and Simple.
// [us]
constexpr Table base_latency{{{3.6, 10.0, 8.4}, {4.4, 4.4, 0}}};
constexpr Table nvlink_latency{{{0.47, 1.9, 3.4}, {0.52, 1.2, 28}}};
constexpr Table network_latency{{{2.7, 4.0, 9.6}, {5.0, 8.5, 50}}};
constexpr double ll_between_servers = 1.8;  // times the latency in one
// A ring's all-reduce between servers, from this many bytes a rank on: "plateau effect of ring".
constexpr double plateau = 1.9;
constexpr double plateau_bytes = 65536.0 / 16;
// What protocols leave of a ring's bandwidth.
constexpr double ll_share = 1.0 / 4;
constexpr double ll_share_in_server = 1.0 / 3;  // of what is no sum of all
constexpr double ll128_share = 0.92;
constexpr double ll128_share_of_one = 0.7;  // rank a server
// Of a tree's.
constexpr double tree_share = 0.9;
constexpr double tree_ll = 1 / 3.8;
constexpr double tree_ll128 = 0.915;
constexpr double tree_ll128_in_server = 7.0 / 9;
// Most that trees reach, Ampere [GB/s].
double most_of_tree(bool several, LibraryProtocol protocol) {
  const bool ll128 = protocol == LibraryProtocol::ll128;
  return several ? (ll128 ? 105 : 80) : (ll128 ? 130 : 110);
}
// "Trees are not perfectly sticking to the model for medium sizes": by powers of two from 64 B on.
constexpr std::array<std::array<double, 22>, protocols_known> tree_correction{
    {{1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1},
     {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .5, .6, .6, .7, .7, .8, .9, .9, 1},
     {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .5, .5, .6, .6, .7, .8, .9}}};

std::uint32_t log2_down(std::uint64_t value) {
  std::uint32_t log = 0;
  while (value > 1) {
    value >>= 1U;
    ++log;
  }
  return log;
}

double share_of_ring(Kind kind, const LibraryGroup& group, LibraryProtocol protocol) {
  switch (protocol) {
    case LibraryProtocol::ll:
      return group.servers > 1 || kind == Kind::all_reduce ? ll_share : ll_share_in_server;
    case LibraryProtocol::ll128:
      return group.ranks < 2 * group.servers ? ll128_share_of_one : ll128_share;
    case LibraryProtocol::simple:
      return 1;
  }
  throw InternalError("a protocol outside its list");
}

double share_of_tree(const LibraryGroup& group, LibraryProtocol protocol) {
  switch (protocol) {
    case LibraryProtocol::ll:
      return tree_ll;
    case LibraryProtocol::ll128:
      return group.servers == 1 ? tree_ll128_in_server : tree_ll128;
    case LibraryProtocol::simple:
      return 1;
  }
  throw InternalError("a protocol outside its list");
}

// [us]
double ring_latency(Kind kind, const LibraryGroup& group, LibraryProtocol protocol, double bytes) {
  const auto at = static_cast<std::size_t>(protocol);
  const double rounds = kind == Kind::all_reduce ? 2 : 1;
  const double steps = rounds * (group.ranks - 1);
  const double between = rounds * (group.servers - 1);
  const bool several = group.servers > 1;
  const double inside =
      nvlink_latency[0][at] * (several && protocol == LibraryProtocol::ll ? ll_between_servers : 1);
  const double latency =
      base_latency[0][at] + (steps - between) * inside + between * network_latency[0][at];
  const bool at_plateau = protocol == LibraryProtocol::simple && several &&
                          kind == Kind::all_reduce && bytes >= group.ranks * plateau_bytes;
  return at_plateau ? latency * plateau : latency;
}

double tree_latency(const LibraryGroup& group, LibraryProtocol protocol) {
  const auto at = static_cast<std::size_t>(protocol);
  const double inside =
      nvlink_latency[1][at] *
      (group.servers > 1 && protocol == LibraryProtocol::ll ? ll_between_servers : 1);
  const auto steps_inside = group.ranks / group.servers - 1;  // whole ranks, as NCCL counts them
  return base_latency[1][at] +
         2 * (steps_inside * inside + log2_down(group.servers) * network_latency[1][at]);
}

}  // namespace

std::string to_string(LibraryAlgorithm algorithm) {
  return algorithm == LibraryAlgorithm::ring ? "ring" : "tree";
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

LibraryChoice choose(Kind kind, const LibraryGroup& group, Bytes bytes, SimTime on_links) {
  ensure(models(Library::nccl, kind), "a collective that the library has no model of");
  ensure(group.servers > 0 && group.ranks > 1 && bytes > Bytes(0), "nothing to choose for");
  const auto size = static_cast<double>(bytes.count());
  const double of_ring = static_cast<double>(on_links.ps()) * 1e-6;  // [us]
  // Bytes over each link of a ring, by which time: the library's bus bandwidth.
  const double rounds = kind == Kind::all_reduce ? 2 : 1;
  const double passed = rounds * (group.ranks - 1) / group.ranks * size;
  const double bus = of_ring > 0 ? passed / of_ring * 1e-3 : 1e9;  // [GB/s]
  LibraryChoice best;
  double least = 0;
  const auto consider = [&](LibraryAlgorithm algorithm, LibraryProtocol protocol, double time) {
    if (least == 0 || time < least) {
      least = time;
      best.algorithm = algorithm;
      best.protocol = protocol;
    }
  };
  for (const LibraryProtocol protocol :
       {LibraryProtocol::simple, LibraryProtocol::ll128, LibraryProtocol::ll}) {
    consider(
        LibraryAlgorithm::ring, protocol,
        ring_latency(kind, group, protocol, size) + of_ring / share_of_ring(kind, group, protocol));
    if (kind == Kind::all_reduce) {
      // A tree moves every byte up and down once.
      const std::uint32_t log = log2_down(bytes.count() >> 6U);
      const auto& correction = tree_correction[static_cast<std::size_t>(protocol)];
      const double reached = std::min(bus * tree_share, most_of_tree(group.servers > 2, protocol)) *
                             share_of_tree(group, protocol) *
                             (log < correction.size() ? correction[log] : 1);
      consider(LibraryAlgorithm::tree, protocol,
               tree_latency(group, protocol) + 2 * size / reached * 1e-3);
    }
  }
  best.time = SimTime::from_ps(static_cast<std::int64_t>(std::ceil(least * 1e6)));
  return best;
}

}  // namespace tessera::collective
