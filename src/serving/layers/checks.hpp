// What of a language model cannot be served, or not cut so.
#pragma once

#include "tessera/serving/language_model.hpp"

namespace tessera::serving {

// Throws ConfigError, as make_language_model.
void refuse_unserved(const LanguageSetup& setup);

}  // namespace tessera::serving
