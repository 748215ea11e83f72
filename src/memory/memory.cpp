#include "tessera/memory/memory.hpp"

#include <utility>

#include "tessera/memory/keys.hpp"

namespace tessera::memory {

Registry<MemoryMaker>& memories() {
  static Registry<MemoryMaker> registry("memory");
  return registry;
}

const config::NameKey& model_key() {
  static const config::NameKey key{"memory.model", [] { return memories().names(); }, "channel",
                                   "how memory is accessed"};
  return key;
}

std::unique_ptr<MemoryModel> read_memory(config::Section section) {
  const std::string model = model_key().read(section);
  if (!memories().contains(model)) {
    return nullptr;
  }
  section.leave_keys_of_others(memories().infos(), model);
  return memories().at(model)(section);
}

}  // namespace tessera::memory
