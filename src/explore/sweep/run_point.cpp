#include <algorithm>
#include <chrono>
#include <new>
#include <optional>

#include "refusal.hpp"
#include "sweep/columns.hpp"
#include "tessera/core/error.hpp"
#include "tessera/explore/sweep.hpp"
#include "tessera/sim/programs/replay.hpp"
#include "tessera/sim/simulation.hpp"
#include "usual_settings.hpp"

namespace tessera::explore {
namespace {

using WallClock = std::chrono::steady_clock;

class PointRun {
 public:
  PointRun(const Sweep& sweep, const config::TextLoader& load,
           const std::function<bool()>& stop_requested)
      : sweep_(sweep), load_(load), stop_requested_(stop_requested) {}

  std::optional<SweepRow> run(PointNumber point) {
    const std::vector<std::size_t> places = sweep_.axes.places(point);
    row_.point = point;
    row_.places.assign(places.begin(), places.end());
    row_.numbers.resize(sweep_.columns.size());
    try {
      simulate(places);
    } catch (const ConfigError& error) {
      fail("refused", messages_of(error));
    } catch (const IoError&) {
      throw;  // not the point's fault
    } catch (const Error& error) {
      fail("failed", error.what());
    } catch (const std::bad_alloc&) {
      fail("failed", "out of memory");
    }
    return stopped_ ? std::nullopt : std::optional(std::move(row_));
  }

 private:
  void simulate(const std::vector<std::size_t>& places) {
    std::vector<std::string> settings = sweep_.overrides;
    const std::vector<std::string> own = sweep_.axes.overrides(places);
    settings.insert(settings.end(), own.begin(), own.end());
    settings.insert(settings.end(), usual_settings.begin(), usual_settings.end());
    sim::Experiment experiment = sim::read_experiment(sweep_.experiment, settings, load_);
    const std::unique_ptr<comm::Communicator> alone = comm::make_in_process();
    sim::RunRequest request;
    const WallClock::time_point start = WallClock::now();
    bool too_long = false;
    request.hooks.stop_requested = [&] {
      stopped_ = stopped_ || (stop_requested_ && stop_requested_());
      const std::chrono::duration<double> spent = WallClock::now() - start;
      too_long = sweep_.wall_limit_s > 0 && spent.count() > sweep_.wall_limit_s;
      return stopped_ || too_long;
    };
    const trace::Summary summary = sim::run_with_replay(experiment, *alone, request);
    // A stop that came with the last events changed nothing.
    stopped_ = stopped_ && summary.status == "stopped";
    if (summary.status == "finished") {
      row_.status = summary.status;
      row_.digest = summary.result_digest;
      row_.notes = summary.notes;
      report(numbers_of_point(experiment, summary));
    } else if (summary.status == "stopped") {
      fail("limit", "not done after the wall time of limit.wall");
    } else {
      fail(summary.status, summary.message);
    }
  }

  void report(const std::map<std::string, std::string>& numbers) {
    for (std::size_t column = 0; column < sweep_.columns.size(); ++column) {
      const auto found = numbers.find(sweep_.columns[column]);
      row_.numbers[column] = found == numbers.end() ? "" : found->second;
    }
  }

  void fail(const std::string& status, std::string message) {
    std::replace(message.begin(), message.end(), '\n', ' ');
    row_.status = status;
    row_.message = std::move(message);
  }

  const Sweep& sweep_;
  const config::TextLoader& load_;
  const std::function<bool()>& stop_requested_;
  SweepRow row_;
  bool stopped_ = false;
};

}  // namespace

std::optional<SweepRow> run_point(const Sweep& sweep, PointNumber point,
                                  const config::TextLoader& load,
                                  const std::function<bool()>& stop_requested) {
  return PointRun(sweep, load, stop_requested).run(point);
}

SweepTable empty_table(const Sweep& sweep) {
  SweepTable table;
  table.name = sweep.name;
  table.experiment = sweep.experiment;
  table.objective = sweep.objective;
  for (std::size_t axis = 0; axis < sweep.axes.list().size(); ++axis) {
    for (const AxisKey& key : sweep.axes.list()[axis].keys) {
      SweepKey column{key.key, static_cast<std::uint32_t>(axis), {}};
      for (const config::Value& value : key.values) {
        column.values.push_back(
            value.kind == config::Value::Kind::scalar ? value.text : config::to_inline_yaml(value));
      }
      table.keys.push_back(std::move(column));
    }
  }
  for (const std::string& name : sweep.columns) {
    table.columns.push_back(describe_column(name));
  }
  return table;
}

}  // namespace tessera::explore
