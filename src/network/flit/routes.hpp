// Where a packet of a flit network may go next, and by which virtual channels, so that packets
// never wait for each other in a circle.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "flit/state.hpp"
#include "tessera/core/ids.hpp"
#include "tessera/machine/topology/topology.hpp"

namespace tessera::network {

struct FlitChoice {
  std::uint16_t port = 0;
  std::uint16_t other = no_port;  // a second one that will do as well
  std::uint32_t vcs = 0;          // bit i: virtual channel i will do
};

// A packet at a router. `in_port` is ports(here) where it comes from the node itself.
struct FlitStep {
  EntityId here;
  EntityId source;
  EntityId target;  // != here
  unsigned in_port = 0;
  unsigned in_vc = 0;
};

// The first so many virtual channels.
inline std::uint32_t lowest_vcs(unsigned count) {
  return static_cast<std::uint32_t>((std::uint64_t{1} << count) - 1);
}

class FlitRoutes {
 public:
  virtual ~FlitRoutes() = default;
  virtual FlitChoice next(const FlitStep& step) const = 0;
};

// The port at the other end of a link whose link leads back: credits take it. Of parallel links the
// same one in turn. None where no link does.
std::optional<unsigned> port_back(const machine::Topology& topology, EntityId node, unsigned port);

// Routings of meshes beyond those of the machine: "west-first", "odd-even".
std::vector<std::string> adaptive_routings();

// Routes for `vcs` virtual channels:
//   xy, yx on a mesh: dimension order; a packet may take any virtual channel.
//   xy, yx on a torus: dimension order with a dateline in each ring (W. Dally, C. Seitz,
//     "Deadlock-free message routing in multiprocessor interconnection networks", IEEE Trans.
//     Comput. C-36(5), 1987, doi:10.1109/TC.1987.1676939): a packet that crosses the link that
//     closes the ring takes the first half of the channels before it, any on it and the second half
//     after it. One that does not cross it takes any, but no packet goes from the second half to
//     the first: all channels of a ring are then taken in one order. (Choosing anew at every router
//     is not enough, as packets of both kinds stand behind each other in one buffer.) Half of a
//     ring is as far either way; nodes take turns, so that both ways carry as much.
//   west-first (C. Glass, L. Ni, "The turn model for adaptive routing", ISCA 1992,
//     doi:10.1145/139669.140384), minimal: to the west first, then whichever is free.
//   odd-even (G.-M. Chiu, "The odd-even turn model for adaptive routing", IEEE Trans. Parallel
//     Distrib. Syst. 11(7), 2000, doi:10.1109/71.877831), minimal: no east-north or east-south turn
//     in an even column, no north-west or south-west turn in an odd one.
//   any other: the machine's own routes. Where no circle of channels can come of them, a packet may
//     take any virtual channel. Else nodes are ordered (nodes that compute first, then by number),
//     and a packet takes the next share of the channels each time it goes up in that order after it
//     went down: within a share channels are taken in the order of up*/down* routing (Autonet: M.
//     Schroeder et al., IEEE J. Sel. Areas Commun. 9(8), 1991, doi:10.1109/49.105178).
// `problem` says why that cannot be done, as too few virtual channels; the result is null then.
// Machines of more nodes than these are not looked at beforehand, the first where each target takes
// a search (`shortest`, `ecmp`): packets have half of the channels before they first go up after
// they went down, and one that goes up a second time ends the run with a ModelError.
inline constexpr std::uint32_t most_searched_nodes = 2048;
inline constexpr std::uint32_t most_checked_nodes = 8192;
std::unique_ptr<FlitRoutes> make_flit_routes(const machine::Topology& topology,
                                             const std::string& routing, unsigned vcs,
                                             std::string& problem);

}  // namespace tessera::network
