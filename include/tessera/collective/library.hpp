// How a library runs a collective: by which algorithm and protocol, chosen by size and place.
//
// Method: the tuning model of NCCL (NVIDIA/nccl, src/graph/tuning.cc at commit 01afd20,
// ncclTopoTuneModel and ncclTopoGetAlgoTime), with its tables of latencies and of what protocols
// leave of a bandwidth, for NVLink in servers and a network between them. Ring and double binary
// tree, protocols LL, LL128 and Simple; the pair with the least time by the model is taken, and its
// time is the collective's. The bandwidth is not the library's table but the machine's: what a ring
// of the group reaches, with what others have of the same links.
//
// Left out: CollNet and NVLS, and limits of a channel, whose number depends on the search for
// rings.
#pragma once

#include <cstdint>
#include <string>

#include "tessera/collective/kind.hpp"
#include "tessera/core/time.hpp"
#include "tessera/core/units.hpp"

namespace tessera::collective {

enum class Library : std::uint8_t { none, nccl };

enum class LibraryAlgorithm : std::uint8_t { ring, tree };
enum class LibraryProtocol : std::uint8_t { ll, ll128, simple };
std::string to_string(LibraryAlgorithm algorithm);
std::string to_string(LibraryProtocol protocol);

struct LibraryGroup {
  std::uint32_t ranks = 1;
  std::uint32_t servers = 1;  // that the ranks are on, as many on each
};

struct LibraryChoice {
  LibraryAlgorithm algorithm = LibraryAlgorithm::ring;
  LibraryProtocol protocol = LibraryProtocol::simple;
  SimTime time;
};

// Whether the library has a model of the kind: all-reduce, all-gather, reduce-scatter.
bool models(Library library, Kind kind);

// `on_links`: what a ring of the group takes for its bytes on the links alone. `bytes`: the full
// vector, above 0. Throws InternalError for a kind that is not modelled.
LibraryChoice choose(Kind kind, const LibraryGroup& group, Bytes bytes, SimTime on_links);

}  // namespace tessera::collective
