// Operators and cores from YAML.
#pragma once

#include <memory>
#include <string>

#include "tessera/config/document.hpp"
#include "tessera/npu/tiled_operator.hpp"

namespace tessera::npu::testing {

// Throws ConfigError on any complaint.
inline CoreConfig core_from(const std::string& text) {
  config::Diagnostics diagnostics;
  config::Section section(config::parse("core.yaml", text, diagnostics), "", diagnostics);
  CoreConfig core = read_core(section);
  section.finish();
  diagnostics.throw_if_any();
  return core;
}

// The core must outlive the operator.
inline std::unique_ptr<TiledOperator> operator_from(const std::string& text, const CoreConfig& core,
                                                    std::uint64_t cores) {
  config::Diagnostics diagnostics;
  config::Section section(config::parse("op.yaml", text, diagnostics), "", diagnostics);
  const std::string kind = section.get<std::string>("kind");
  std::unique_ptr<TiledOperator> made = operators().at(kind)(section, {core, cores});
  section.finish();
  diagnostics.throw_if_any();
  return made;
}

// The Mobile and Server cores of the paper's Table II.
inline const char* const mobile =
    "{array: [8, 8], vector_width: 128, scratchpad: 64 KiB, accumulator: 16 KiB}";
inline const char* const server =
    "{array: [128, 128], vector_width: 2048, scratchpad: 32 MiB, accumulator: 4 MiB}";
inline std::string with(std::string core, const std::string& keys) {
  core.insert(core.size() - 1, ", " + keys);
  return core;
}

}  // namespace tessera::npu::testing
