// What a tenant says beside its model and its requests: batches, targets, drafts, and how replicas
// share work.
#pragma once

#include <cstdint>

#include "tessera/config/document.hpp"
#include "tessera/executor/serving/serving.hpp"

namespace tessera::sim {

// But for sequences, of language models.
serving::BatchOptions read_batching(config::Section section, bool of_language);
executor::Targets read_targets(config::Section section, bool of_language);
// Into the tenant, whose batching has been read; and how many sequences run at a time, with their
// drafts. `expert`: units that share out a step's sequences.
void read_speculation(config::Section section, config::Section& batching,
                      executor::ServiceSettings& tenant, std::uint32_t expert);

// Which replicas come and go; once replicas are known.
void read_scaling(config::Section& section, executor::ServiceSettings& tenant);

// Of a router that has no choice.
void note_router(config::Section& section, const executor::ServiceSettings& tenant);

// These complain. Of a tenant whose keys have been read:
void check_prefill(const executor::ServingWork& work, const executor::ServiceSettings& tenant,
                   config::Section& section);
// Tokens of a request must fit the model, which takes `longest`; what does not fit memory is found
// later.
void check_length(const executor::ServiceSettings& tenant, config::Section& section,
                  std::uint32_t longest);
// Blocks that prompts have in common are whole blocks of the cache.
void check_pieces(const executor::ServiceSettings& tenant, config::Section& section);

}  // namespace tessera::sim
