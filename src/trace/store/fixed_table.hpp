// Tables that are written once and whole, unlike those of a trace.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "store/hdf5_support.hpp"
#include "tessera/trace/trace_file.hpp"

namespace tessera::trace {

// A one-dimensional dataset of `rows` rows. Throws IoError.
hdf5::WriteDataset create_dataset(hid_t file, const std::string& name, const hdf5::Type& type,
                                  hsize_t rows, const hdf5::Properties& creation,
                                  const std::string& path);

// How such a dataset is created: without a time stamp, so that equal tables are equal files.
hdf5::Properties creation_properties(const std::string& path);

// Writes a table of the rows that lie in `bytes`, one after the other, with its description. Throws
// IoError.
void write_rows(hid_t file, const TableSpec& spec, const std::vector<std::byte>& bytes,
                const std::string& path);

}  // namespace tessera::trace
