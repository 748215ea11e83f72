#include <sys/types.h>
#include <unistd.h>

#include <cstdint>
#include <string_view>

#include "tessera/cli/program.hpp"
#include "tessera/core/address_space.hpp"

namespace {

// Before objects that are there before main(): an exception of theirs would be a crash.
[[gnu::constructor(101)]] void require_addresses() {
  constexpr std::uint64_t needed = std::uint64_t{4} << 20U;
  constexpr std::string_view complaint =
      "error: out of memory: the program itself takes nearly all addresses that it may have "
      "(ulimit -v)\n";
  if (!tessera::has_addresses(needed)) {
    [[maybe_unused]] const ssize_t written =
        write(STDERR_FILENO, complaint.data(), complaint.size());
    _exit(2);
  }
}

}  // namespace

int main(int argc, char** argv) {
  return tessera::cli::run_program(argc, argv);
}
