// A torus: a mesh whose rows and columns are closed to rings.
#include "readers.hpp"

namespace tessera::machine {
namespace {

const Registration torus_registration(
    topologies(), {"torus", "mesh whose rows and columns are closed into rings", grid_parameters()},
    [](config::Section& section) { return read_grid(section, true); });

}  // namespace
}  // namespace tessera::machine
