#include "tessera/core/memory.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>

namespace tessera {
namespace {

namespace fs = std::filesystem;

// "KEY 17" or "KEY: 17 kB", a line each.
std::map<std::string, std::uint64_t> numbers_in(const fs::path& path) {
  std::map<std::string, std::uint64_t> numbers;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string key;
    std::uint64_t number = 0;
    if (words >> key >> number) {
      numbers[key] = number;
    }
  }
  return numbers;
}

// None for "max", and where there is no such file.
std::optional<std::uint64_t> number_in(const fs::path& path) {
  std::ifstream file(path);
  std::uint64_t number = 0;
  return file >> number ? std::optional(number) : std::nullopt;
}

MemoryThere of_machine(const std::string& root) {
  constexpr std::uint64_t unit = 1024;
  std::map<std::string, std::uint64_t> numbers = numbers_in(root + "/proc/meminfo");
  MemoryThere there;
  there.most = (numbers["MemTotal:"] + numbers["SwapTotal:"]) * unit;
  there.free = (numbers["MemAvailable:"] + numbers["SwapFree:"]) * unit;
  there.whose = "this machine";
  return there;
}

// Names of the files in which a version keeps its numbers.
struct GroupFiles {
  const char* most;
  const char* used;
  const char* cached;  // key in memory.stat
};
constexpr GroupFiles version_2{"memory.max", "memory.current", "inactive_file"};
constexpr GroupFiles version_1{"memory.limit_in_bytes", "memory.usage_in_bytes",
                               "total_inactive_file"};

// The group and those above it; in a container its own may be the root of what is seen.
void narrow(const fs::path& top, const std::string& group, const GroupFiles& files,
            MemoryThere& there) {
  for (fs::path at = fs::path(group).relative_path();; at = at.parent_path()) {
    const fs::path folder = top / at;
    const std::optional<std::uint64_t> most = number_in(folder / files.most);
    const std::optional<std::uint64_t> used = number_in(folder / files.used);
    if (most && used) {
      const std::uint64_t cached = numbers_in(folder / "memory.stat")[files.cached];
      const std::uint64_t held = *used - std::min(*used, cached);
      const std::uint64_t free = *most - std::min(*most, held);
      if (there.most == 0 || *most < there.most) {
        there.most = *most;
        there.whose = "the control group /" + at.string();
      }
      there.free = std::min(there.free, free);
    }
    if (at.empty()) {
      return;
    }
  }
}

}  // namespace

MemoryThere memory_there(const std::string& root) {
  MemoryThere there = of_machine(root);
  std::ifstream groups(root + "/proc/self/cgroup");
  // "0::/job_17" of version 2, "4:memory:/job_17" of version 1.
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) {
      continue;
    }
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string group = line.substr(second + 1);
    if (controllers == ",,") {
      narrow(root + "/sys/fs/cgroup", group, version_2, there);
    } else if (controllers.find(",memory,") != std::string::npos) {
      narrow(root + "/sys/fs/cgroup/memory", group, version_1, there);
    }
  }
  return there;
}

}  // namespace tessera
