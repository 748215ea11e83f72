#include "tessera/collective/algorithm.hpp"

#include "tessera/core/error.hpp"

namespace tessera::collective {

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
