#include "tessera/workload/keys.hpp"

#include <utility>

namespace tessera::workload {

config::NameKey kind_key(config::NameKey::Names kinds) {
  return {"workload.kind", std::move(kinds), "", "kind of the workload"};
}

const config::DerivedKey<std::string>& title_key() {
  static const config::DerivedKey<std::string> key{"workload.name", "the kind", "title"};
  return key;
}

std::string read_title(config::Section& workload) {
  return title_key().read(workload, workload.get<std::string>("kind"));
}

}  // namespace tessera::workload
