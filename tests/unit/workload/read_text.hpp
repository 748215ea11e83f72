// Reads a workload from text, for tests.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tessera/config/document.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::workload {

struct ReadResult {
  std::optional<Workload> workload;
  std::vector<std::string> complaints;
};

inline ReadResult read_text(const std::string& text, const std::string& file = "w.yaml") {
  config::Diagnostics diagnostics;
  config::Section section(config::parse(file, text, diagnostics), "", diagnostics);
  ReadResult result;
  result.workload = read_workload(section);
  section.finish();
  for (const Diagnostic& diagnostic : diagnostics.list()) {
    result.complaints.push_back(diagnostic.to_string());
  }
  return result;
}

}  // namespace tessera::workload
