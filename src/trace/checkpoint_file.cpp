// One rank's file of a checkpoint.
#include <algorithm>
#include <cstring>

#include "schema.hpp"
#include "store/hdf5_support.hpp"
#include "store/posix_file.hpp"
#include "tessera/core/error.hpp"
#include "tessera/trace/checkpoint.hpp"

namespace tessera::trace {
namespace {

constexpr const char* rank_file_type = "tessera-checkpoint-rank";

// Elements of a chunk, also read at a time; of single bytes a chunk holds more.
constexpr std::size_t chunk_elements = 16'384;
constexpr std::size_t chunk_bytes = std::size_t{1} << 20;

// A dataset that grows by whole chunks.
class Growing {
 public:
  Growing(hid_t file, const char* name, const char* description, hid_t type,
          std::size_t element_bytes, const std::string& path)
      : type_(type),
        element_bytes_(element_bytes),
        chunk_(element_bytes == 1 ? chunk_bytes : chunk_elements * element_bytes),
        path_(path) {
    const hdf5::Properties creation(
        hdf5::check(H5Pcreate(H5P_DATASET_CREATE), path, "set the creation properties"));
    const hsize_t rows = chunk_ / element_bytes;
    hdf5::check(H5Pset_chunk(creation.get(), 1, &rows), path, "set the chunk size");
    hdf5::check(H5Pset_obj_track_times(creation.get(), false), path, "turn off time stamps");
    hdf5::check(H5Pset_shuffle(creation.get()), path, "set the filters");
    hdf5::check(H5Pset_deflate(creation.get(), 1), path, "set the filters");
    const hsize_t none = 0;
    const hsize_t unlimited = H5S_UNLIMITED;
    const hdf5::Space space(
        hdf5::check(H5Screate_simple(1, &none, &unlimited), path, "make a table's shape"));
    dataset_ = hdf5::WriteDataset(hdf5::check(
        H5Dcreate2(file, name, type, space.get(), H5P_DEFAULT, creation.get(), H5P_DEFAULT), path,
        "create a table"));
    hdf5::write_text(dataset_.get(), "description", description, path);
  }

  void append(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const std::size_t part = std::min(bytes.size(), chunk_ - buffer_.size());
      buffer_.insert(buffer_.end(), bytes.begin(),
                     bytes.begin() + static_cast<std::ptrdiff_t>(part));
      bytes = bytes.subspan(part);
      if (buffer_.size() == chunk_) {
        flush();
      }
    }
  }

  void close() {
    flush();
    hdf5::check(dataset_.reset(), path_, "close a table");
  }

 private:
  void flush() {
    if (buffer_.empty()) {
      return;
    }
    hdf5::require_room();
    const hsize_t count = buffer_.size() / element_bytes_;
    const hsize_t end = written_ + count;
    hdf5::check(H5Dset_extent(dataset_.get(), &end), path_, "extend a table");
    const hdf5::Space memory(
        hdf5::check(H5Screate_simple(1, &count, nullptr), path_, "write rows"));
    const hdf5::Space target = hdf5::select_rows(dataset_.get(), written_, count, path_);
    hdf5::check(
        H5Dwrite(dataset_.get(), type_, memory.get(), target.get(), H5P_DEFAULT, buffer_.data()),
        path_, "write rows");
    written_ = end;
    buffer_.clear();
  }

  hid_t type_;  // lives as long as the file
  std::size_t element_bytes_;
  std::size_t chunk_;  // bytes
  const std::string& path_;
  hdf5::WriteDataset dataset_;
  std::vector<std::byte> buffer_;
  hsize_t written_ = 0;
};

template <class Value>
std::span<const std::byte> bytes_of(const Value& value) {
  return std::as_bytes(std::span<const Value, 1>(&value, 1));
}

hdf5::Type opaque_type(std::size_t bytes, const std::string& path) {
  hdf5::Type type(hdf5::check(H5Tcreate(H5T_OPAQUE, bytes), path, "make a type"));
  hdf5::check(H5Tset_tag(type.get(), "tessera event"), path, "make a type");
  return type;
}

}  // namespace

