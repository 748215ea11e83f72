// The room's door to the HDF5 C library: one thread at a time, errors as IoError, handles closed.
#pragma once

#include <hdf5.h>

#include <cstdint>
#include <exception>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace tessera::trace::hdf5 {

// Holds the process-wide lock of the library: ranks may be threads of one process. Every call of
// an H5 function is made while one of these lives; a thread may hold several.
// The first one of the process starts the library without its exit handler, which crashes after a
// failed write; the first one of a thread turns off the library's printing.
class Guard {
 public:
  Guard();

 private:
  std::unique_lock<std::recursive_mutex> lock_;
};

// The library's own way out of a failed allocation crashes (H5AC_create and others of 1.10), so it
// is asked for nothing when `room_for_library` is not there.
bool has_room();
// Throws std::bad_alloc where there is none.
void require_room();

// What a handle does when an exception destroys it. A file that failed while being written must
// not be touched again, not even to close it.
enum class OnError { close, leak };

// Owns one identifier of the library.
template <herr_t (*Close)(hid_t), OnError on_error = OnError::close>
class Handle {
 public:
  Handle() = default;
  explicit Handle(hid_t id) : id_(id) {}
  Handle(Handle&& other) noexcept : id_(other.release()), exceptions_(other.exceptions_) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(id_, other.id_);
    return *this;
  }
  ~Handle() {
    if (on_error == OnError::close || std::uncaught_exceptions() <= exceptions_) {
      reset();
    }
  }

  hid_t get() const { return id_; }
  // Gives the identifier up without closing it.
  hid_t release() { return std::exchange(id_, hid_t{-1}); }
  // Closes it if there is one; the library's result, negative on failure.
  herr_t reset() {
    const hid_t id = release();
    if (id < 0) {
      return 0;
    }
    const Guard guard;
    return Close(id);
  }

 private:
  hid_t id_ = -1;
  int exceptions_ = std::uncaught_exceptions();
};

using Type = Handle<H5Tclose>;
using Space = Handle<H5Sclose>;
using Properties = Handle<H5Pclose>;
using ReadFile = Handle<H5Fclose>;
using ReadDataset = Handle<H5Dclose>;
using ReadAttribute = Handle<H5Aclose>;
using WriteFile = Handle<H5Fclose, OnError::leak>;
using WriteDataset = Handle<H5Dclose, OnError::leak>;
using WriteAttribute = Handle<H5Aclose, OnError::leak>;

// The cause of the last failed call: "File too large (errno 27)", or the library's innermost words.
std::string failure_reason();

// Throws IoError "PATH: error: cannot DOING: REASON" from the last failed call.
[[noreturn]] void throw_failure(const std::string& path, const std::string& doing);

// `result`, unless it is negative: then throws as above.
template <class Result>
Result check(Result result, const std::string& path, const char* doing) {
  if (result < 0) [[unlikely]] {
    throw_failure(path, doing);
  }
  return result;
}

// Creates `path` for writing with the rules of this room: format bounds V110, no time stamp, no
// file locks where the file system has none. `flags` is H5F_ACC_EXCL or H5F_ACC_TRUNC. Throws
// IoError.
WriteFile create_file(const std::string& path, unsigned flags);

// Access properties of every file this room opens.
Properties file_access(const std::string& path);

// Fixed-length UTF-8 text, padded with zeros; at least one byte. Throws IoError.
Type text_type(std::size_t length, const std::string& path);

// Text as a fixed-length UTF-8 attribute of `object`. Throws IoError.
void write_text(hid_t object, const std::string& name, const std::string& text,
                const std::string& path);
// Several texts as a one-dimensional attribute. Throws IoError.
void write_texts(hid_t object, const std::string& name, const std::vector<std::string>& texts,
                 const std::string& path);
// All elements of a text attribute; empty when it is absent. Throws IoError when it is not fixed-
// length text.
std::vector<std::string> read_texts(hid_t object, const std::string& name, const std::string& path);

// Selects rows [first, first + count) of `dataset` in its present extent. Throws IoError.
Space select_rows(hid_t dataset, hsize_t first, hsize_t count, const std::string& path);

// Number of rows of a one-dimensional dataset. Throws IoError when it has another shape.
hsize_t extent(hid_t dataset, const std::string& path);

// Bytes that the tables of a file of this size can hold: a byte of a deflate stream makes 1032 at
// most. Throws IoError.
std::uint64_t unpacked_bytes_at_most(const std::string& path);

// Where the file ends for now: new space begins there. Throws IoError.
haddr_t end_of(hid_t file, const std::string& path);

}  // namespace tessera::trace::hdf5
