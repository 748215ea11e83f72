// Reads which tiles, and which layers, the user gives each stage.
#pragma once

#include "tessera/config/document.hpp"
#include "tessera/plan/placement/placement.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::plan {

// Fills `tiles` and `first_layers` of a request from the key `tiles` of its section: a list with an
// entry for each stage, either its tiles or {tiles: …, layers: [first, last]} (PALM, section IV-B:
// stages bound by tile ids and op ids).
//   Tiles are one item or a list of items, in the order of the roles (replica by replica, shard by
//   shard): a number, a range of numbers "0-15", the name of a node, or on a grid [row, column] or
//   the rectangle [row, column, rows, columns], row by row. A stage that is one rectangle is
//   arranged as in `s-shape` instead (tensor_group, tensor_members).
//   Layers are numbers, names, or LAYER/OPERATOR where the operator is the first, or last, of its
//   layer. All stages have them or none; together they are all layers in order. A stage of several
//   chunks of layers cannot be bound so.
// Complaints go to the section's diagnostics, one a stage at most.
void read_given_stages(config::Section& section, const workload::Workload& workload,
                       const machine::Topology& topology, std::uint32_t chunks,
                       PlacementRequest& request);

}  // namespace tessera::plan
