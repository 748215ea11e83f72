#include "process/terminal.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <ostream>
#include <string>
#include <string_view>

#include "tessera/config/name.hpp"

namespace tessera::cli {
std::string without_controls(std::string_view text) {
  std::string plain;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t next = config::find_control(text.substr(at));
    if (next == std::string_view::npos) {
      plain += text.substr(at);
      break;
    }
    plain += text.substr(at, next);
    at += next;
    const char found = text[at];
    if (found == '\n' || found == '\r' || found == '\t') {
      plain += found;
      ++at;
      continue;
    }
    // Of two bytes in UTF-8, \xc2 and the code itself.
    at += found == '\xC2' ? 1 : 0;
    std::array<char, 8> code{};
    std::snprintf(code.data(), code.size(), "\\x%02x",
                  static_cast<unsigned>(static_cast<unsigned char>(text[at])));
    plain += code.data();
    ++at;
  }
  return plain;
}

class PlainText::Filter final : public std::streambuf {
 public:
  explicit Filter(std::streambuf* target) : target_(target) {}
  bool was_used() const { return was_used_; }
  int failure() const { return failure_; }

 protected:
  int_type overflow(int_type character) override {
    if (traits_type::eq_int_type(character, traits_type::eof())) {
      return traits_type::not_eof(character);
    }
    const char one = traits_type::to_char_type(character);
    return xsputn(&one, 1) == 1 ? character : traits_type::eof();
  }
  std::streamsize xsputn(const char* text, std::streamsize count) override {
    was_used_ = was_used_ || count > 0;
    const std::string plain = without_controls({text, static_cast<std::size_t>(count)});
    const auto length = static_cast<std::streamsize>(plain.size());
    errno = 0;
    const bool written = target_->sputn(plain.data(), length) == length;
    note(written);
    return written ? count : 0;
  }
  int sync() override {
    errno = 0;
    const int result = target_->pubsync();
    note(result == 0);
    return result;
  }

 private:
  void note(bool written) {
    if (!written && failure_ == 0) {
      failure_ = errno != 0 ? errno : EIO;
    }
  }

  std::streambuf* target_;
  bool was_used_ = false;
  int failure_ = 0;
};

PlainText::PlainText(std::ostream& stream)
    : stream_(stream), target_(stream.rdbuf()), filter_(std::make_unique<Filter>(target_)) {
  stream_.rdbuf(filter_.get());
}

PlainText::~PlainText() {
  stream_.flush();
  stream_.rdbuf(target_);
}

bool PlainText::was_used() const {
  return filter_->was_used();
}

int PlainText::flush() const {
  filter_->pubsync();
  return filter_->failure();
}

}  // namespace tessera::cli
