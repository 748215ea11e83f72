// Files that are written aside and renamed when they are whole.
#pragma once

namespace tessera::trace {

// What a file is called while it is written aside.
inline constexpr const char* aside_suffix = ".tmp";

// What is added to the name of a trace of which rows are lost, when the rest of it has been saved.
inline constexpr const char* damaged_suffix = ".damaged";

}  // namespace tessera::trace
