#include "tessera/explore/calibrate.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <memory>
#include <utility>

#include "calibrate/constants.hpp"
#include "calibrate/least_squares.hpp"
#include "calibrate/measurements.hpp"
#include "tessera/comm/communicator.hpp"
#include "tessera/compute/compute.hpp"
#include "tessera/core/error.hpp"
#include "tessera/core/text.hpp"
#include "tessera/sim/programs/replay.hpp"
#include "tessera/sim/simulation.hpp"
#include "usual_settings.hpp"

namespace tessera::explore {
namespace {

constexpr int digits_of_fit = 9;   // of numbers in trials
constexpr int digits_of_file = 4;  // and in what is written

// What the machine file makes of each measurement, for values of the constants.
class Model {
 public:
  Model(const CalibrationRequest& request, const std::vector<Measurement>& measurements,
        const std::vector<NumberInFile>& numbers, const config::TextLoader& load)
      : request_(request), measurements_(measurements), numbers_(numbers), load_(load) {}

  // Throws ConfigError where a value is none that its key takes.
  std::vector<SimTime> times(const std::vector<std::string>& texts) const {
    std::vector<std::string> settings = request_.overrides;
    for (std::size_t i = 0; i < numbers_.size(); ++i) {
      settings.push_back("machine." + numbers_[i].key + "=" + texts[i]);
    }
    settings.insert(settings.end(), usual_settings.begin(), usual_settings.end());
    std::vector<SimTime> times;
    std::unique_ptr<sim::Experiment> alone;  // for operators
    for (const Measurement& measured : measurements_) {
      try {
        times.push_back(time_of(measured, settings, alone));
      } catch (const ConfigError& error) {
        throw at_its_line(error, measured.place);
      }
    }
    return times;
  }

 private:
  static constexpr const char* inline_name = "(measurement)";

  // What is of no file of the user's is of the line with the measurement.
  static ConfigError at_its_line(const ConfigError& error, const config::Place& place) {
    std::vector<Diagnostic> all = error.diagnostics();
    for (Diagnostic& one : all) {
      if (one.file.empty() || one.file.ends_with(inline_name)) {
        constexpr std::string_view tiles = "workload.tenants[0].tiles: ";
        const std::string message =
            one.message.starts_with(tiles)
                ? "ranks, as tiles from 0 on: " + one.message.substr(tiles.size())
                : one.message;
        one = {place.file, place.line, 1, message};
      }
    }
    return ConfigError(std::move(all));
  }

  SimTime time_of(const Measurement& measured, const std::vector<std::string>& settings,
                  std::unique_ptr<sim::Experiment>& alone) const {
    switch (measured.what) {
      case Measurement::What::operation:
        if (!alone) {
          alone = std::make_unique<sim::Experiment>(inline_experiment(
              "{kind: collective, collective: all-reduce, size: 1 kB}", settings));
        }
        return alone->compute->duration(alone->machine, alone->machine.tile, measured.operation);
      case Measurement::What::collective:
        return time_of(inline_experiment(collective_text(measured), settings), measured);
      case Measurement::What::iteration:
        return time_of(experiment_of(measured, settings), measured);
    }
    throw InternalError("a measurement outside its list");
  }

  static std::string collective_text(const Measurement& measured) {
    return "{kind: tenants, tenants: [{name: measured, tiles: 0-" +
           std::to_string(measured.ranks - 1) +
           ", workload: {kind: collective, collective: " + name_of(measured.collective) +
           ", size: " + std::to_string(measured.size.count()) + " B}}]}";
  }
  static std::string name_of(collective::Kind kind) {
    std::string name = collective::to_string(kind);
    std::replace(name.begin(), name.end(), '_', '-');
    return name;
  }

  sim::Experiment inline_experiment(const std::string& workload,
                                    const std::vector<std::string>& settings) const {
    const std::string around =
        (std::filesystem::path(request_.machine).parent_path() / inline_name).string();
    config::Value name;
    name.kind = config::Value::Kind::scalar;
    name.text = std::filesystem::path(request_.machine).filename().string();
    const std::string text = "name: measurement\nmachine: " + config::to_inline_yaml(name) +
                             "\nworkload: " + workload + "\n";
    return sim::read_experiment(around, settings, [&](const std::string& asked) {
      return asked == around ? text : load_(asked);
    });
  }

  sim::Experiment experiment_of(const Measurement& measured,
                                const std::vector<std::string>& settings) const {
    config::Value path;
    path.kind = config::Value::Kind::scalar;
    path.text = request_.machine;
    std::vector<std::string> all{"machine=" + config::to_inline_yaml(path)};
    all.insert(all.end(), settings.begin(), settings.end());
    return sim::read_experiment(measured.experiment, all, load_);
  }

