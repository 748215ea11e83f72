#include "tessera/machine/framework.hpp"

#include "tessera/config/key.hpp"
#include "tessera/config/members.hpp"
#include "tessera/core/wide.hpp"

namespace tessera::machine {
namespace {

using config::Member;

const config::Key<Bytes> context_key{"context", Bytes(0), "memory of the driver and the framework"};
const config::Key<Bytes> communicator_key{
    "communicator", Bytes(0), "communication buffers for each group that a device belongs to"};
const config::Key<Bytes> block_key{
    "block", Bytes(0), "unit to which the allocator rounds up its reserved memory; 0: no rounding"};
const config::Key<Fraction> fragmentation_key{
    "fragmentation", Fraction::millionths(0),
    "share of the allocator's reserved memory that no tensor can use"};

const config::ChoiceKey<bool> pools_key{
    "pools",
    {{"shared", false}, {"by_stream", true}},
    "shared",
    "memory pools of the allocator: shared; by_stream: gathered and scattered tensors each have a "
    "pool of their own, which never shrinks"};

const config::Members framework_keys{
    Member{context_key, &Framework::context}, Member{communicator_key, &Framework::communicator},
    Member{block_key, &Framework::block}, Member{fragmentation_key, &Framework::fragmentation},
    Member{pools_key, &Framework::pools_apart}};

constexpr std::uint64_t most_millionths = 900'000;

}  // namespace

Bytes Framework::reserved(Bytes tensors) const {
  const std::uint64_t usable = Fraction::one - fragmentation.millionths();
  const Wide all = (Wide{tensors.count()} * Fraction::one + usable - 1) / usable;
  const auto bytes = static_cast<std::uint64_t>(all);
  const std::uint64_t unit = block.count();
  return Bytes(unit == 0 ? bytes : (bytes + unit - 1) / unit * unit);
}

Framework read_framework(config::Section& machine) {
  Framework framework;
  if (!machine.has("framework")) {
    return framework;
  }
  config::Section section = machine.section("framework");
  framework_keys.read(section, framework);
  if (framework.fragmentation.millionths() > most_millionths) {
    section.error(fragmentation_key.key(), "leaves less than a tenth of memory to tensors");
    framework.fragmentation = Fraction::millionths(0);
  }
  section.finish();
  return framework;
}

std::vector<ParameterInfo> framework_parameters() {
  return framework_keys.parameters();
}

}  // namespace tessera::machine
