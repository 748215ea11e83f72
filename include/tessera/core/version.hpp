// What build this is.
#pragma once

#include <string_view>

namespace tessera {

// "0.1.0", as in CMakeLists.txt.
std::string_view version();

// Abbreviated commit the build was made from, the last that changed more than documents and pages
// of results, with "-dirty" when the tree had such changes; "unknown" outside a checkout.
std::string_view git_hash();

}  // namespace tessera
