#include "requests/text_reader.hpp"

#include <filesystem>

namespace tessera::serving {

TextReader::TextReader(const std::string& path)
    : path_(path), file_(path, std::ios::binary), buffer_(std::size_t{1} << 18U) {
  std::error_code ignored;
  if (!file_ || std::filesystem::is_directory(path, ignored)) {
    throw error_at(0, 0, "cannot be read");
  }
  if (fill() && filled_ >= 3 && std::string_view(buffer_.data(), 3) == "\xEF\xBB\xBF") {
    at_ = 3;
  }
}

ConfigError TextReader::error_at(int line, int column, const std::string& message) const {
  return ConfigError(Diagnostic{path_, line, column, message});
}

bool TextReader::fill() {
  file_.read(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
  filled_ = static_cast<std::size_t>(file_.gcount());
  at_ = 0;
  if (file_.bad()) {
    throw error("cannot be read on");
  }
  return filled_ > 0;
}

int TextReader::peek() {
  if (at_ == filled_ && !fill()) {
    return end;
  }
  return static_cast<unsigned char>(buffer_[at_]);
}

int TextReader::next() {
  const int byte = peek();
  if (byte == end) {
    return end;
  }
  ++at_;
  ++column_;
  if (byte == '\n') {
    ++line_;
    column_ = 1;
  }
  return byte;
}

bool TextReader::next_line(std::string& line) {
  return read_line(line, 1, true);
}

bool TextReader::next_log_line(std::string& line) {
  return read_line(line, 16, false);
}

bool TextReader::read_line(std::string& line, std::size_t mebibytes, bool refuses) {
  const std::size_t longest = mebibytes << 20U;
  line.clear();
  if (peek() == end) {
    return false;
  }
  for (int byte = peek(); byte != end && byte != '\n'; byte = peek()) {
    const bool is_text = byte >= ' ' || byte == '\t' || byte == '\r';
    if (!is_text && refuses) {
      throw error("a byte that is no text");
    }
    if (line.size() == longest) {
      throw error("a line of more than " + std::to_string(mebibytes) + " MiB");
    }
    line.push_back(is_text ? static_cast<char>(byte) : ' ');
    next();
  }
  next();
  if (!line.empty() && line.back() == '\r') {
    line.pop_back();
  }
  return true;
}

}  // namespace tessera::serving
