// What a run says on stderr while it goes, by level; one rank speaks.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace tessera::cli {

// From the loudest on: what is looked into, how it goes on, what is done, what may be wrong.
enum class LogLevel : std::uint8_t { trace, debug, info, warning, error };

class Log {
 public:
  // `louder`: levels below `info` that are shown; negative: from `info` on, those that are not.
  Log(int louder, bool speaks);
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  bool shows(LogLevel level) const;
  void say(LogLevel level, const std::string& text);
  void trace(const std::string& text) { say(LogLevel::trace, text); }
  void debug(const std::string& text) { say(LogLevel::debug, text); }
  void info(const std::string& text) { say(LogLevel::info, text); }
  void warn(const std::string& text) { say(LogLevel::warning, text); }

 private:
  // The library stays in one file.
  struct Logger;

  std::unique_ptr<Logger> logger_;
};

}  // namespace tessera::cli
