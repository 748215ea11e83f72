// What is in files that an experiment names beside its configuration: logs of requests, models,
// graphs. Searches and sweeps that are gone on with are held against it.
#pragma once

#include <string>
#include <vector>

namespace tessera::explore {

// A digest of each file that `names` lead to, each file once. A name that is no file is a folder,
// whose files count, or what names of files begin with, as of traces (PREFIX.0.et); else it leads
// to none. What cannot be read counts as empty: whoever needs it says so.
std::vector<std::string> digests_of_files(const std::vector<std::string>& names);

}  // namespace tessera::explore
