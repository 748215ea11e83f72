// Reads a workload from text, and finds things in it, for tests.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
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

inline const Operator& find_operator(const Layer& layer, std::string_view name) {
  for (const Operator& op : layer.operators) {
    if (op.name == name) {
      return op;
    }
  }
  throw std::out_of_range(std::string(name));
}

inline std::vector<std::string> names_of(const Layer& layer) {
  std::vector<std::string> names;
  for (const Operator& op : layer.operators) {
    names.push_back(op.name);
  }
  return names;
}

// What is kept for backward, in bytes.
struct Stored {
  std::uint64_t cut = 0;
  std::uint64_t whole = 0;
};

inline Stored stored_of(const Layer& layer) {
  Stored sum;
  for (const Operator& op : layer.operators) {
    sum.cut += op.stored_cut.count();
    sum.whole += op.stored_whole.count();
  }
  return sum;
}

}  // namespace tessera::workload