struct CheckpointWriter::Impl {
  Impl(const std::string& file_path, std::size_t event_bytes)
      : path(file_path),
        file(hdf5::create_file(path, H5F_ACC_EXCL)),
        event_type(opaque_type(event_bytes, path)),
        entities(file.get(), "entities", "number of each entity of the rank", H5T_NATIVE_UINT32,
                 sizeof(std::uint32_t), path),
        ends(file.get(), "ends", "end of each entity's bytes in 'state'", H5T_NATIVE_UINT64,
             sizeof(std::uint64_t), path),
        state(file.get(), "state", "state of the entities, one after the other", H5T_NATIVE_UINT8,
              1, path),
        events(file.get(), "events", "pending events", event_type.get(), event_bytes, path) {
    hdf5::write_text(file.get(), "file_type", rank_file_type, path);
    hdf5::write_text(file.get(), "format_version", format_version, path);
  }

  void write_totals(const char* name, const char* description,
                    std::span<const std::byte> bytes) const {
    Growing totals(file.get(), name, description, H5T_NATIVE_UINT8, 1, path);
    totals.append(bytes);
    totals.close();
  }

  std::string path;
  hdf5::WriteFile file;
  hdf5::Type event_type;
  Growing entities;
  Growing ends;
  Growing state;
  Growing events;
  std::uint64_t end = 0;
};

CheckpointWriter::CheckpointWriter(const std::string& path, std::size_t event_bytes) {
  const hdf5::Guard guard;
  impl_ = std::make_unique<Impl>(path, event_bytes);
}

CheckpointWriter::~CheckpointWriter() = default;

void CheckpointWriter::add_entity(EntityId entity, std::span<const std::byte> state) {
  const hdf5::Guard guard;
  impl_->entities.append(bytes_of(entity));
  impl_->state.append(state);
  impl_->end += state.size();
  impl_->ends.append(bytes_of(impl_->end));
}

void CheckpointWriter::add_event(std::span<const std::byte> event) {
  const hdf5::Guard guard;
  impl_->events.append(event);
}

CheckpointFile CheckpointWriter::finish(std::span<const std::byte> engine_totals,
                                        std::span<const std::byte> run_totals) {
  const hdf5::Guard guard;
  for (Growing* each : {&impl_->entities, &impl_->ends, &impl_->state, &impl_->events}) {
    each->close();
  }
  impl_->write_totals("engine_totals", "what of the engine and the models belongs to the rank",
                      engine_totals);
  impl_->write_totals("run_totals", "what of the run belongs to the rank", run_totals);
  impl_->event_type.reset();
  hdf5::check(impl_->file.reset(), impl_->path, "close the file");
  sync_path(impl_->path);
  const FileSum sum = sum_file(impl_->path);
  return {"", sum.bytes, sum.crc};
}

struct CheckpointReader::Impl {
  explicit Impl(const std::string& file_path) : path(file_path) {
    check_regular(path);
    const hdf5::Properties access = hdf5::file_access(path);
    file = hdf5::ReadFile(
        hdf5::check(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get()), path, "open the file"));
    if (hdf5::read_texts(file.get(), "file_type", path) !=
        std::vector<std::string>{rank_file_type}) {
      throw IoError(path + ": error: is no rank's file of a checkpoint");
    }
  }

  hdf5::ReadDataset open(const char* name) const {
    return hdf5::ReadDataset(
        hdf5::check(H5Dopen2(file.get(), name, H5P_DEFAULT), path, "open a table"));
  }

  // Elements of `bytes` each that a table says it has. Throws where the file has no room for them.
  hsize_t elements(const hdf5::ReadDataset& dataset, std::size_t bytes) const {
    const hsize_t count = hdf5::extent(dataset.get(), path);
    if (count > hdf5::unpacked_bytes_at_most(path) / bytes) {
      damaged();
    }
    return count;
  }

  // Reads elements [first, first + count) of `type`.
  void read(const hdf5::ReadDataset& dataset, hid_t type, hsize_t first, hsize_t count,
            void* target) const {
    if (count == 0) {
      return;
    }
    hdf5::require_room();
    const hdf5::Space memory(hdf5::check(H5Screate_simple(1, &count, nullptr), path, "read rows"));
    const hdf5::Space source = hdf5::select_rows(dataset.get(), first, count, path);
    hdf5::check(H5Dread(dataset.get(), type, memory.get(), source.get(), H5P_DEFAULT, target), path,
                "read rows");
  }

  std::vector<std::byte> read_all(const char* name) const {
    const hdf5::ReadDataset dataset = open(name);
    std::vector<std::byte> bytes(elements(dataset, 1));
    read(dataset, H5T_NATIVE_UINT8, 0, bytes.size(), bytes.data());
    return bytes;
  }

  [[noreturn]] void damaged() const {
    throw IoError(path + ": error: damaged: its parts do not fit together");
  }

  std::string path;
  hdf5::ReadFile file;
};

