#include "tessera/sim/machine_file.hpp"

#include <filesystem>
#include <utility>

#include "tessera/sim/experiment.hpp"
#include "tessera/sim/sections.hpp"

namespace tessera::sim {
namespace {

// A machine file alone becomes the machine of an experiment that has nothing else.
config::Value read_root(const std::string& path, const std::vector<std::string>& overrides,
                        const config::TextLoader& load) {
  config::Diagnostics ignored;  // reading it again will complain
  const config::Value root = config::parse(path, config::load_named(path, load), ignored);
  if (root.find("topology") == nullptr || root.find("machine") != nullptr) {
    return read_configuration(path, overrides, load);
  }
  const std::filesystem::path file(path);
  const std::string around = (file.parent_path() / "(machine alone)").string();
  config::Value name;
  name.kind = config::Value::Kind::scalar;
  name.text = file.filename().string();
  const std::string text = "machine: " + config::to_inline_yaml(name) + "\n";
  return read_configuration(around, overrides, [&](const std::string& asked) {
    return asked == around ? text : load(asked);
  });
}

}  // namespace

machine::Machine read_machine_file(const std::string& path,
                                   const std::vector<std::string>& overrides,
                                   const config::TextLoader& load) {
  const config::Value root = read_root(path, overrides, load);
  config::Diagnostics diagnostics;
  config::Section section(root, "", diagnostics);
  section.declare([] { return sections_of_file("experiment"); });
  if (section.is_mapping() && !section.has("machine")) {
    diagnostics.error({path, 1, 1},
                      "neither a machine nor an experiment: no 'topology', and no "
                      "'machine'");
  }
  config::Section part = section.section("machine");
  diagnostics.throw_if_any();
  std::optional<machine::Machine> machine = machine::read_machine(part);
  for (const char* other : {"network", "memory", "remote_memory", "coherence", "compute"}) {
    part.raw(other);
  }
  part.finish();
  diagnostics.throw_if_any();
  if (!machine) {
    throw InternalError("a machine was not read and nothing was complained about");
  }
  return *std::move(machine);
}

}  // namespace tessera::sim
