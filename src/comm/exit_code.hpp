#pragma once

namespace tessera::comm {

// What ranks are ended with for a failure that names no code of its own; that of InternalError.
inline constexpr int internal_exit_code = 70;

}  // namespace tessera::comm
