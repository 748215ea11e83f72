// How many events requests will raise at each node, roughly: who asks when is not known before.
#pragma once

#include <cstdint>
#include <memory>

#include "tessera/core/sparse_table.hpp"
#include "tessera/executor/serving/serving.hpp"
#include "tessera/sim/platform.hpp"

namespace tessera::sim {

// [nodes] from steps of each tenant that are typical: one with a prompt and one with a token of
// each sequence, of mean lengths, or one with a request's samples, as often as requests need them.
// As many sequences run together as there are clients; where requests come by themselves, four
// (assumed). Operators are shared by all cores of an NPU. A tenant in the background moves as many
// bytes on its busiest NPU as the busiest of others does.
SparseCounts predicted_events(const Platform& platform, const executor::ServingWork& work,
                              const npu::OperatorSource& operators);
// The same where NPUs are tiles: of what each of them goes through.
SparseCounts predicted_events_of_tiles(const Platform& platform, const executor::ServingWork& work);

}  // namespace tessera::sim
