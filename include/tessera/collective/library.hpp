// How a library runs a collective: by which algorithm and protocol, chosen by size and place.
//
// Method: the tuning model of NCCL (NVIDIA/nccl, src/graph/tuning.cc, ncclTopoTuneModel and
// ncclTopoGetAlgoTime), with its tables of latencies and of what protocols leave of a bandwidth,
// for NVLink in servers and a network between them. Up to Ampere those of 2.12 (commit 01afd20),
// for Hopper those of 2.26 (commit f44ac75). Of ring, double binary tree, NVLS (reduction in the
// servers' switches, NVLink SHARP) and NVLSTree (the same in servers, a tree between them), and of
// the protocols LL, LL128 and Simple, the pair with the least time by the model is taken, and its
// time is the collective's. The bandwidth is not the library's table but the machine's: what the
// group's bytes take on its links, with what others have of the same links.
//
// Deviations: NVLS moves (1 + 1/g) of the vector each way over the link of each of g members, at
// the 85 % that NCCL has for Hopper since 2.28: NVIDIA/nccl, issue 1455 measures 247, 258, 265, 270
// and 273 GB/s of vector with 4 to 8 H100, this with links of 363 GB/s 247, 257, 264, 270 and 274;
// NCCL's own number has (g - 1) / g in its place. A tree over two servers sends the vector once out
// of each (NCCL: twice the bandwidth), over more servers twice.
//
// Left out: CollNet (direct and chain, which need switches that add up between servers), PAT (one
// rank a server), and limits of a channel, whose number depends on the search for rings.
#pragma once

#include <cstdint>
#include <string>

#include "tessera/collective/kind.hpp"
#include "tessera/core/time.hpp"
#include "tessera/core/units.hpp"

namespace tessera::collective {

enum class Library : std::uint8_t { none, nccl };

enum class LibraryAlgorithm : std::uint8_t { ring, tree, nvls, nvls_tree };
enum class LibraryProtocol : std::uint8_t { ll, ll128, simple };
std::string to_string(LibraryAlgorithm algorithm);
// Whether switches in servers add up.
constexpr bool is_switched(LibraryAlgorithm algorithm) {
  return algorithm == LibraryAlgorithm::nvls || algorithm == LibraryAlgorithm::nvls_tree;
}
std::string to_string(LibraryProtocol protocol);

// Whose tables: of compute capability 8.0, or 9.0.
enum class LibraryDevice : std::uint8_t { ampere, hopper };

struct LibrarySettings {
  Library library = Library::none;
  LibraryDevice device = LibraryDevice::ampere;
  bool nvls = false;  // whether switches in servers add up, and may; only of Hopper

  bool is_named() const { return library != Library::none; }
};

struct LibraryGroup {
  std::uint32_t ranks = 1;
  std::uint32_t servers = 1;  // that the ranks are on, as many on each
};

// What bytes take on links alone, with what others have of the same ones.
struct LibraryLinks {
  SimTime ring;     // those that a ring of the group sends
  SimTime inside;   // the vector once, out of a rank within its server; 0: one rank a server
  SimTime between;  // the vector once, out of a server over all of the group's NICs; 0: one server
};

struct LibraryChoice {
  LibraryAlgorithm algorithm = LibraryAlgorithm::ring;
  LibraryProtocol protocol = LibraryProtocol::simple;
  SimTime time;
};

// Whether the library has a model of the kind: all-reduce, all-gather, reduce-scatter.
bool models(Library library, Kind kind);

// By a library that models the kind. `bytes`: the full vector, above 0. Throws InternalError for
// another kind.
LibraryChoice choose(const LibrarySettings& settings, Kind kind, const LibraryGroup& group,
                     Bytes bytes, const LibraryLinks& links);

}  // namespace tessera::collective
