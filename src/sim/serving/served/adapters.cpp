#include "serving/served/adapters.hpp"

#include <algorithm>

#include "tessera/config/key.hpp"

namespace tessera::sim {
namespace {

using config::Section;

struct AdapterKeys {
  config::RequiredKey<std::uint32_t> count{"adapters.count",
                                           "low-rank adapters of a language model on tiles; each "
                                           "request uses at most one",
                                           config::between(1U, serving::most_adapters)};
  config::RequiredKey<std::uint32_t> rank{"adapters.rank", "rank of all adapters",
                                          config::between(1U, 4096U)};
  config::DerivedKey<std::uint32_t> loaded{
      "adapters.loaded", "count",
      "adapters in an NPU's memory at a time, besides the weights; others are fetched when "
      "needed from the memory behind it (machine.remote_memory, nodes of kind memory, or "
      "machine.host); without such a memory all must be loaded, and are from the beginning",
      config::between(1U, serving::most_adapters)};
  config::Key<double> share{"adapters.share", serving::AdapterDraw{}.share,
                            "fraction of the requests stating no adapter that use one, each with "
                            "equal probability",
                            config::between(0.0, 1.0)};
};

const AdapterKeys& adapter_keys() {
  static const AdapterKeys keys;
  return keys;
}

}  // namespace

std::vector<ParameterInfo> adapter_parameters() {
  const AdapterKeys& keys = adapter_keys();
  return {keys.count, keys.rank, keys.loaded, keys.share};
}

ServedAdapters read_adapters(Section& tenant, bool of_language, const executor::ServingWork& work) {
  if (!tenant.has("adapters")) {
    return {};
  }
  Section section = tenant.section("adapters");
  const AdapterKeys& keys = adapter_keys();
  ServedAdapters adapters;
  adapters.draw.count = std::max(1U, keys.count.read(section));
  adapters.rank = std::max(1U, keys.rank.read(section));
  adapters.loaded = keys.loaded.read(section, adapters.draw.count);
  if (adapters.loaded > adapters.draw.count) {
    section.error("loaded",
                  "more than there are (count: " + std::to_string(adapters.draw.count) + ")");
  }
  adapters.draw.share = keys.share.read(section);
  if (!of_language || !work.on_tiles) {
    tenant.error(
        "adapters",
        "are of language models on tiles of other compute models than npu, and on NPU cores "
        "with 'steps: whole'");
  }
  return adapters;
}

}  // namespace tessera::sim
