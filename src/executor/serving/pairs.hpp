// Who sends to whom in the steps of a served model, from what its layers exchange.
#pragma once

#include <cstdint>
#include <functional>

#include "serving/walks.hpp"

namespace tessera::executor {

// Units that exchange data with each other in a part of a step.
serving::Exchange exchange_of(const ServiceSettings& tenant, const serving::WalkPart& part);

// All walks that a unit may have, by what is in a step.
void visit_walks(const ServiceSettings& tenant, std::uint32_t unit,
                 const std::function<void(const serving::Walk&)>& visit);

// Units that one sends to in these walks, perhaps more than once, and itself among those that it
// exchanges with; whether it hands on to it.
void visit_receivers(const ServiceSettings& tenant, std::uint32_t unit,
                     const std::function<void(std::uint32_t to, bool hands_on)>& visit);

}  // namespace tessera::executor
