// What is in files that an experiment names beside its configuration: logs of requests, models,
// graphs. Runs, searches and sweeps that are gone on with are held against it.
#pragma once

#include <string>
#include <vector>

namespace tessera::sim {

// A digest of each file that `names` lead to, each file once. A name that is no file is a folder,
// whose files count, or what names of files begin with, as of traces (PREFIX.0.et); else it leads
// to none. Of a file above 1 GiB it is that of its size and of pieces spread over it. What cannot
// be read counts as empty: whoever needs it says so.
std::vector<std::string> digests_of_files(const std::vector<std::string>& names);

// One digest of all of them, in whatever order; empty: there are none.
std::string digest_of_files(const std::vector<std::string>& names);

}  // namespace tessera::sim
