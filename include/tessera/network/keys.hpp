// Keys that the section `network` has whatever its model.
#pragma once

#include "tessera/config/key.hpp"

namespace tessera::network {

// Which of the networks it is.
const config::NameKey& model_key();

}  // namespace tessera::network
