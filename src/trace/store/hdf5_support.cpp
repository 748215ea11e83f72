#include "store/hdf5_support.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <new>
#include <system_error>

#include "tessera/core/address_space.hpp"
#include "tessera/core/error.hpp"
#include "tessera/trace/trace_file.hpp"

namespace tessera::trace::hdf5 {
namespace {

bool start_library() {
  // Fails when somebody else has started the library; then its exit handler is theirs to suffer.
  static_cast<void>(H5dont_atexit());
  return H5open() >= 0;
}

extern "C" herr_t tessera_trace_take_first_error(unsigned depth, const H5E_error2_t* error,
                                                 void* text) {
  if (depth == 0 && error->desc != nullptr) {
    *static_cast<std::string*>(text) = error->desc;
  }
  return 0;
}

// The text between `before` and `after` in `text`; "" when they are not there.
std::string between(const std::string& text, const std::string& before, char after) {
  const std::size_t start = text.find(before);
  if (start == std::string::npos) {
    return "";
  }
  const std::size_t from = start + before.size();
  const std::size_t to = text.find(after, from);
  return to == std::string::npos ? "" : text.substr(from, to - from);
}

void write_attribute(hid_t object, const std::string& name, const Type& type, const Space& space,
                     const void* data, const std::string& path) {
  WriteAttribute attribute(
      check(H5Acreate2(object, name.c_str(), type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT),
            path, "create an attribute"));
  check(H5Awrite(attribute.get(), type.get(), data), path, "write an attribute");
  check(attribute.reset(), path, "close an attribute");
}

}  // namespace

Guard::Guard() {
  static std::recursive_mutex mutex;
  lock_ = std::unique_lock(mutex);
  static const bool started = (require_room(), start_library());
  if (!started) {
    throw IoError("error: the HDF5 library does not start");
  }
  // The error stack belongs to the thread in a thread-safe build of the library.
  thread_local const bool silent = H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr) >= 0;
  ensure(silent, "HDF5 goes on printing errors");
}

bool has_room() {
  return has_addresses(room_for_library);
}

void require_room() {
  if (!has_room()) {
    throw std::bad_alloc();
  }
}

std::string failure_reason() {
  std::string text;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, tessera_trace_take_first_error, &text);
  const std::string message = between(text, "error message = '", '\'');
  if (!message.empty()) {
    return message + " (errno " + between(text, "errno = ", ',') + ")";
  }
  return text.empty() ? "HDF5 gives no reason" : text + " (HDF5)";
}

void throw_failure(const std::string& path, const std::string& doing) {
  throw IoError(path + ": error: cannot " + doing + ": " + failure_reason());
}

Properties file_access(const std::string& path) {
  require_room();
  Properties access(check(H5Pcreate(H5P_FILE_ACCESS), path, "set the access properties"));
  check(H5Pset_libver_bounds(access.get(), H5F_LIBVER_V110, H5F_LIBVER_V110), path,
        "set the format bounds");
  check(H5Pset_file_locking(access.get(), true, true), path, "set the file locking");
  return access;
}

WriteFile create_file(const std::string& path, unsigned flags) {
  const Properties access = file_access(path);
  const Properties creation(check(H5Pcreate(H5P_FILE_CREATE), path, "set the creation properties"));
  check(H5Pset_obj_track_times(creation.get(), false), path, "turn off time stamps");
  return WriteFile(
      check(H5Fcreate(path.c_str(), flags, creation.get(), access.get()), path, "create the file"));
}

Type text_type(std::size_t length, const std::string& path) {
  Type type(check(H5Tcopy(H5T_C_S1), path, "make a text type"));
  check(H5Tset_size(type.get(), std::max<std::size_t>(length, 1)), path, "make a text type");
  check(H5Tset_strpad(type.get(), H5T_STR_NULLPAD), path, "make a text type");
  check(H5Tset_cset(type.get(), H5T_CSET_UTF8), path, "make a text type");
  return type;
}

void write_text(hid_t object, const std::string& name, const std::string& text,
                const std::string& path) {
  const Type type = text_type(text.size(), path);
  const Space space(check(H5Screate(H5S_SCALAR), path, "create an attribute"));
  // c_str() has a zero behind it: an empty text is stored as one zero.
  write_attribute(object, name, type, space, text.c_str(), path);
}

void write_texts(hid_t object, const std::string& name, const std::vector<std::string>& texts,
                 const std::string& path) {
  std::size_t length = 1;
  for (const std::string& text : texts) {
    length = std::max(length, text.size());
  }
  std::vector<char> padded(length * texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    std::memcpy(padded.data() + i * length, texts[i].data(), texts[i].size());
  }
  const Type type = text_type(length, path);
  const hsize_t count = texts.size();
  const Space space(check(H5Screate_simple(1, &count, nullptr), path, "create an attribute"));
  write_attribute(object, name, type, space, padded.data(), path);
}

std::vector<std::string> read_texts(hid_t object, const std::string& name,
                                    const std::string& path) {
  if (check(H5Aexists(object, name.c_str()), path, "look up an attribute") == 0) {
    return {};
  }
  const ReadAttribute attribute(
      check(H5Aopen(object, name.c_str(), H5P_DEFAULT), path, "open an attribute"));
  const Type type(check(H5Aget_type(attribute.get()), path, "read an attribute's type"));
  const Space space(check(H5Aget_space(attribute.get()), path, "read an attribute's shape"));
  const std::size_t length = H5Tget_size(type.get());
  const hssize_t count =
      check(H5Sget_simple_extent_npoints(space.get()), path, "read an attribute's shape");
  if (H5Tget_class(type.get()) != H5T_STRING || H5Tis_variable_str(type.get()) != 0 ||
      length == 0 ||
      length * static_cast<std::size_t>(count) != H5Aget_storage_size(attribute.get())) {
    throw IoError(path + ": error: attribute '" + name + "' is not fixed-length text");
  }
  std::vector<char> padded(length * static_cast<std::size_t>(count));
  check(H5Aread(attribute.get(), type.get(), padded.data()), path, "read an attribute");
  std::vector<std::string> texts;
  for (auto start = padded.begin(); start != padded.end();) {
    const auto end = start + static_cast<std::ptrdiff_t>(length);
    texts.emplace_back(start, std::find(start, end, '\0'));
    start = end;
  }
  return texts;
}

Space select_rows(hid_t dataset, hsize_t first, hsize_t count, const std::string& path) {
  Space space(check(H5Dget_space(dataset), path, "read a table's extent"));
  check(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, &first, nullptr, &count, nullptr), path,
        "select rows");
  return space;
}

hsize_t extent(hid_t dataset, const std::string& path) {
  const Space space(check(H5Dget_space(dataset), path, "read a table's extent"));
  if (H5Sget_simple_extent_ndims(space.get()) != 1) {
    throw IoError(path + ": error: a table is not one-dimensional");
  }
  hsize_t rows = 0;
  check(H5Sget_simple_extent_dims(space.get(), &rows, nullptr), path, "read a table's extent");
  return rows;
}

std::uint64_t unpacked_bytes_at_most(const std::string& path) {
  constexpr std::uint64_t most_of_a_byte = 1032;
  std::error_code error;
  const std::uint64_t bytes = std::filesystem::file_size(path, error);
  if (error) {
    throw IoError(path + ": error: cannot ask for its size: " + error.message());
  }
  return bytes * most_of_a_byte;
}

haddr_t end_of(hid_t file, const std::string& path) {
  haddr_t end = 0;
  check(H5Fget_eoa(file, &end), path, "ask where the file ends");
  return end;
}

}  // namespace tessera::trace::hdf5
