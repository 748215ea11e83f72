#include "tessera/core/host.hpp"

#include <unistd.h>

#include <array>
#include <climits>

namespace tessera {

std::string host_name() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

}  // namespace tessera
