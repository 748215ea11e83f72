// The file that a command is asked to write, looked at before the work begins.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tessera/comm/communicator.hpp"

namespace tessera::cli {

// Of another kind of file that the same command writes.
struct OtherOutput {
  bool (*is_it)(std::string_view beginning);
  std::string what;  // "a strategy"
};

// Throws ConfigError when there is a file at `path` whose beginning `is_ours` does not know as that
// of an earlier call of the same command, IoError when none can be written there. Collective.
void check_output(const std::string& path, bool (*is_ours)(std::string_view beginning),
                  const std::string& command, comm::Communicator& world,
                  const std::optional<OtherOutput>& other = std::nullopt);

// Makes the folder that a file at `path` is to be in, where it is not there. Throws IoError.
void make_folder_of(const std::string& path);

}  // namespace tessera::cli
