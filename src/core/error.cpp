#include "tessera/core/error.hpp"

#include <fmt/format.h>

#include <utility>

#include "tessera/core/text.hpp"

namespace tessera {
namespace {

std::string lines_of(const std::vector<Diagnostic>& diagnostics) {
  std::string text;
  for (const Diagnostic& diagnostic : diagnostics) {
    if (!text.empty()) {
      text += '\n';
    }
    text += diagnostic.to_string();
  }
  return text;
}

std::string model_text(const std::string& message, SimTime time, EntityId entity) {
  std::vector<std::string> context;
  if (!time.is_never()) {
    context.push_back(fmt::format("at {} ps", time.ps()));
  }
  if (entity.valid()) {
    context.push_back(fmt::format("entity {}", entity.value()));
  }
  return "error: " + message + (context.empty() ? "" : " (" + join(context) + ")");
}

}  // namespace

std::string Diagnostic::to_string() const {
  if (file.empty()) {
    return "error: " + message;
  }
  if (line == 0) {
    return fmt::format("{}: error: {}", file, message);
  }
  return fmt::format("{}:{}:{}: error: {}", file, line, column, message);
}

ConfigError::ConfigError(std::vector<Diagnostic> diagnostics)
    : Error(lines_of(diagnostics)), diagnostics_(std::move(diagnostics)) {}

ModelError::ModelError(const std::string& message, SimTime time, EntityId entity)
    : Error(model_text(message, time, entity)), message_(message), time_(time), entity_(entity) {}

void ModelError::throw_placed(SimTime time, EntityId entity) const {
  throw placed(time, entity);
}

ModelError ModelError::placed(SimTime time, EntityId entity) const {
  return time_.is_never() ? ModelError(message_, time, entity) : *this;
}

InternalError::InternalError(const std::string& message, std::source_location where)
    : Error(fmt::format("internal error: {} ({}:{}); this is a defect of Tessera, please report it",
                        message, where.file_name(), where.line())) {}

}  // namespace tessera
