#include "tessera/workload/sections.hpp"

namespace tessera::workload {

Registry<SectionMaker>& sections_of_kinds() {
  static Registry<SectionMaker> registry("section of a workload");
  return registry;
}

SectionInfo section_of_kind(const PartInfo& kind) {
  const Registry<SectionMaker>& all = sections_of_kinds();
  return all.contains(kind.name) ? all.at(kind.name)(kind) : choice_of(kind);
}

}  // namespace tessera::workload
