// How a library runs a collective among nodes of the machine.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "tessera/collective/library.hpp"
#include "tessera/machine/machine.hpp"
#include "tessera/machine/routing/routing.hpp"

namespace tessera::sim {

// By the links between members, in their order: in a server those from one to the next, and between
// a server and the next one those of all its members at once, where they share links. What other
// groups send over the same links is not known. Nothing for a kind without a model. What is given
// must not outlive the machine.
using LibraryOfGroups = std::function<std::optional<collective::LibraryChoice>(
    collective::Kind, const std::vector<EntityId>& nodes, Bytes bytes)>;
LibraryOfGroups library_of_groups(const collective::LibrarySettings& settings,
                                  const machine::Machine& machine,
                                  std::shared_ptr<const machine::Routing> routing);

}  // namespace tessera::sim
