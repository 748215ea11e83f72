// A machine file's constants from measurements of the user's own.
//
// Constants are keys of the machine file with a number, such as compute.matrix_efficiency. They are
// fitted together, by least squares of the relative error, to times of single operators, single
// collectives, and iterations of experiments (src/explore/calibrate/least_squares.hpp says how).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tessera/config/document.hpp"
#include "tessera/core/time.hpp"

namespace tessera::explore {

struct CalibrationRequest {
  std::string machine;                 // a machine file
  std::vector<std::string> data;       // CSV files, see docs/how-to/calibrate-a-machine.md
  std::vector<std::string> constants;  // keys of the machine file
  std::vector<std::string> overrides;  // "machine.key=value", of all runs
};

struct Constant {
  std::string key;
  std::string before;  // as files have it, with its unit
  std::string after;
  bool has_effect = true;
  // "lower" or "upper": it went as far as it may, or as times feel it, and would go on.
  std::string bound;
  double standard_error = 0;  // relative; infinite: the measurements do not tell
};

struct ErrorsOfFit {
  double mean_absolute = 0;  // relative
  double mean_signed = 0;
  double worst = 0;
  std::size_t worst_row = 0;
};

struct FittedRow {
  std::string place;  // file:line
  std::string what;   // "product 512x4096x4096"
  SimTime measured;
  SimTime before;
  SimTime after;
};

// Constants that can be changed together with next to no other times.
struct Confusion {
  double condition_index = 0;
  std::vector<std::size_t> constants;
  std::vector<double> powers;  // each goes with this power of the one that has 1
};

struct Calibration {
  std::vector<Constant> constants;
  std::vector<FittedRow> rows;
  ErrorsOfFit before;
  ErrorsOfFit after;
  std::vector<Confusion> confusions;
  double largest_condition_index = 1;
  std::size_t steps = 0;
  std::string machine_text;  // the file with the constants, the source beside each
};

// Throws ConfigError for input at fault, with file, line and column where it is a file's.
Calibration calibrate(const CalibrationRequest& request, const config::TextLoader& load);

}  // namespace tessera::explore
