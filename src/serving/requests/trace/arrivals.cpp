// Arrivals as files say that services and benchmarks have written.
#include "requests/shape.hpp"
#include "requests/trace/file.hpp"

namespace tessera::serving {
namespace {

using config::between;
using config::Section;

const config::OptionalKey<std::uint64_t> first_requests{"count", "all",
                                                        "number of requests, the first ones in "
                                                        "the file",
                                                        between<std::uint64_t>(1, 1'000'000'000)};
const config::Key<double> speed_key{
    "speed", 1, "factor by which times in the file are divided: 2 gives twice the rate",
    between(1e-6, 1e6)};

std::unique_ptr<RequestSource> make_trace(Section& section, const RequestNeeds& needs) {
  refuse_endless(section, needs);
  const auto most = first_requests.read(section);
  const double speed = speed_key.read(section);
  std::unique_ptr<Trace> trace = read_file(section, needs, most.value_or(1'000'000'000));
  if (!trace) {
    return nullptr;
  }
  if (!trace->has_times) {
    section.error(file_key().key(),
                  "the file has no times; take its lengths with other arrivals, e.g. 'poisson'");
    return nullptr;
  }
  for (const std::string& note : trace->notes) {
    trace->requests->add_note(note);
  }
  if (speed != 1) {
    trace->requests->divide_times(speed);
  }
  return std::move(trace->requests);
}

ParameterInfo own_file() {
  ParameterInfo info = file_key();
  info.is_required = true;
  info.default_value.clear();
  info.help = "file of requests with their times, as services and benchmarks write it";
  return info;
}

const Registration trace_arrivals(arrivals(),
                                  {"trace",
                                   "requests from a file, as services and benchmarks write it",
                                   {own_file(), format_key(), characters_key(), first_requests,
                                    speed_key, too_long_key()}},
                                  make_trace);

}  // namespace
}  // namespace tessera::serving
