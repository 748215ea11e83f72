#include "store/gz_file.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <utility>

#include "store/posix_file.hpp"

namespace tessera::trace {
namespace {

constexpr std::size_t buffer_bytes = std::size_t{1} << 18;

// A name that a later run takes for a tool's, should this one be killed half-way.
constexpr const char* partial_suffix = ".partial.json.gz";

}  // namespace

GzFile::GzFile(std::string path) : path_(std::move(path)), aside_(path_ + partial_suffix) {
  errno = 0;
  file_ = gzopen(aside_.c_str(), "wb6");
  if (file_ == nullptr) {
    throw_errno(path_, "create the file");
  }
}

GzFile::~GzFile() {
  if (file_ != nullptr) {
    gzclose(file_);
  }
  if (!finished_) {
    ::unlink(aside_.c_str());
  }
}

void GzFile::write(std::string_view text) {
  buffer_ += text;
  if (buffer_.size() >= buffer_bytes) {
    put_buffer();
  }
}

void GzFile::put_buffer() {
  errno = 0;
  if (!buffer_.empty() &&
      gzwrite(file_, buffer_.data(), static_cast<unsigned>(buffer_.size())) <= 0) {
    throw_errno(path_, "write the file");
  }
  buffer_.clear();
}

void GzFile::finish() {
  put_buffer();
  errno = 0;
  if (gzclose(std::exchange(file_, nullptr)) != Z_OK) {
    throw_errno(path_, "close the file");
  }
  sync_and_rename(aside_, path_);
  finished_ = true;
}

std::string begin_of_gzip(std::string_view beginning, std::size_t most) {
  constexpr int of_gzip = 16 + MAX_WBITS;
  std::string bytes(beginning);
  std::string text(most, ' ');
  z_stream stream{};
  if (inflateInit2(&stream, of_gzip) != Z_OK) {
    return "";
  }
  stream.next_in = reinterpret_cast<Bytef*>(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(text.data());
  stream.avail_out = static_cast<uInt>(text.size());
  inflate(&stream, Z_SYNC_FLUSH);
  text.resize(text.size() - stream.avail_out);
  inflateEnd(&stream);
  return text;
}

}  // namespace tessera::trace
