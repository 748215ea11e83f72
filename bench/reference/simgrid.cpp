#include "reference/simgrid.hpp"

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "tessera/core/error.hpp"

namespace tessera::bench {
namespace {

std::filesystem::path program(const std::string& name) {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path() / name;
}

// What `command` prints. Throws IoError when it cannot be started or fails.
std::string output_of(const std::string& command) {
  std::FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) {
    throw IoError("cannot start " + command);
  }
  std::string text;
  for (int letter = std::fgetc(pipe); letter != EOF; letter = std::fgetc(pipe)) {
    text.push_back(static_cast<char>(letter));
  }
  if (pclose(pipe) != 0) {
    throw IoError(command + " failed");
  }
  return text;
}

SimgridCost run(const std::string& name, const std::string& numbers) {
  if (!std::filesystem::exists(program(name))) {
    throw ConfigError("--engine: this build has no SimGrid");
  }
  const std::string command = "'" + program(name).string() + "' " + numbers;
  const auto result = nlohmann::json::parse(output_of(command), nullptr, false);
  if (result.is_discarded()) {
    throw IoError(command + " printed something else than JSON");
  }
  SimgridCost cost;
  cost.flows = result.at("flows");
  cost.simulated = SimTime::from_ps(result.at("simulated_ps"));
  cost.cost.cpu_s = result.at("cpu_s");
  cost.cost.wall_s = result.at("wall_s");
  cost.cost.peak_memory = result.at("peak_memory");
  return cost;
}

}  // namespace

SimgridCost run_simgrid(const RingOnSimgrid& ring) {
  return run("tessera-bench-ring-simgrid",
             std::to_string(ring.accelerators) + " " + std::to_string(ring.chunk.count()) + " " +
                 std::to_string(ring.bandwidth.bytes_per_second()) + " " +
                 std::to_string(ring.latency.ps()) + " " + std::to_string(ring.iterations));
}

SimgridCost run_simgrid(const RandomFlowsParameters& flows) {
  return run("tessera-bench-flows-simgrid",
             std::to_string(flows.hosts) + " " + std::to_string(flows.flows) + " " +
                 std::to_string(flows.spread_ps) + " " + std::to_string(flows.seed));
}

}  // namespace tessera::bench
