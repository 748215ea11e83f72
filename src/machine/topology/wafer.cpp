// A wafer: tiles of cores, with links of their own across the boundaries of tiles.
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "readers.hpp"
#include "topology/grid_topology.hpp"

namespace tessera::machine {
namespace {

struct Shape {
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
};

const config::OtherKey tiles_key{"tiles", "shape", "", "[rows, columns] of tiles"};
const config::OtherKey cores_key{"cores", "shape", "", "[rows, columns] of cores in a tile"};

// Reads "[rows, columns]".
std::optional<Shape> read_shape(config::Section& section, std::string_view key) {
  const auto numbers = read_list<std::int64_t>(section, key);
  if (!numbers) {
    return std::nullopt;
  }
  if (numbers->size() == 2 && numbers->at(0) >= 1 && numbers->at(1) >= 1) {
    return Shape{static_cast<std::uint64_t>(numbers->at(0)),
                 static_cast<std::uint64_t>(numbers->at(1))};
  }
  section.error(key, "must be two numbers from 1 on, [rows, columns]");
  return std::nullopt;
}

std::unique_ptr<Topology> make_wafer(config::Section& section) {
  const auto tiles = read_shape(section, tiles_key.key());
  const auto cores = read_shape(section, cores_key.key());
  config::Section intra = section.section("intra_tile");
  config::Section inter = section.section("inter_tile");
  std::vector<LinkClass> classes{read_link_class(intra, "intra_tile"),
                                 read_link_class(inter, "inter_tile")};
  if (!tiles || !cores || !was_read(classes[0]) || !was_read(classes[1])) {
    return nullptr;
  }
  // Each side alone first, so that the products below cannot overflow.
  if (!fits_node_limit(section, "tiles", tiles->rows, tiles->columns) ||
      !fits_node_limit(section, "cores", cores->rows, cores->columns) ||
      !fits_node_limit(section, "cores", tiles->rows * cores->rows,
                       tiles->columns * cores->columns)) {
    return nullptr;
  }
  const Grid grid{.rows = static_cast<std::uint32_t>(tiles->rows * cores->rows),
                  .columns = static_cast<std::uint32_t>(tiles->columns * cores->columns),
                  .wraps = false,
                  .block_rows = static_cast<std::uint32_t>(cores->rows),
                  .block_columns = static_cast<std::uint32_t>(cores->columns)};
  return std::make_unique<GridTopology>(grid, std::move(classes));
}

const Registration wafer_registration(topologies(),
                                      {"wafer",
                                       "mesh of tiles, each of which is a mesh of cores; links "
                                       "between tiles are a class of their own",
                                       with_links({tiles_key, cores_key},
                                                  std::array{"intra_tile.", "inter_tile."})},
                                      make_wafer);

}  // namespace
}  // namespace tessera::machine
