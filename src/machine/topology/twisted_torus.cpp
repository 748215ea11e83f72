// A twisted torus: a torus in which the way around a column ends `twist` columns further (J. M.
// Cámara et al., "Twisted torus topologies for enhanced interconnection networks", IEEE TPDS
// 21(12), 2010, doi:10.1109/TPDS.2010.30): 2 a x a nodes with a twist of a have a smaller diameter
// and twice the bisection of the plain one.
#include <array>

#include "graph/builder.hpp"
#include "readers.hpp"

namespace tessera::machine {
namespace {

const auto rows_key = count_key("rows", "NPUs from north to south, 2 or more");
const auto columns_key = count_key("columns", "NPUs from west to east, 2 or more");
const config::RequiredKey<std::uint32_t> twist_key{
    "twist", "columns by which the wrap-around links of columns are shifted; 0: a torus",
    config::between(0U, node_limit)};

std::unique_ptr<Topology> make_twisted_torus(config::Section& section) {
  const std::uint32_t rows = rows_key.read(section);
  const std::uint32_t columns = columns_key.read(section);
  const std::uint32_t twist = twist_key.read(section);
  std::vector<LinkClass> classes{read_link_class(section, "link")};
  if (rows == 0 || columns == 0 || !was_read(classes.front())) {
    return nullptr;
  }
  if (rows < 2 || columns < 2) {
    section.error(rows < 2 ? "rows" : "columns", "must be 2 or more, so that there are rings");
    return nullptr;
  }
  const std::uint64_t nodes = std::uint64_t{rows} * columns;
  if (!fits_generated_limit(section, "rows", nodes, nodes * 4)) {
    return nullptr;
  }
  GraphBuilder graph(std::move(classes));
  graph.add_nodes("npu", static_cast<std::uint32_t>(nodes), true);
  const auto at = [columns](std::uint32_t row, std::uint32_t column) {
    return row * columns + column;
  };
  for (std::uint32_t row = 0; row < rows; ++row) {
    for (std::uint32_t column = 0; column < columns; ++column) {
      graph.join(at(row, column), at(row, (column + 1) % columns), 0);
    }
  }
  for (std::uint32_t row = 0; row < rows; ++row) {
    for (std::uint32_t column = 0; column < columns; ++column) {
      const bool around = row + 1 == rows;
      graph.join(at(row, column),
                 around ? at(0, (column + twist % columns) % columns) : at(row + 1, column), 0);
    }
  }
  return std::move(graph).build("ecmp");
}

const Registration twisted_torus_registration(
    topologies(),
    {"twisted-torus", "torus whose columns are shifted where they wrap around",
     with_links({rows_key, columns_key, twist_key}, std::array{""})},
    make_twisted_torus);

}  // namespace
}  // namespace tessera::machine
