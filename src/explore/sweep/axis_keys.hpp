// Faults of a sweep that would make all its points fail alike.
#pragma once

#include <vector>

#include "tessera/explore/sweep.hpp"

namespace tessera::explore {

// Reads the files that values of the axes name. Throws ConfigError with the place of one that
// cannot be read.
void load_parts(const Sweep& sweep, const config::TextLoader& load);

// Throws ConfigError when the experiment is none, before any axis is set; and when there is a key
// that it does not know, or misses, at all of a few points spread over the sweep: a misspelt axis,
// mostly, or one into a part that stands in a file. (At some a key may be unknown, such as that of
// another model.) What else is wrong with a point is for the point to tell. Gives the files that
// points name beside their configurations: of one of these few that can be read, and those that are
// values of axes.
std::vector<std::string> check_keys(const Sweep& sweep, const std::vector<PointNumber>& points,
                                    const config::TextLoader& load);

}  // namespace tessera::explore
