#pragma once

namespace tessera::trace {

// Files of ranks in one folder; more are in folders of so many each.
inline constexpr int most_ranks_in_one_folder = 1000;

}  // namespace tessera::trace
