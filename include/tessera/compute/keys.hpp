// Keys that the section `compute` has whatever its model.
#pragma once

#include "tessera/config/key.hpp"

namespace tessera::compute {

// Which of the compute models it is.
const config::NameKey& model_key();

}  // namespace tessera::compute
