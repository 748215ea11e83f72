// Bytes that a run moved, by all ranks together: from and to memories, and over the network. All
// functions are collective.
#pragma once

#include <optional>

#include "run/rank_models.hpp"
#include "tessera/executor/program/executor.hpp"
#include "tessera/sim/work.hpp"

namespace tessera::sim {

// Whose bytes count.
enum class Of { simulated, all };  // tiles; `all`: also those that others stand for

// That memory was asked for, job by job as its work knows beforehand or its executor counted; none:
// of one job neither does.
std::optional<Work::Accessed> bytes_asked_for(const RankModels& models, Of tiles);

// That channels of memories moved, whole bursts where they have such; none: no account is kept.
std::optional<Work::Accessed> bytes_moved(const RankModels& models);

// What the summary says of memories but operands in DRAM: bytes asked for, by all tiles; where
// nobody counts these, bytes moved, those of cores as often as their tile stands for one. None: not
// known.
std::optional<Work::Accessed> bytes_of_memory(const RankModels& models);

// Of operands in DRAM (Work::operand_bytes), known beforehand or found.
Wide bytes_of_operands(const RankModels& models);

// Sent by all tiles, job by job; none: of one job it is not known.
std::optional<executor::SentBytes> bytes_sent(const RankModels& models);

}  // namespace tessera::sim
