#include "tessera/machine/host.hpp"

#include <algorithm>

#include "tessera/config/key.hpp"
#include "tessera/config/members.hpp"

namespace tessera::machine {
namespace {

using config::Key;
using config::Member;
using config::RequiredKey;

const RequiredKey<Bandwidth> bandwidth_key{
    "bandwidth", "bandwidth of the link between a device and its host, in each direction",
    config::at_least(Bandwidth::bytes_per_second(1))};
const Key<SimTime> latency_key{"latency", SimTime::zero(),
                               "latency of a copy between device and host",
                               config::at_least(SimTime::zero())};
const Key<Bytes> memory_key{"memory", Bytes(0),
                            "memory of the host, for all its devices; 0: unlimited"};
const Key<std::uint32_t> devices_key{"devices", Host{}.devices, "devices that share a host",
                                     config::between(1U, 1U << 20U)};
const Key<Bandwidth> memory_bandwidth_key{"memory_bandwidth", Bandwidth(),
                                          "bandwidth of the host's memory, shared by the copies of "
                                          "its devices in both directions; 0: never the limit"};

const config::Members host_keys{
    Member{bandwidth_key, &Host::bandwidth}, Member{latency_key, &Host::latency},
    Member{memory_key, &Host::memory}, Member{devices_key, &Host::devices},
    Member{memory_bandwidth_key, &Host::memory_bandwidth}};

}  // namespace

SimTime Host::copy_time(Bytes bytes) const {
  if (bytes == Bytes(0) || !is_there()) {
    return SimTime::zero();
  }
  Bandwidth rate = bandwidth;
  if (memory_bandwidth > Bandwidth()) {
    const std::uint64_t part = memory_bandwidth.bytes_per_second() / (2 * std::uint64_t{devices});
    rate = std::min(rate, Bandwidth::bytes_per_second(std::max<std::uint64_t>(1, part)));
  }
  return latency + serialization_time(bytes, rate);
}

Host read_host(config::Section& machine) {
  Host host;
  if (!machine.has("host")) {
    return host;
  }
  config::Section section = machine.section("host");
  host_keys.read(section, host);
  section.finish();
  return host;
}

std::vector<ParameterInfo> host_parameters() {
  return host_keys.parameters();
}

}  // namespace tessera::machine
