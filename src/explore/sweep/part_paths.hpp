// Paths of an experiment's parts that stand in another file.
#pragma once

#include <string>

#include "tessera/config/document.hpp"

namespace tessera::explore {

// Whether a value of this key names a file with a whole part of an experiment.
inline bool names_part(const std::string& key, const config::Value& value) {
  return (key == "machine" || key == "workload" || key == "strategy") &&
         value.kind == config::Value::Kind::scalar;
}

// An experiment takes the path of a part that is set from the present folder; in the file of
// `value` it counts from there.
inline config::Value from_present_folder(const std::string& key, config::Value value) {
  if (names_part(key, value)) {
    value.text = config::path_beside(value.place, value.text);
    value.quoted = true;
  }
  return value;
}

}  // namespace tessera::explore
