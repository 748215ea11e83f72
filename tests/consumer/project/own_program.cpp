// The program with parts and a command of one's own beside all that it has.
#include "tessera/cli/program.hpp"

int main(int argc, char** argv) {
  return tessera::cli::run_program(argc, argv);
}
