#include "tessera/config/without_effect.hpp"

#include <string>
#include <utility>

#include "tessera/core/registry.hpp"

namespace tessera::config {

void note_without_effect(Section& section, std::string_view key, std::string_view with) {
  ParameterInfo parameter;
  parameter.name = key;
  PartInfo another;  // than what is chosen
  another.parameters.push_back(std::move(parameter));
  section.leave_keys_of_others({std::move(another)}, with);
}

}  // namespace tessera::config