  static SimTime time_of(sim::Experiment experiment, const Measurement& measured) {
    const std::unique_ptr<comm::Communicator> alone = comm::make_in_process();
    const trace::Summary summary = sim::run_with_replay(experiment, *alone, {});
    if (summary.status != "finished") {
      throw ConfigError({measured.place.file, measured.place.line, 1,
                         measured.title + ": " + summary.status + ": " + summary.message});
    }
    const bool iterates =
        measured.what == Measurement::What::iteration && summary.iteration_time_ps > 0;
    return SimTime::from_ps(iterates ? summary.iteration_time_ps : summary.simulated_time_ps);
  }

  const CalibrationRequest& request_;
  const std::vector<Measurement>& measurements_;
  const std::vector<NumberInFile>& numbers_;
  const config::TextLoader& load_;
};

double seconds(SimTime time) {
  return std::max(1.0, static_cast<double>(time.ps())) * 1e-12;
}

ErrorsOfFit errors_of(const std::vector<Measurement>& measurements,
                      const std::vector<SimTime>& times) {
  ErrorsOfFit errors;
  const auto count = static_cast<double>(times.size());
  for (std::size_t i = 0; i < times.size(); ++i) {
    const double error = seconds(times[i]) / seconds(measurements[i].time) - 1;
    errors.mean_absolute += std::abs(error) / count;
    errors.mean_signed += error / count;
    if (std::abs(error) > std::abs(errors.worst)) {
      errors.worst = error;
      errors.worst_row = i;
    }
  }
  return errors;
}

std::string percent(double share) {
  std::string text = format_number(std::round(1000 * share) / 10);
  return text + " %";
}

std::string side_of(Bound bound) {
  switch (bound) {
    case Bound::none:
      return "";
    case Bound::lower:
      return "lower";
    case Bound::upper:
      return "upper";
  }
  throw InternalError("a bound outside its list");
}

// How well the times tell it.
std::string told_of(const Constant& constant) {
  if (!constant.bound.empty()) {
    return ", at its " + constant.bound + " bound";
  }
  return std::isfinite(constant.standard_error)
             ? ", standard error " + percent(constant.standard_error)
             : ", not told apart from others by these times";
}

class Calibrator {
 public:
  Calibrator(const CalibrationRequest& request, const config::TextLoader& load)
      : request_(request), load_(load) {}

  Calibration run() {
    read();
    const Model model(request_, measurements_, numbers_, load_);
    const std::vector<SimTime> before = model.times(texts_of_file());
    find_whole_numbers();
    // Unknowns are logarithms: constants are above 0, and errors are shares.
    std::vector<double> start;
    FitOptions options;
    for (const NumberInFile& number : numbers_) {
      start.push_back(std::log(number.value));
      constexpr double span = 0.01;
      options.spans.push_back(number.is_whole ? std::max(span, std::log1p(1 / number.value))
                                              : span);
    }
    const LeastSquares found =
        fit([&](const std::vector<double>& unknowns) { return residuals(model, unknowns); }, start,
            options);
    return report(model, found, before);
  }

 private:
  void read() {
    config::Diagnostics diagnostics;
    machine_text_ = config::load_named(request_.machine, load_);
    numbers_ = find_numbers(request_.machine, machine_text_, request_.constants, diagnostics);
    for (const std::string& path : request_.data) {
      const std::vector<Measurement> more =
          read_measurements(path, config::load_named(path, load_), diagnostics);
      measurements_.insert(measurements_.end(), more.begin(), more.end());
    }
    diagnostics.throw_if_any();
    if (measurements_.size() < numbers_.size()) {
      throw ConfigError(std::to_string(measurements_.size()) + " measurements cannot tell " +
                        std::to_string(numbers_.size()) + " constants");
    }
  }

  std::vector<std::string> texts_of(const std::vector<double>& values, int digits) const {
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < numbers_.size(); ++i) {
      texts.push_back(numbers_[i].text_of(values[i], digits));
    }
    return texts;
  }

  std::vector<std::string> texts_of_file() const {
    std::vector<double> values;
    for (const NumberInFile& number : numbers_) {
      values.push_back(number.value);
    }
    return texts_of(values, digits_of_fit);
  }

