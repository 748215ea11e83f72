#include "process/log.hpp"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "process/terminal.hpp"

namespace tessera::cli {
namespace {

spdlog::level::level_enum to_library(LogLevel level) {
  return static_cast<spdlog::level::level_enum>(static_cast<int>(level) + SPDLOG_LEVEL_TRACE);
}

}  // namespace

struct Log::Logger {
  std::shared_ptr<spdlog::logger> logger;
};

Log::Log(int louder, bool speaks)
    : logger_(std::make_unique<Logger>(Logger{spdlog::stderr_color_st("tessera")})) {
  logger_->logger->set_pattern("%^%l%$: %v");
  const int level = std::clamp(SPDLOG_LEVEL_INFO - louder, SPDLOG_LEVEL_TRACE, SPDLOG_LEVEL_OFF);
  logger_->logger->set_level(speaks ? static_cast<spdlog::level::level_enum>(level)
                                    : spdlog::level::off);
}
Log::~Log() = default;

bool Log::shows(LogLevel level) const {
  return logger_->logger->should_log(to_library(level));
}

void Log::say(LogLevel level, const std::string& text) {
  logger_->logger->log(to_library(level), without_controls(text));
}

}  // namespace tessera::cli
