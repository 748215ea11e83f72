#include <cmath>
#include <fstream>
#include <iostream>
#include <limits>
#include <sstream>

#include "output_file.hpp"
#include "tessera/cli/commands.hpp"
#include "tessera/cli/options.hpp"
#include "tessera/core/error.hpp"
#include "tessera/core/text.hpp"
#include "tessera/core/version.hpp"
#include "tessera/explore/calibrate.hpp"
#include "tessera/trace/json_text.hpp"

namespace tessera::cli {
namespace {

constexpr std::string_view first_words = "# Calibrated by tessera ";

Options calibrate_options() {
  Options options("calibrate",
                  "Fit constants of a machine file to measured times of operators, collectives "
                  "or iterations. Reports the remaining error and which constants the times "
                  "cannot distinguish, and writes a new machine file.",
                  "machine", "MACHINE.yaml");
  options
      .add("data",
           "measured times: columns operator, shape, time; or collective, size, ranks, time; or "
           "experiment, time (repeatable)",
           texts_value(), "FILE.csv")
      .add("fit", "key of the machine file to fit (repeatable)", texts_value(), "KEY")
      .add("o,output", "machine file to write", text_value(), "FILE.yaml")
      .add("rows", "also print every time")
      .add("json", "print one JSON object");
  options.add_settings("set a key in all runs: machine.key=value (repeatable)");
  return options;
}

std::string signed_percent(double share) {
  std::ostringstream stream;
  stream.precision(1);
  stream << std::fixed << std::showpos << 100 * share << " %";
  return stream.str();
}

std::string percent_of(double share) {
  return signed_percent(share).substr(1);
}

std::string error_of(const explore::Constant& constant) {
  if (!constant.has_effect) {
    return "no effect";
  }
  if (!constant.bound.empty()) {
    return "at its " + constant.bound + " bound";
  }
  return std::isfinite(constant.standard_error) ? percent_of(constant.standard_error) : "not told";
}

std::string errors_line(const explore::Calibration& calibration,
                        const explore::ErrorsOfFit& errors) {
  const explore::FittedRow& row = calibration.rows[errors.worst_row];
  return "mean " + percent_of(errors.mean_absolute) + ", signed " +
         signed_percent(errors.mean_signed) + ", worst " + signed_percent(errors.worst) + " (" +
         row.place + ": " + row.what + ")\n";
}

std::string confusion_line(const explore::Calibration& calibration,
                           const explore::Confusion& confusion) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < confusion.constants.size(); ++i) {
    std::ostringstream power;
    power.precision(2);
    power << std::fixed << confusion.powers[i];
    parts.push_back(calibration.constants[confusion.constants[i]].key + " (" + power.str() + ")");
  }
  return "not told apart: " + join(parts, " and ") + "; condition index " +
         (confusion.condition_index < 1e5 ? format_number(std::round(confusion.condition_index))
                                          : "above 10^5") +
         "\n";
}

void print_text(const explore::Calibration& calibration, bool rows) {
  TextTable constants({"constant", "before", "after", "standard error"});
  for (const explore::Constant& each : calibration.constants) {
    constants.add({each.key, each.before, each.after, error_of(each)});
  }
  std::cout << constants.to_string() << "\n";
  if (rows) {
    TextTable table({"where", "what", "measured", "before", "after", "error"});
    for (const explore::FittedRow& row : calibration.rows) {
      table.add(
          {row.place, row.what, to_string(row.measured), to_string(row.before),
           to_string(row.after),
           signed_percent(
               static_cast<double>(row.after.ps()) / static_cast<double>(row.measured.ps()) - 1)});
    }
    std::cout << table.to_string() << "\n";
  }
  std::cout << calibration.rows.size() << " times, " << calibration.steps << " steps\n"
            << "error before: " << errors_line(calibration, calibration.before)
            << "error after:  " << errors_line(calibration, calibration.after);
  for (const explore::Confusion& each : calibration.confusions) {
    std::cout << confusion_line(calibration, each);
  }
  if (!calibration.confusions.empty()) {
    std::cout
        << "Numbers behind them: powers with which they move together while times stay. Measure "
           "what feels one of them alone, or leave one out of the fit.\n";
  }
  std::cout << std::flush;
}