CheckpointReader::CheckpointReader(const std::string& path) {
  const hdf5::Guard guard;
  impl_ = std::make_unique<Impl>(path);
}

CheckpointReader::~CheckpointReader() = default;

void CheckpointReader::visit_entities(
    const std::function<bool(EntityId)>& wanted,
    const std::function<void(EntityId, std::span<const std::byte>)>& visit) const {
  const hdf5::Guard guard;
  const hdf5::ReadDataset entities = impl_->open("entities");
  const hdf5::ReadDataset ends = impl_->open("ends");
  const hdf5::ReadDataset state = impl_->open("state");
  const hsize_t all = impl_->elements(entities, sizeof(std::uint32_t));
  const hsize_t bytes = impl_->elements(state, 1);
  if (hdf5::extent(ends.get(), impl_->path) != all) {
    impl_->damaged();
  }
  std::vector<std::uint32_t> numbers(chunk_elements);
  std::vector<std::uint64_t> stops(chunk_elements);
  std::vector<std::byte> block;
  std::uint64_t begin = 0;
  for (hsize_t first = 0; first < all; first += chunk_elements) {
    const std::size_t count = std::min<hsize_t>(chunk_elements, all - first);
    impl_->read(entities, H5T_NATIVE_UINT32, first, count, numbers.data());
    impl_->read(ends, H5T_NATIVE_UINT64, first, count, stops.data());
    const std::uint64_t end = stops[count - 1];
    if (!std::is_sorted(stops.begin(), stops.begin() + static_cast<std::ptrdiff_t>(count)) ||
        stops[0] < begin || end > bytes) {
      impl_->damaged();
    }
    const bool any =
        std::any_of(numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(count),
                    [&](std::uint32_t number) { return wanted(EntityId(number)); });
    if (any) {
      block.resize(end - begin);
      impl_->read(state, H5T_NATIVE_UINT8, begin, block.size(), block.data());
      std::uint64_t from = begin;
      for (std::size_t i = 0; i < count; ++i) {
        if (wanted(EntityId(numbers[i]))) {
          visit(EntityId(numbers[i]), std::span(block).subspan(from - begin, stops[i] - from));
        }
        from = stops[i];
      }
    }
    begin = end;
  }
}

void CheckpointReader::visit_events(
    const std::function<void(std::span<const std::byte>)>& visit) const {
  const hdf5::Guard guard;
  const hdf5::ReadDataset events = impl_->open("events");
  const hdf5::Type type(hdf5::check(H5Dget_type(events.get()), impl_->path, "read a table's type"));
  const std::size_t size = H5Tget_size(type.get());
  // Pointers of the library's are no events; one is smaller than a page.
  constexpr std::size_t largest = 4096;
  if (H5Tget_class(type.get()) != H5T_OPAQUE || size == 0 || size > largest) {
    impl_->damaged();
  }
  const hsize_t all = impl_->elements(events, size);
  std::vector<std::byte> block(chunk_elements * size);
  for (hsize_t first = 0; first < all; first += chunk_elements) {
    const std::size_t count = std::min<hsize_t>(chunk_elements, all - first);
    impl_->read(events, type.get(), first, count, block.data());
    for (std::size_t i = 0; i < count; ++i) {
      visit(std::span(block).subspan(i * size, size));
    }
  }
}

std::vector<std::byte> CheckpointReader::engine_totals() const {
  const hdf5::Guard guard;
  return impl_->read_all("engine_totals");
}

std::vector<std::byte> CheckpointReader::run_totals() const {
  const hdf5::Guard guard;
  return impl_->read_all("run_totals");
}

}  // namespace tessera::trace
