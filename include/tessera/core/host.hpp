#pragma once

#include <string>

namespace tessera {

// As gethostname(2) says; "" when it says nothing.
std::string host_name();

}  // namespace tessera
