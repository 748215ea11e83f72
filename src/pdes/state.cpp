#include "tessera/pdes/state.hpp"

#include <cstring>

namespace tessera::pdes {

void StateWriter::append(const void* data, std::size_t size) {
  if (size > 0) {
    const auto* from = static_cast<const std::byte*>(data);
    bytes_.insert(bytes_.end(), from, from + size);
  }
}

void StateReader::take(void* target, std::size_t size) {
  ensure(size <= left_.size(), "a checkpoint holds less than it should");
  if (size > 0) {
    std::memcpy(target, left_.data(), size);
    left_ = left_.subspan(size);
  }
}

}  // namespace tessera::pdes
