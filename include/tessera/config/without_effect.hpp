// Values that a run takes no notice of, as the rest of its file stands: no fault, since a sweep or
// --set may bring them to life, but said in the notes of a run.
//
//   if (asks_for_pieces && !cuts_tokens) {
//     note_without_effect(section, "async_tensor", "sequence_parallel: false");
//   }
#pragma once

#include <string_view>

#include "tessera/config/document.hpp"

namespace tessera::config {

// Notes of a key that is given: "PATH has no effect with WITH". Of one that is absent nothing. To
// be called for values that are not the default, which resolved configurations state for every key.
void note_without_effect(Section& section, std::string_view key, std::string_view with);

}  // namespace tessera::config
