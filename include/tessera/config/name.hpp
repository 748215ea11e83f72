// What users may call things.
#pragma once

#include <string>
#include <string_view>

#include "tessera/config/document.hpp"

namespace tessera::config {

// The one rule for names of experiments, sweeps, machines, work, tenants and operators: they become
// names of folders, columns of tables and lines on a terminal. A name has 1 to 200 bytes without
// control characters and without a slash, and begins with no dot and no space. Gives what is wrong
// with `name`, or "".
std::string objection_to_name(std::string_view name);

// `name`, which was read by `key` or is its default, and complained about there where it is none.
std::string checked_name(Section& section, std::string_view key, std::string name);

// Where in `text`, which is UTF-8, a control character begins (C0, DEL or C1 of Unicode, with tabs
// and line feeds); npos: nowhere. A terminal obeys them.
std::size_t find_control(std::string_view text);

}  // namespace tessera::config
