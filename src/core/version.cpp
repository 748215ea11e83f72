#include "tessera/core/version.hpp"

namespace tessera {

std::string_view version() {
  return TESSERA_VERSION;
}

std::string_view git_hash() {
  return
#include "git_hash.inc"
      ;
}

}  // namespace tessera
