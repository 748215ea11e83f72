// Files that are written aside and renamed when they are whole.
#pragma once

namespace tessera::trace {

// What a file is called while it is written aside.
inline constexpr const char* aside_suffix = ".tmp";

}  // namespace tessera::trace
