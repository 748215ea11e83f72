#include "tessera/memory/memory.hpp"

#include <utility>

namespace tessera::memory {

Registry<MemoryMaker>& memories() {
  static Registry<MemoryMaker> registry("memory");
  return registry;
}

std::unique_ptr<MemoryModel> read_memory(config::Section section) {
  const std::string model = section.get_name("model", memories().names(), "channel");
  if (!memories().contains(model)) {
    return nullptr;
  }
  section.leave_keys_of_others(memories().infos(), model);
  return memories().at(model)(section);
}

}  // namespace tessera::memory
