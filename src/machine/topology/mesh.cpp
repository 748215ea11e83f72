// A mesh: a rectangle of tiles, each linked to its neighbours.
#include "readers.hpp"

namespace tessera::machine {
namespace {

const Registration mesh_registration(
    topologies(),
    {"mesh", "rectangle of tiles, each linked to its four neighbours", grid_parameters()},
    [](config::Section& section) { return read_grid(section, false); });

}  // namespace
}  // namespace tessera::machine
