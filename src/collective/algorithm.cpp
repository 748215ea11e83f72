#include "tessera/collective/algorithm.hpp"

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
  ensure(size > 0, "a chunk outside its vector");
  return ChunkSizes(bytes, size).of(chunk);
}

Bytes chunk_bytes(Bytes bytes, std::uint32_t size, Chunks chunks) {
  ensure(size > 0, "chunks outside their vector");
  return ChunkSizes(bytes, size).of(chunks);
}

}  // namespace tessera::collective
