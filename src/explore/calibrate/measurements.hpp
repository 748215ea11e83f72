// What a user has measured, from CSV files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/collective/kind.hpp"
#include "tessera/config/document.hpp"
#include "tessera/core/units.hpp"
#include "tessera/workload/operation.hpp"

namespace tessera::explore {

struct Measurement {
  enum class What : std::uint8_t { operation, collective, iteration };

  What what = What::operation;
  config::Place place;
  std::string title;
  workload::Operation operation;
  collective::Kind collective = collective::Kind::all_reduce;
  Bytes size;
  std::uint32_t ranks = 0;
  std::string experiment;  // a path
  SimTime time;
};

// The first line names the columns and so says what was measured: `operator, shape, time` with
// `type`; `collective, size, ranks, time`; or `experiment, time`. `note` may stand in each. Lines
// that begin with # are skipped. Adds to `diagnostics` what is wrong.
std::vector<Measurement> read_measurements(const std::string& path, const std::string& text,
                                           config::Diagnostics& diagnostics);

}  // namespace tessera::explore
