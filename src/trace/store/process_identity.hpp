// Which process this is, so that another one can tell later whether it is still there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tessera/trace/store/json.hpp"

namespace tessera::trace {

struct ProcessIdentity {
  std::string user;
  std::string host;
  std::string machine;     // of /etc/machine-id; empty: has none
  std::string boot;        // changes when the host starts again
  std::string namespace_;  // in which `pid` counts
  std::int64_t pid = 0;
  std::uint64_t started = 0;  // of the process, in ticks since the host started; 0: not known
  std::string since;          // "2026-11-25 16:30:01 UTC": when this was made
};

ProcessIdentity own_identity();

Json to_json(const ProcessIdentity& identity);
// None where the text is not what to_json gives.
std::optional<ProcessIdentity> identity_from(const std::string& text);

// What can be said from this process of one that described itself, here or elsewhere.
enum class Presence { runs, gone, unknown };
Presence presence_of(const ProcessIdentity& other);

}  // namespace tessera::trace
