#include "store/fixed_table.hpp"

#include "schema.hpp"

namespace tessera::trace {

hdf5::WriteDataset create_dataset(hid_t file, const std::string& name, const hdf5::Type& type,
                                  hsize_t rows, const hdf5::Properties& creation,
                                  const std::string& path) {
  const hdf5::Space space(
      hdf5::check(H5Screate_simple(1, &rows, nullptr), path, "make a table's shape"));
  return hdf5::WriteDataset(hdf5::check(H5Dcreate2(file, name.c_str(), type.get(), space.get(),
                                                   H5P_DEFAULT, creation.get(), H5P_DEFAULT),
                                        path, "create a table"));
}

hdf5::Properties creation_properties(const std::string& path) {
  hdf5::Properties creation(
      hdf5::check(H5Pcreate(H5P_DATASET_CREATE), path, "set the creation properties"));
  hdf5::check(H5Pset_obj_track_times(creation.get(), false), path, "turn off time stamps");
  return creation;
}

void write_rows(hid_t file, const TableSpec& spec, const std::vector<std::byte>& bytes,
                const std::string& path) {
  check_spec(spec);
  const hdf5::Type type = row_type(spec, path);
  hdf5::WriteDataset dataset = create_dataset(file, spec.name, type, bytes.size() / spec.row_bytes,
                                              creation_properties(path), path);
  if (!bytes.empty()) {
    hdf5::check(H5Dwrite(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data()),
                path, "write rows");
  }
  write_schema(dataset.get(), spec, path);
  hdf5::check(dataset.reset(), path, "close a table");
}

}  // namespace tessera::trace
