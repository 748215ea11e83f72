#include "store/written_sum.hpp"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "store/posix_file.hpp"
#include "tessera/core/crc_join.hpp"
#include "tessera/core/digest.hpp"

namespace tessera::trace {
namespace {

constexpr std::size_t summed_bytes = std::size_t{1} << 20;
constexpr std::size_t most_probed = 16;

bool stands_at(const Descriptor& file, std::uint64_t place, std::span<const std::byte> bytes) {
  std::array<char, most_probed> found;
  return file.read_at(place, {found.data(), bytes.size()}) == bytes.size() &&
         std::memcmp(found.data(), bytes.data(), bytes.size()) == 0;
}

// Goes on with the bytes up to `end`, or to the end of the file.
void add_read(const Descriptor& file, std::uint64_t end, std::vector<char>& buffer, FileSum& sum) {
  while (sum.bytes < end) {
    const std::size_t wanted = std::min<std::uint64_t>(buffer.size(), end - sum.bytes);
    const std::size_t count = file.read_at(sum.bytes, {buffer.data(), wanted});
    if (count == 0) {
      return;
    }
    sum.crc = crc32c(buffer.data(), count, sum.crc);
    sum.bytes += count;
  }
}

}  // namespace

void WrittenSum::add(const std::string& path, std::uint64_t place,
                     std::span<const std::byte> piece) {
  const std::size_t probed = std::min(piece.size(), most_probed);
  const Descriptor file(path, O_RDONLY);
  if (probed == 0 || !stands_at(file, place, piece.first(probed)) ||
      !stands_at(file, place + piece.size() - probed, piece.last(probed)) ||
      (!extents_.empty() && place < extents_.back().end)) {
    return;
  }
  const std::uint32_t crc = crc32c(piece.data(), piece.size());
  if (!extents_.empty() && extents_.back().end == place) {
    extents_.back().end += piece.size();
    extents_.back().crc = crc_join(extents_.back().crc, crc, piece.size());
  } else {
    extents_.push_back({place, place + piece.size(), crc});
  }
}

FileSum WrittenSum::of(const std::string& path) const {
  const Descriptor file(path, O_RDONLY);
  std::vector<char> buffer(summed_bytes);
  FileSum sum;
  for (const Extent& extent : extents_) {
    add_read(file, extent.begin, buffer, sum);
    sum.crc = crc_join(sum.crc, extent.crc, extent.end - extent.begin);
    sum.bytes = extent.end;
  }
  add_read(file, ~std::uint64_t{0}, buffer, sum);
  return sum;
}

}  // namespace tessera::trace
