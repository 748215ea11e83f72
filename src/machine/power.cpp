#include "tessera/machine/power.hpp"

#include "tessera/config/key.hpp"

namespace tessera::machine {
namespace {

using config::counted_in;
using config::Key;

constexpr config::Range<double> watts{0, 1e6};

const Key<double> idle_power_key =
    counted_in("W", Key<double>("idle", 0, "of a device at rest", watts));
const Key<double> compute_power_key =
    counted_in("W", Key<double>("compute", 0, "beyond that, while it computes", watts));
const Key<double> memory_power_key =
    counted_in("W", Key<double>("memory", 0, "beyond that, at its memory's peak bandwidth", watts));
const Key<double> link_power_key =
    counted_in("W", Key<double>("link", 0, "beyond that, while it waits for messages", watts));
const Key<double> host_power_key =
    counted_in("W", Key<double>("host", 0, "of the server, the device's part", watts));

}  // namespace

std::optional<Power> read_power(config::Section& machine) {
  if (!machine.has("power")) {
    return std::nullopt;
  }
  config::Section section = machine.section("power");
  Power power;
  power.idle_w = idle_power_key.read(section);
  power.compute_w = compute_power_key.read(section);
  power.memory_w = memory_power_key.read(section);
  power.link_w = link_power_key.read(section);
  power.host_w = host_power_key.read(section);
  section.finish();
  return power;
}

std::vector<ParameterInfo> power_parameters() {
  return {idle_power_key, compute_power_key, memory_power_key, link_power_key, host_power_key};
}

}  // namespace tessera::machine
