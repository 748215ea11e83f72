#include "chakra/collectives.hpp"

#include <algorithm>
#include <array>

#include "tessera/core/error.hpp"

namespace tessera::workload {
namespace {

using collective::Kind;

// By number; a kind is written as the first one that it has.
constexpr std::array<Kind, chakra_collectives> by_number{
    Kind::all_reduce,     Kind::reduce,    Kind::all_gather, Kind::gather,
    Kind::scatter,        Kind::broadcast, Kind::all_to_all, Kind::reduce_scatter,
    Kind::reduce_scatter,  // REDUCE_SCATTER_BLOCK, of equal parts: here every one is
    Kind::barrier};

}  // namespace

std::optional<Kind> chakra_collective(std::uint64_t number) {
  return number < by_number.size() ? std::optional(by_number[number]) : std::nullopt;
}

std::uint64_t chakra_number(Kind kind) {
  const auto* const found = std::find(by_number.begin(), by_number.end(), kind);
  ensure(found != by_number.end(), "a collective that Chakra has");
  return static_cast<std::uint64_t>(found - by_number.begin());
}

}  // namespace tessera::workload
