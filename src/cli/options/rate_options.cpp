#include "options/rate_options.hpp"

#include <iostream>
#include <string>

#include "tessera/core/error.hpp"

namespace tessera::cli {
namespace {

double share_of(const Options& options, const std::string& name, double least, double most) {
  const double value = options.value<double>(name).value_or(least);
  if (!(value >= least && value <= most)) {
    throw ConfigError("--" + name + ": expected a number from " + std::to_string(least) + " to " +
                      std::to_string(most));
  }
  return value;
}

}  // namespace

void add_rate_options(Options& options, const std::string& suffix) {
  options
      .add("rate", "key of the rate; its value in the experiment is tried first" + suffix,
           text_value("workload.tenants.0.requests.rate"), "KEY")
      .add("share", "share of a service's requests that must meet all targets" + suffix,
           text_value("0.9"), "S")
      .add("within",
           "tolerance: rates that exceed the one found by up to this share may still meet the "
           "targets" +
               suffix,
           text_value("0.02"), "S");
}

explore::CapacityRequest rate_request(const Options& options, const SignalWatch& signals) {
  explore::CapacityRequest request;
  request.experiment = options.subject();
  request.overrides = options.settings();
  request.key = options.text("rate");
  request.share = share_of(options, "share", 0.001, 1);
  request.within = share_of(options, "within", 0.0001, 1);
  watch(request, options, signals);
  return request;
}

void watch(explore::CapacityRequest& request, const Options& options, const SignalWatch& signals) {
  request.stop_requested = [&signals] { return signals.stop_requested(); };
  if (!options.flag("quiet")) {
    request.on_note = [](const std::string& text) { std::cerr << "info: " << text << std::endl; };
  }
}

}  // namespace tessera::cli
