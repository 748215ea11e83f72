#include "chip/keys.hpp"

namespace tessera::sim {

const ChipKeys& chip_keys() {
  static const ChipKeys keys;
  return keys;
}

}  // namespace tessera::sim
