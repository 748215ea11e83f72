// The bytes that our filters make are read back by those who define them: zlib, and HDF5's own
// pipeline of shuffle, deflate and Fletcher-32.
#include "store/chunk_filters.hpp"

#include <gtest/gtest.h>
#include <hdf5.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "store/deflate.hpp"
#include "store/huffman.hpp"
#include "store/table_buffer.hpp"
#include "tessera/core/crc_join.hpp"
#include "tessera/core/digest.hpp"
#include "trace_test_support.hpp"

namespace tessera::trace::test::chunk_filters_test {
namespace {

using Bytes = std::vector<std::byte>;

// Kinds of data that a plane may hold: from one value to noise, with repetitions of any length and
// distance between them.
Bytes bytes_of_kind(std::uint64_t kind, std::size_t size, std::uint64_t seed) {
  Bytes bytes(size);
  std::uint64_t state = mix64(seed + 1);
  for (std::size_t i = 0; i < size; ++i) {
    state = mix64(state + i);
    const std::size_t period = 1 + mix64(seed) % 300;
    std::uint64_t value = 0;
    switch (kind % 7) {
      case 0:
        value = seed;
        break;
      case 1:
        value = state;
        break;
      case 2:
        value = i % period;
        break;
      case 3:
        value = i / period;
        break;
      case 4:  // ever rarer values: long codes
        value = static_cast<std::uint64_t>(std::countr_zero(state | std::uint64_t{1} << 40));
        break;
      case 5:  // long repetitions with faults
        value = state % 200 == 0 ? state >> 8 : mix64(i % 4'000);
        break;
      default:
        value = state % 3;
        break;
    }
    bytes[i] = static_cast<std::byte>(value);
  }
  return bytes;
}

Bytes inflated(const Bytes& stream, std::size_t size) {
  Bytes back(size + 1);
  uLongf length = back.size();
  const int result = ::uncompress(reinterpret_cast<Bytef*>(back.data()), &length,
                                  reinterpret_cast<const Bytef*>(stream.data()), stream.size());
  EXPECT_EQ(result, Z_OK);
  back.resize(length);
  return back;
}

TEST(Deflater, IsInflatedByZlib) {
  Deflater deflater;
  Bytes stream;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Bytes all;
    stream.clear();
    deflater.start(stream);
    std::vector<Bytes> planes(1 + mix64(seed) % 5);
    for (std::size_t plane = 0; plane < planes.size(); ++plane) {
      const std::uint64_t dice = mix64(seed * 8 + plane);
      const std::size_t size = dice % 4 == 0 ? 1 + dice / 4 % 20 : 1 + dice / 4 % 16'384;
      Bytes& bytes = planes[plane];
      bytes = bytes_of_kind(dice >> 32, size, dice);
      all.insert(all.end(), bytes.begin(), bytes.end());
      // What lies behind a plane must not matter: here it looks like more of the same.
      bytes.resize(size + Deflater::slack, bytes.back());
      if (std::count(bytes.begin(), bytes.end(), bytes[0]) == std::ssize(bytes) && dice % 3 != 0) {
        deflater.add_same(bytes[0], size);
      } else {
        deflater.add(bytes.data(), size);
      }
    }
    deflater.finish();
    ASSERT_EQ(inflated(stream, all.size()), all) << "seed " << seed;
  }
}

TEST(Deflater, PacksRunsOfEveryLength) {
  Deflater deflater;
  for (std::size_t size = 1; size <= 1'100; ++size) {
    Bytes stream;
    deflater.start(stream);
    deflater.add_same(std::byte{7}, size);
    deflater.finish();
    ASSERT_EQ(inflated(stream, size), Bytes(size, std::byte{7})) << size;
    ASSERT_LT(stream.size(), 40U);
  }
}

TEST(Deflater, HardlyGrowsNoise) {
  Bytes noise = bytes_of_kind(1, Deflater::longest_plane + Deflater::slack, 3);
  Deflater deflater;
  Bytes stream;
  deflater.start(stream);
  for (int plane = 0; plane < 10; ++plane) {
    deflater.add(noise.data(), Deflater::longest_plane);
  }
  deflater.finish();
  EXPECT_LT(stream.size(), 10 * Deflater::longest_plane * 102 / 100);
}

TEST(PrefixCodes, FillTheirRoomAndKeepToTheLimit) {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const std::size_t symbols = 2 + mix64(seed) % 285;
    std::vector<std::uint32_t> frequencies(symbols);
    std::uint32_t before = 1;
    for (std::size_t i = 0; i < symbols; ++i) {
      // Every second set grows like Fibonacci's numbers: the deepest tree there is.
      const std::uint64_t noise = mix64(seed * 1'000 + i);
      frequencies[i] = noise % 3 == 0 ? 0 : static_cast<std::uint32_t>(noise % 1'000);
      if (seed % 2 == 0 && i < 30) {
        frequencies[i] = i < 2 ? 1 : frequencies[i - 1] + std::exchange(before, frequencies[i - 1]);
      }
    }
    for (const unsigned longest : {15U, 9U}) {
      std::vector<PrefixCode> codes(symbols);
      make_prefix_codes(frequencies, longest, codes);
      double room = 0;
      for (std::size_t i = 0; i < symbols; ++i) {
        ASSERT_LE(codes[i].length, longest);
        ASSERT_TRUE(codes[i].length > 0 || frequencies[i] == 0);
        room += codes[i].length > 0 ? std::ldexp(1.0, -codes[i].length) : 0;
      }
      ASSERT_DOUBLE_EQ(room, 1.0);
    }
  }
}

// A dataset of opaque elements with a trace's filters, in a file that never gets to the disk.
class FilteredDataset {
 public:
  FilteredDataset(hsize_t rows, std::size_t row_bytes, unsigned level)
      : access_(H5Pcreate(H5P_FILE_ACCESS)), type_(H5Tcreate(H5T_OPAQUE, row_bytes)) {
    H5Pset_fapl_core(access_, 1 << 20, false);
    file_ = H5Fcreate("chunk filters", H5F_ACC_TRUNC, H5P_DEFAULT, access_);
    const hid_t space = H5Screate_simple(1, &rows, nullptr);
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(creation, 1, &rows);
    H5Pset_shuffle(creation);
    H5Pset_deflate(creation, level);
    H5Pset_fletcher32(creation);
    dataset_ = H5Dcreate2(file_, "d", type_, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    H5Pclose(creation);
    H5Sclose(space);
  }
  ~FilteredDataset() {
    H5Dclose(dataset_);
    H5Fclose(file_);
    H5Tclose(type_);
    H5Pclose(access_);
  }
  FilteredDataset(const FilteredDataset&) = delete;
  FilteredDataset& operator=(const FilteredDataset&) = delete;

  bool write_filtered(std::span<const std::byte> chunk) {
    const hsize_t first = 0;
    return H5Dwrite_chunk(dataset_, H5P_DEFAULT, 0, &first, chunk.size(), chunk.data()) >= 0;
  }
  // Empty when HDF5 refuses the chunk.
  Bytes read(std::size_t size) {
    Bytes bytes(size);
    const bool good = H5Dread(dataset_, type_, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data()) >= 0;
    return good ? bytes : Bytes();
  }

 private:
  hid_t access_;
  hid_t type_;
  hid_t file_ = -1;
  hid_t dataset_ = -1;
};

// A table of opaque rows.
TableBuffer buffer_of(std::size_t row_bytes) {
  TableSpec spec{"rows", "", row_bytes, {}};
  for (std::size_t column = 0; column < row_bytes; ++column) {
    spec.fields.push_back({std::to_string(column), FieldType::u8, column, "", ""});
  }
  return TableBuffer(spec);
}

// The rows as a chunk of a fresh table.
TableBuffer::Taken taken(TableBuffer& buffer, const Bytes& rows) {
  for (std::size_t at = 0; at < rows.size(); at += buffer.row_bytes()) {
    std::memcpy(buffer.add(buffer.row_bytes()), rows.data() + at, buffer.row_bytes());
  }
  return buffer.take();
}

Bytes filtered(ChunkFilters& filters, const Bytes& rows, std::size_t row_bytes) {
  TableBuffer buffer = buffer_of(row_bytes);
  const TableBuffer::Taken chunk = taken(buffer, rows);
  const std::span<const std::byte> stored =
      filters.apply(chunk.planes, chunk.rows, buffer.chunk_rows());
  return {stored.begin(), stored.end()};
}

TEST(ChunkFilters, AreUndoneByHdf5) {
  ChunkFilters filters;
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    const std::uint64_t dice = mix64(seed);
    const std::size_t row_bytes = 1 + dice % 70;
    const std::size_t chunk_rows = buffer_of(row_bytes).chunk_rows();
    const std::size_t most = dice % 5 == 0 ? 150 : chunk_rows;
    const std::size_t count = dice % 7 == 0 ? chunk_rows : 1 + dice / 70 % most;
    Bytes rows(count * row_bytes);
    for (std::size_t column = 0; column < row_bytes; ++column) {
      const Bytes plane =
          bytes_of_kind(mix64(dice + column) % 14 < 7 ? 0 : dice + column, count, dice + column);
      for (std::size_t row = 0; row < count; ++row) {
        rows[row * row_bytes + column] = plane[row];
      }
    }
    FilteredDataset dataset(chunk_rows, row_bytes, 1);
    ASSERT_TRUE(dataset.write_filtered(filtered(filters, rows, row_bytes)));
    rows.resize(chunk_rows * row_bytes);  // zeros where no row is yet
    ASSERT_EQ(dataset.read(rows.size()), rows) << "seed " << seed;
  }
}

// Tails taken at any row, also within a stage, leave each row in its place and the sum of all.
// Column 0 changes in every chunk, column 1 in the second alone, and later once more.
TEST(TableBuffer, GivesBackWhatChangesOnceInALongWhile) {
  constexpr std::size_t row_bytes = 2;
  TableBuffer buffer = buffer_of(row_bytes);
  const std::size_t chunk_rows = buffer.chunk_rows();
  std::vector<std::size_t> resident;
  for (std::size_t chunk = 0; chunk < 5; ++chunk) {
    Bytes rows(chunk_rows * row_bytes);
    for (std::size_t row = 0; row < chunk_rows; ++row) {
      rows[row * row_bytes] = static_cast<std::byte>(row);
      rows[row * row_bytes + 1] = static_cast<std::byte>((chunk == 1 || chunk == 4) && row > 7'000);
    }
    const TableBuffer::Taken full = taken(buffer, rows);
    for (std::size_t row = 0; row < chunk_rows; ++row) {
      const BytePlane& plane = full.planes[1];
      ASSERT_EQ(plane.bytes != nullptr ? plane.bytes[row] : plane.value, rows[row * row_bytes + 1]);
    }
    resident.push_back(buffer.resident_bytes());
  }
  EXPECT_EQ(resident[1], resident[0] + chunk_rows);
  EXPECT_EQ(resident[2], resident[0]);
  EXPECT_EQ(resident[4], resident[1]);
}

TEST(TableBuffer, HoldsEveryRowHoweverOftenATailIsTaken) {
  ChunkFilters filters;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const std::size_t row_bytes = 1 + mix64(seed) % 50;
    TableBuffer buffer = buffer_of(row_bytes);
    const std::size_t chunk_rows = buffer.chunk_rows();
    const std::size_t count = 2 * chunk_rows + mix64(seed + 1) % chunk_rows;
    const Bytes column = bytes_of_kind(seed, count, seed);
    Bytes rows(count * row_bytes);
    for (std::size_t row = 0; row < count; ++row) {
      rows[row * row_bytes + seed % row_bytes] = column[row];
      rows[row * row_bytes] ^= static_cast<std::byte>(row / 5'000);
    }
    std::uint32_t sum = 0;
    std::uint64_t state = seed;
    for (std::size_t row = 0; row < count; ++row) {
      std::memcpy(buffer.add(row_bytes), rows.data() + row * row_bytes, row_bytes);
      state = mix64(state);
      if (!buffer.whole() && row + 1 < count && state % 3'000 != 0) {
        continue;
      }
      const std::size_t base = buffer.base();
      const TableBuffer::Taken chunk = buffer.take();
      ASSERT_EQ(base + chunk.rows, row + 1);
      ASSERT_EQ(buffer.taken(), row + 1);
      sum = crc_join(sum, chunk.fresh_crc, chunk.fresh_bytes);
      ASSERT_EQ(sum, crc32c(rows.data(), (row + 1) * row_bytes));
      FilteredDataset dataset(chunk_rows, row_bytes, 1);
      ASSERT_TRUE(
          dataset.write_filtered(filters.apply(chunk.planes, chunk.rows, buffer.chunk_rows())));
      Bytes expected(rows.begin() + static_cast<std::ptrdiff_t>(base * row_bytes),
                     rows.begin() + static_cast<std::ptrdiff_t>((row + 1) * row_bytes));
      expected.resize(chunk_rows * row_bytes);
      ASSERT_EQ(dataset.read(expected.size()), expected) << "seed " << seed << " row " << row;
    }
  }
}

TEST(ChunkFilters, DamageIsSeenByHdf5) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  ChunkFilters filters;
  const Bytes rows = bytes_of_kind(5, std::size_t{48} * 16'384, 1);
  const Bytes good = filtered(filters, rows, 48);
  for (std::size_t at = 0; at < good.size(); at += good.size() / 20) {
    Bytes bad(good.begin(), good.end());
    bad[at] ^= std::byte{0x10};
    FilteredDataset dataset(16'384, 48, 1);
    ASSERT_TRUE(dataset.write_filtered(bad));
    EXPECT_TRUE(dataset.read(rows.size()).empty()) << "byte " << at;
  }
}

TEST(ChunkFilters, GiveTheSameBytesWhateverCameBefore) {
  const Bytes rows = bytes_of_kind(5, 48 * 1'000, 1);
  ChunkFilters used;
  filtered(used, bytes_of_kind(1, 16'384 * 24, 2), 24);
  ChunkFilters fresh;
  EXPECT_EQ(filtered(used, rows, 48), filtered(fresh, rows, 48));
}

}  // namespace
}  // namespace tessera::trace::test::chunk_filters_test
