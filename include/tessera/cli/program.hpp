// The program `tessera`, as a function: a program that links it beside parts and commands of its
// own has all of them.
#pragma once

namespace tessera::cli {

// Begins and ends MPI where it is there, runs the command that the words name, and gives the exit
// code (docs/manual/commands.md). What goes wrong is said on the standard error, by one rank where
// it concerns all; nothing is thrown.
// SIGUSR1 and SIGUSR2 end no command from here on: they ask a run to stop in order and for its
// status, also before it begins, and mean nothing to commands without a run.
int run_program(int argc, char** argv);

}  // namespace tessera::cli
