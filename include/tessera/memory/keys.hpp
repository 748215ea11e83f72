// Keys that the sections `memory` and `remote_memory` have whatever their model.
#pragma once

#include "tessera/config/key.hpp"

namespace tessera::memory {

// Which of the memories it is.
const config::NameKey& model_key();
// Which of the remote memories.
const config::NameKey& remote_kind_key();

}  // namespace tessera::memory
