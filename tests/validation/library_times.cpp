// Times of collectives as a library's model has them (tessera/collective/library.hpp), for fits:
// lines "KIND RANKS SERVERS BYTES GB/S" on stdin, "MICROSECONDS ALGORITHM PROTOCOL" on stdout.
#include <cmath>
#include <cstdint>
#include <iostream>
#include <string>

#include "tessera/collective/library.hpp"

int main() {
  using namespace tessera;
  std::string name;
  collective::LibraryGroup group;
  std::uint64_t bytes = 0;
  double bandwidth = 0;
  while (std::cin >> name >> group.ranks >> group.servers >> bytes >> bandwidth) {
    const auto kind = collective::kind_named(name);
    if (!kind || !collective::models(collective::Library::nccl, *kind)) {
      std::cerr << "no model of " << name << "\n";
      return 2;
    }
    const double rounds = *kind == collective::Kind::all_reduce ? 2 : 1;
    const double passed = rounds * (group.ranks - 1) / group.ranks * static_cast<double>(bytes);
    const SimTime on_links =
        SimTime::from_ps(static_cast<std::int64_t>(std::ceil(passed / bandwidth * 1e3)));
    const collective::LibraryChoice choice =
        collective::choose(*kind, group, Bytes(bytes), on_links);
    std::cout << static_cast<double>(choice.time.ps()) * 1e-6 << " " << to_string(choice.algorithm)
              << " " << to_string(choice.protocol) << "\n";
  }
  return 0;
}
