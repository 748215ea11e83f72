// Values made of texts and numbers, to be written as YAML (see document.hpp).
#pragma once

#include <string>

#include "tessera/config/document.hpp"

namespace tessera::config {

// A scalar Value with this text, marked quoted when the text could be read as something else than a
// text: a number, true, null, an indicator of YAML. For texts; numbers are plain scalars.
Value text_value(std::string text);
Value plain_value(std::string text);

}  // namespace tessera::config