  // Keys that take no fractions say so of one.
  void find_whole_numbers() {
    const std::vector<std::string> texts = texts_of_file();
    std::vector<Measurement> first{measurements_.front()};
    first.front().what = Measurement::What::operation;
    const Model small(request_, first, numbers_, load_);
    for (std::size_t i = 0; i < numbers_.size(); ++i) {
      if (!numbers_[i].unit.empty() || numbers_[i].value != std::floor(numbers_[i].value)) {
        continue;
      }
      std::vector<std::string> trial = texts;
      trial[i] = numbers_[i].text_of(numbers_[i].value - 0.5, digits_of_fit);
      try {
        small.times(trial);
      } catch (const ConfigError&) {
        numbers_[i].is_whole = true;
      }
    }
  }

  std::vector<double> residuals(const Model& model, const std::vector<double>& unknowns) const {
    std::vector<double> values;
    for (const double unknown : unknowns) {
      values.push_back(std::exp(unknown));
      if (!std::isfinite(values.back()) || values.back() == 0) {
        return {};
      }
    }
    std::vector<double> found;
    try {
      const std::vector<SimTime> times = model.times(texts_of(values, digits_of_fit));
      for (std::size_t i = 0; i < times.size(); ++i) {
        found.push_back(std::log(seconds(times[i]) / seconds(measurements_[i].time)));
      }
    } catch (const ConfigError&) {
      return {};
    }
    return found;
  }

  Calibration report(const Model& model, const LeastSquares& found,
                     const std::vector<SimTime>& before) const {
    const Identification known = identify(found);
    std::vector<double> values;
    for (std::size_t i = 0; i < numbers_.size(); ++i) {
      const bool stays = std::find(known.without_effect.begin(), known.without_effect.end(), i) !=
                         known.without_effect.end();
      values.push_back(stays ? numbers_[i].value : std::exp(found.unknowns[i]));
    }
    const std::vector<std::string> texts = texts_of(values, digits_of_file);
    const std::vector<SimTime> after = model.times(texts);
    Calibration calibration;
    for (std::size_t i = 0; i < numbers_.size(); ++i) {
      const bool has_effect = std::find(known.without_effect.begin(), known.without_effect.end(),
                                        i) == known.without_effect.end();
      calibration.constants.push_back({numbers_[i].key, text_in_file(numbers_[i]), texts[i],
                                       has_effect, side_of(found.bounds[i]),
                                       known.standard_errors[i]});
    }
    for (std::size_t i = 0; i < measurements_.size(); ++i) {
      calibration.rows.push_back(
          {measurements_[i].place.file + ":" + std::to_string(measurements_[i].place.line),
           measurements_[i].title, measurements_[i].time, before[i], after[i]});
    }
    calibration.before = errors_of(measurements_, before);
    calibration.after = errors_of(measurements_, after);
    for (const Dependence& dependence : known.dependences) {
      calibration.confusions.push_back(
          {dependence.condition_index, dependence.unknowns, dependence.direction});
    }
    calibration.largest_condition_index = known.largest_condition_index;
    calibration.steps = found.steps;
    calibration.machine_text = new_text(calibration);
    return calibration;
  }

  std::string text_in_file(const NumberInFile& number) const {
    std::size_t begin = 0;
    for (int line = 1; line < number.place.line; ++line) {
      begin = machine_text_.find('\n', begin) + 1;
    }
    return machine_text_.substr(begin + static_cast<std::size_t>(number.place.column) - 1,
                                number.length);
  }

  std::string new_text(const Calibration& calibration) const {
    std::vector<NumberInFile> numbers;
    std::vector<std::string> texts;
    std::vector<std::string> comments;
    const std::string source = "fitted: tessera calibrate, " + join(request_.data) + " (" +
                               std::to_string(measurements_.size()) + " times, mean error " +
                               percent(calibration.after.mean_absolute) + ")";
    for (std::size_t i = 0; i < numbers_.size(); ++i) {
      const Constant& constant = calibration.constants[i];
      if (!constant.has_effect) {
        continue;  // nothing was fitted
      }
      numbers.push_back(numbers_[i]);
      texts.push_back(constant.after);
      comments.push_back(source + told_of(constant) + ", was " + constant.before);
    }
    return with_numbers(machine_text_, numbers, texts, comments);
  }

  const CalibrationRequest& request_;
  const config::TextLoader& load_;
  std::string machine_text_;
  std::vector<NumberInFile> numbers_;
  std::vector<Measurement> measurements_;
};

}  // namespace

Calibration calibrate(const CalibrationRequest& request, const config::TextLoader& load) {
  return Calibrator(request, load).run();
}

}  // namespace tessera::explore
