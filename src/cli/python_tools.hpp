// The program's own tools that are written in Python: where they are, and how they are run.
#pragma once

#include <string>
#include <string_view>

#include "tessera/cli/commands.hpp"
#include "tessera/comm/communicator.hpp"

namespace tessera::cli {

// Runs the module `module` of scripts/tessera_plots with `words`, on rank 0 alone, and gives its
// exit code on all ranks. The folder is $TESSERA_SCRIPTS, else that of the installed package
// (share/tessera/scripts beside the program's folder), else share/tessera/scripts in the folder the
// program was built in, which leads to the source tree; the interpreter is $TESSERA_PYTHON, else
// the first of python3 and /usr/bin/python3 that has h5py and numpy. The module finds the program
// in $TESSERA_PROGRAM. Throws ConfigError, which says what to install, when there is no such folder
// or interpreter. Collective.
int run_python(const std::string& module, const Words& words, comm::Communicator& world);

// Whether a text begins as the reports do that they write.
bool begins_as_report(std::string_view text);

}  // namespace tessera::cli
