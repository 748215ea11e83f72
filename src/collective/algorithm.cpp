#include "tessera/collective/algorithm.hpp"

#include <algorithm>

#include "tessera/core/error.hpp"

namespace tessera::collective {

std::string to_string(Kind kind) {
  switch (kind) {
    case Kind::all_reduce:
      return "all_reduce";
    case Kind::reduce_scatter:
      return "reduce_scatter";
    case Kind::all_gather:
      return "all_gather";
    case Kind::all_to_all:
      return "all_to_all";
    case Kind::broadcast:
      return "broadcast";
    case Kind::reduce:
      return "reduce";
    case Kind::gather:
      return "gather";
    case Kind::scatter:
      return "scatter";
    case Kind::barrier:
      return "barrier";
  }
  throw InternalError("a kind of collective outside its enumeration");
}

Registry<AlgorithmMaker>& algorithms() {
  static Registry<AlgorithmMaker> registry("collective algorithm");
  return registry;
}

Bytes chunk_bytes(Bytes bytes, std::uint32_t size, std::uint32_t chunk) {
  ensure(chunk < size, "a chunk outside its vector");
  const auto all = bytes.count();
  // Nearly every vector fits 32 bits, whose quotients are cheaper.
  if (all >> 32 == 0) {
    const auto few = static_cast<std::uint32_t>(all);
    return Bytes(few / size + (chunk < few % size ? 1 : 0));
  }
  return Bytes(all / size + (chunk < all % size ? 1 : 0));
}

Bytes chunk_bytes(Bytes bytes, std::uint32_t size, Chunks chunks) {
  ensure(chunks.count <= size && chunks.first <= size - chunks.count,
         "chunks outside their vector");
  const std::uint64_t larger = bytes.count() % size;
  const std::uint64_t end = chunks.first + chunks.count;
  const std::uint64_t larger_here =
      std::min<std::uint64_t>(end, larger) - std::min<std::uint64_t>(chunks.first, larger);
  return Bytes(bytes.count() / size * chunks.count + larger_here);
}

}  // namespace tessera::collective