trace::JsonText json_of(const explore::Calibration& calibration,
                        const explore::ErrorsOfFit& errors) {
  return trace::JsonText::object()
      .put("mean_absolute", errors.mean_absolute)
      .put("mean_signed", errors.mean_signed)
      .put("worst", errors.worst)
      .put("worst_row", calibration.rows[errors.worst_row].place);
}

void print_json(const explore::Calibration& calibration) {
  trace::JsonText constants = trace::JsonText::list();
  for (const explore::Constant& each : calibration.constants) {
    constants.add(trace::JsonText::object()
                      .put("key", each.key)
                      .put("before", each.before)
                      .put("after", each.after)
                      .put("has_effect", each.has_effect)
                      .put("at_bound", each.bound.empty() ? trace::JsonText::null()
                                                          : trace::JsonText(each.bound))
                      .put("standard_error", each.standard_error));
  }
  trace::JsonText rows = trace::JsonText::list();
  for (const explore::FittedRow& row : calibration.rows) {
    rows.add(trace::JsonText::object()
                 .put("place", row.place)
                 .put("what", row.what)
                 .put("measured_ps", row.measured.ps())
                 .put("before_ps", row.before.ps())
                 .put("after_ps", row.after.ps()));
  }
  trace::JsonText confusions = trace::JsonText::list();
  for (const explore::Confusion& each : calibration.confusions) {
    trace::JsonText keys = trace::JsonText::list();
    trace::JsonText powers = trace::JsonText::list();
    for (std::size_t i = 0; i < each.constants.size(); ++i) {
      keys.add(calibration.constants[each.constants[i]].key);
      powers.add(each.powers[i]);
    }
    confusions.add(trace::JsonText::object()
                       .put("constants", keys)
                       .put("powers", powers)
                       .put("condition_index", each.condition_index));
  }
  std::cout << trace::JsonText::object()
                   .put("file_type", "tessera-calibration")
                   .put("format_version", "1.0")
                   .put("constants", constants)
                   .put("error_before", json_of(calibration, calibration.before))
                   .put("error_after", json_of(calibration, calibration.after))
                   .put("largest_condition_index", calibration.largest_condition_index)
                   .put("not_told_apart", confusions)
                   .put("rows", rows)
                   .put("versions", trace::JsonText::object()
                                        .put("tessera", std::string(version()))
                                        .put("git", std::string(git_hash())))
                   .to_string()
            << std::flush;
}

void write(const std::string& path, const std::string& machine, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << first_words << version() << " from " << machine << ": see the comments beside numbers.\n"
       << text;
  if (!file.flush()) {
    throw IoError(path + ": error: cannot write the file");
  }
}

int calibrate_command(const Words& words, comm::Communicator& world) {
  Options options = calibrate_options();
  if (!options.parse(words, world)) {
    return 0;
  }
  explore::CalibrationRequest request;
  request.machine = options.subject();
  request.data = options.texts("data");
  request.constants = options.texts("fit");
  request.overrides = options.settings();
  if (request.data.empty()) {
    throw ConfigError("--data: no file of measured times");
  }
  if (request.constants.empty()) {
    throw ConfigError("--fit: no key of the machine file to fit");
  }
  for (std::size_t i = 1; i < request.constants.size(); ++i) {
    const auto before = request.constants.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::find(request.constants.begin(), before, *before) != before) {
      throw ConfigError("--fit " + *before + ": asked for twice");
    }
  }
  if (options.has("output")) {
    check_output(
        options.text("output"),
        [](std::string_view beginning) { return beginning.starts_with(first_words); }, "calibrate",
        world);
  }
  const config::TextLoader load = shared_loader(world);
  // Every rank fits, and finds the same: there is little to share out.
  const explore::Calibration calibration = explore::calibrate(request, load);
  if (world.rank() != 0) {
    return 0;
  }
  if (options.has("output")) {
    write(options.text("output"), request.machine, calibration.machine_text);
  }
  if (options.flag("json")) {
    print_json(calibration);
  } else {
    print_text(calibration, options.flag("rows"));
  }
  return 0;
}

const Registration calibrate_registration(
    commands(), {"calibrate", "fit constants of a machine file to measured times", {}},
    Command{"calibrate MACHINE.yaml [options]", calibrate_command});

}  // namespace
}  // namespace tessera::cli
