// Times of collectives as a library's model has them (tessera/collective/library.hpp), for fits:
// lines "KIND DEVICE RANKS SERVERS BYTES GB/S" on stdin, "MICROSECONDS ALGORITHM PROTOCOL" on
// stdout. DEVICE: ampere, hopper, or nvls, the latter with switches that add up. Links in servers
// and between them pass the rate.
#include <cmath>
#include <cstdint>
#include <iostream>
#include <string>

#include "tessera/collective/library.hpp"

int main() {
  using namespace tessera;
  std::string name;
  std::string device;
  collective::LibraryGroup group;
  std::uint64_t bytes = 0;
  double bandwidth = 0;
  while (std::cin >> name >> device >> group.ranks >> group.servers >> bytes >> bandwidth) {
    collective::LibrarySettings settings;
    settings.library = collective::Library::nccl;
    settings.device =
        device == "ampere" ? collective::LibraryDevice::ampere : collective::LibraryDevice::hopper;
    settings.nvls = device == "nvls";
    const auto kind = collective::kind_named(name);
    if (!kind || !collective::models(settings.library, *kind)) {
      std::cerr << "no model of " << name << "\n";
      return 2;
    }
    const auto time_of = [&](double share) {
      return SimTime::from_ps(static_cast<std::int64_t>(
          std::ceil(share * static_cast<double>(bytes) / bandwidth * 1e3)));
    };
    const double rounds = *kind == collective::Kind::all_reduce ? 2 : 1;
    const collective::LibraryLinks links{time_of(rounds * (group.ranks - 1) / group.ranks),
                                         group.ranks > group.servers ? time_of(1) : SimTime(),
                                         group.servers > 1 ? time_of(1) : SimTime()};
    const collective::LibraryChoice choice =
        collective::choose(settings, *kind, group, Bytes(bytes), links);
    std::cout << static_cast<double>(choice.time.ps()) * 1e-6 << " " << to_string(choice.algorithm)
              << " " << to_string(choice.protocol) << "\n";
  }
  return 0;
}
