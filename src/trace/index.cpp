// index.h5: the tables of all ranks as one, without a copy (HDF5 virtual datasets).
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

#include "schema.hpp"
#include "store/fixed_table.hpp"
#include "store/hdf5_support.hpp"
#include "store/posix_file.hpp"
#include "tessera/core/error.hpp"
#include "tessera/trace/run_folder.hpp"
#include "tessera/trace/trace_file.hpp"

namespace tessera::trace {
namespace {

constexpr const char* ranks_name = "ranks";

// What the index needs to know of one rank's trace.
struct Source {
  TracePart part;                   // its name is relative to the folder, so that it can be moved
  std::vector<std::uint64_t> rows;  // of each table
};

struct Contents {
  std::vector<TableSpec> tables;
  Attributes attributes;
  std::vector<Source> sources;
};

Contents survey(const std::string& folder, const std::vector<TracePart>& parts) {
  Contents contents;
  for (const TracePart& part : parts) {
    const std::string path = folder + "/" + part.name;
    const TraceReader reader(path, Trust::commits);
    if (!reader.closed()) {
      // A view would read such a file as zeros, without an error.
      throw IoError(path + ": error: was not closed by its writer; it cannot be indexed");
    }
    Source source{part, {}};
    std::vector<TableSpec> tables;
    for (const std::string& table : reader.table_names()) {
      tables.push_back(reader.spec(table));
      const std::uint64_t committed = reader.committed_rows(table);
      source.rows.push_back(part.good_rows(table, committed));
      if (source.rows.back() > committed) {
        throw IoError(path + ": error: damaged: table '" + table + "' has " +
                      std::to_string(committed) + " rows instead of " +
                      std::to_string(source.rows.back()));
      }
    }
    if (contents.sources.empty()) {
      contents.tables = tables;
      contents.attributes = reader.attributes();
    }
    if (!std::equal(contents.tables.begin(), contents.tables.end(), tables.begin(), tables.end(),
                    readable_as)) {
      throw IoError(path + ": error: has other tables than rank 0");
    }
    contents.tables = std::move(tables);  // a program that goes on may have wider fields
    contents.sources.push_back(std::move(source));
  }
  return contents;
}

// One table: the good rows of the first trace, then those of the next, and so on.
void write_view(hid_t file, const Contents& contents, std::size_t table, const std::string& path) {
  const TableSpec& spec = contents.tables[table];
  hsize_t total = 0;
  for (const Source& source : contents.sources) {
    total += source.rows[table];
  }
  const hdf5::Properties creation = creation_properties(path);
  const hdf5::Space whole(
      hdf5::check(H5Screate_simple(1, &total, nullptr), path, "make a table's shape"));
  hsize_t first = 0;
  for (const Source& source : contents.sources) {
    const hsize_t count = source.rows[table];
    if (count == 0) {
      continue;
    }
    const hdf5::Space rows(
        hdf5::check(H5Screate_simple(1, &count, nullptr), path, "make a table's shape"));
    hdf5::check(H5Sselect_hyperslab(whole.get(), H5S_SELECT_SET, &first, nullptr, &count, nullptr),
                path, "select rows");
    hdf5::check(H5Pset_virtual(creation.get(), whole.get(), source.part.name.c_str(),
                               ("/" + spec.name).c_str(), rows.get()),
                path, "map a table");
    first += count;
  }
  hdf5::WriteDataset dataset =
      create_dataset(file, spec.name, row_type(spec, path), total, creation, path);
  write_schema(dataset.get(), spec, path);
  hdf5::check(dataset.reset(), path, "close a table");
}

// Where each rank's rows begin in each view. A row of this table has a width that depends on the
// number of tables, so it is packed by hand.
void write_ranks(hid_t file, const Contents& contents, const std::string& path) {
  TableSpec spec{
      ranks_name, "one row a trace: its file, and where its rows stand in each table", 0, {}};
  const auto add = [&](const std::string& name, FieldType type, const std::string& description) {
    spec.fields.push_back({name, type, spec.row_bytes, "", description});
    spec.row_bytes += size_of(type);
  };
  add("rank", FieldType::u64, "rank");
  add("segment", FieldType::u64, "segment of the run");
  add("file", FieldType::text64, "trace of the rank, relative to this file");
  for (const TableSpec& table : contents.tables) {
    add("first." + table.name, FieldType::u64, "first row of the rank in table " + table.name);
    add("rows." + table.name, FieldType::u64, "rows of the rank in table " + table.name);
  }

  std::vector<std::byte> bytes(spec.row_bytes * contents.sources.size());
  std::vector<std::uint64_t> next(contents.tables.size());
  for (std::size_t number = 0; number < contents.sources.size(); ++number) {
    const Source& source = contents.sources[number];
    auto field = spec.fields.begin();
    std::byte* const row = bytes.data() + number * spec.row_bytes;
    const auto put = [&](std::uint64_t value) {
      std::memcpy(row + (field++)->offset, &value, sizeof(value));
    };
    put(static_cast<std::uint64_t>(source.part.rank));
    put(source.part.segment);
    const std::string& name = source.part.name;
    ensure(name.size() <= size_of(field->type), "a trace's name is too long");
    std::memcpy(row + (field++)->offset, name.data(), name.size());
    for (std::size_t table = 0; table < next.size(); ++table) {
      put(next[table]);
      put(source.rows[table]);
      next[table] += source.rows[table];
    }
  }

  write_rows(file, spec, bytes, path);
}

// Rank 0's attributes, which are those of the run, but for the ones that are of one file.
void write_root(hid_t file, const Attributes& attributes, const std::string& path) {
  for (const auto& [name, text] : attributes) {
    if (name != "rank" && name != "segment" && name != "file_type" && name != "format_version") {
      hdf5::write_text(file, name, text, path);
    }
  }
  hdf5::write_text(file, "file_type", index_file_type, path);
  hdf5::write_text(file, "format_version", format_version, path);
}

void write_index(const std::string& folder, const std::vector<TracePart>& parts) {
  const Contents contents = survey(folder, parts);
  for (const TableSpec& table : contents.tables) {
    ensure(table.name != ranks_name, "a table may not be called 'ranks'");
  }
  const std::string path = folder + "/" + index_name;
  const std::string aside = path + aside_suffix;
  {
    const hdf5::Guard guard;
    hdf5::WriteFile file = hdf5::create_file(aside, H5F_ACC_TRUNC);
    write_root(file.get(), contents.attributes, aside);
    for (std::size_t table = 0; table < contents.tables.size(); ++table) {
      write_view(file.get(), contents, table, aside);
    }
    write_ranks(file.get(), contents, aside);
    hdf5::check(file.reset(), aside, "close the file");
  }
  sync_and_rename(aside, path);
}

}  // namespace

void write_index(const std::string& folder, int ranks) {
  write_index(folder, trace_parts(ranks));
}

void write_index(const std::string& folder, const std::vector<Segment>& segments) {
  write_index(folder, trace_parts(segments));
}

}  // namespace tessera::trace
