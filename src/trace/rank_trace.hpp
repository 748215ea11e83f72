// The tables of records.hpp, read back from the traces of a finished run, a block of rows at a
// time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/trace/records.hpp"
#include "tessera/trace/store/segment.hpp"

namespace tessera::trace {

// The traces of a finished run with their good rows, segment after segment and rank after rank;
// none when it wrote none. Names are paths here. Throws IoError with all that `verify_run_folder`
// finds wrong.
std::vector<TracePart> verified_traces(const std::string& folder);

// The trace of one rank in one segment. Its commits are believed: the manifest's CRC covers the
// whole file.
class RankTrace {
 public:
  // Throws IoError when it is no trace, or one of its tables has not the form of records.hpp.
  explicit RankTrace(const TracePart& part);

  // Zero for a table the file does not have.
  std::uint64_t rows(Table table) const { return rows_[table]; }
  std::string attribute(std::string_view name) const { return reader_.attribute(name); }

  // Calls body(const Record&) for every row. Throws IoError.
  template <class Record, class Body>
  void for_each(Table table, Body body) const {
    for (std::uint64_t first = 0; first < rows_[table]; first += block_rows) {
      const std::uint64_t count = std::min(block_rows, rows_[table] - first);
      const ReadTable block = reader_.read_as(specs_[table], first, count);
      for (std::uint64_t row = 0; row < block.rows; ++row) {
        body(block.record<Record>(row));
      }
    }
  }

  // Throws IoError: a row of `table` has an end before its begin.
  [[noreturn]] void refuse_span(Table table, std::int64_t begin_ps, std::int64_t end_ps) const;

 private:
  static constexpr std::uint64_t block_rows = 65'536;  // four chunks

  std::string path_;
  TraceReader reader_;
  std::vector<TableSpec> specs_;
  std::vector<std::uint64_t> rows_;
};

}  // namespace tessera::trace
