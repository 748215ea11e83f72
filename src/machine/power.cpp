#include "tessera/machine/power.hpp"

#include "tessera/config/key.hpp"
#include "tessera/config/members.hpp"

namespace tessera::machine {
namespace {

using config::counted_in;
using config::Key;
using config::Member;

constexpr config::Range<double> watts{0, 1e6};

const Key<double> idle_power_key =
    counted_in("W", Key<double>("idle", 0, "power of an idle device", watts));
const Key<double> compute_power_key =
    counted_in("W", Key<double>("compute", 0, "additional power while the device computes", watts));
const Key<double> memory_power_key = counted_in(
    "W", Key<double>("memory", 0, "additional power at the memory's peak bandwidth", watts));
const Key<double> link_power_key = counted_in(
    "W", Key<double>("link", 0, "additional power while the device waits for messages", watts));
const Key<double> host_power_key =
    counted_in("W", Key<double>("host", 0, "the device's share of the server's power", watts));

const config::Members power_keys{
    Member{idle_power_key, &Power::idle_w}, Member{compute_power_key, &Power::compute_w},
    Member{memory_power_key, &Power::memory_w}, Member{link_power_key, &Power::link_w},
    Member{host_power_key, &Power::host_w}};

}  // namespace

std::optional<Power> read_power(config::Section& machine) {
  if (!machine.has("power")) {
    return std::nullopt;
  }
  config::Section section = machine.section("power");
  Power power;
  power_keys.read(section, power);
  section.finish();
  return power;
}

std::vector<ParameterInfo> power_parameters() {
  return power_keys.parameters();
}

}  // namespace tessera::machine
