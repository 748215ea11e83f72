// Tiles of stages that stand in a file of their own.
#pragma once

#include "tessera/config/document.hpp"

namespace tessera::sim {

// Where `strategy.placement.tiles` of an experiment is the path of a file (relative to the file it
// stands in), puts what is in the file in its place: a YAML list, or a CSV (*.csv) with the head
// "stage,tile" and a line for each tile, or range of tiles, in the order of the roles of its stage.
// In a CSV, the rest of a line is the tile, commas included; empty lines and lines that begin with
// # are skipped. Complaints go to `diagnostics`.
void include_placement(config::Value& root, const config::TextLoader& load,
                       config::Diagnostics& diagnostics);

}  // namespace tessera::sim
