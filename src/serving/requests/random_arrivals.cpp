// Arrivals at random times: independent of each other, in bursts, and by the time of day.
#include <cmath>
#include <utility>

#include "requests/rounded_time.hpp"
#include "requests/shape.hpp"
#include "requests/timed.hpp"
#include "tessera/core/portable_math.hpp"

namespace tessera::serving {
namespace {

using config::between;
using config::Key;
using config::Section;
using Made = std::unique_ptr<RequestSource>;

// None: after the longest run.
std::optional<SimTime> time_of(double seconds) {
  if (seconds > longest_run) {
    return std::nullopt;
  }
  return SimTime::from_ps(static_cast<std::int64_t>(seconds * 1e12));
}

// Requests at the times of a process, whose mean distance follows from `rate`.
template <class Times>
Made made_of(Section& section, RequestShape shape, std::uint64_t count, const Times& times) {
  Made made = TimedRequests<Times>::make(std::move(shape), count, times, true);
  if (!made) {
    section.error("rate", "the last request arrives after more than 9 * 10^6 s");
  }
  return made;
}

struct PoissonTimes {
  std::uint64_t seed = 0;
  double rate = 0;
  std::uint64_t number = 0;
  double time = 0;  // [s]

  std::optional<SimTime> next() {
    time += random_of(seed, number++, Draw::interval).next_exponential(1 / rate);
    return time_of(time);
  }
};

Made make_poisson(Section& section, const RequestNeeds& needs) {
  refuse_endless(section, needs);
  RequestShape shape = read_shape(section, needs);
  const std::uint64_t count = count_key().read(section);
  const double rate = rate_key().read(section);
  if (!(rate > 0)) {
    return nullptr;
  }
  return made_of(section, std::move(shape), count, PoissonTimes{needs.seed, rate});
}

// Of the normal distribution (G. Marsaglia, T. A. Bray, SIAM Review 6(3), 1964: polar method).
double next_normal(RandomStream& stream) {
  while (true) {
    const double x = 2 * stream.next_uniform() - 1;
    const double y = 2 * stream.next_uniform() - 1;
    const double square = x * x + y * y;
    if (square < 1 && square > 0x1.0p-1000) {
      return x * std::sqrt(-2 * portable_log(square) / square);
    }
  }
}

// Of the gamma distribution with this shape and mean `shape` (G. Marsaglia, W. W. Tsang, "A simple
// method for generating gamma variables", ACM TOMS 26(3), 2000; below 1 by their section 6).
double next_gamma(RandomStream& stream, double shape) {
  if (shape < 1) {
    const double larger = next_gamma(stream, shape + 1);
    return larger * portable_exp(-stream.next_exponential(1) / shape);
  }
  const double d = shape - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = next_normal(stream);
    const double root = 1 + c * x;
    if (root <= 0x1.0p-300) {
      continue;
    }
    const double v = root * root * root;
    if (-stream.next_exponential(1) < 0.5 * x * x + d - d * v + d * portable_log(v)) {
      return d * v;
    }
  }
}

const Key<double> variation{"variation", 2,
                            "standard deviation of the gaps between requests, relative to their "
                            "mean; 1: as poisson; more: bursts",
                            between(0.05, 20.0)};

// Gaps of a gamma distribution of shape 1 / variation^2, as of BurstGPT's measured services
// (Y. Wang et al., arXiv:2401.17644, section 4).
struct GammaTimes {
  double form = 0;
  double rate = 0;
  RandomStream gaps;
  double time = 0;  // [s]

  std::optional<SimTime> next() {
    time += next_gamma(gaps, form) / (form * rate);
    return time_of(time);
  }
};

Made make_gamma(Section& section, const RequestNeeds& needs) {
  refuse_endless(section, needs);
  RequestShape shape = read_shape(section, needs);
  const std::uint64_t count = count_key().read(section);
  const double rate = rate_key().read(section);
  const double varies = variation.read(section);
  if (!(rate > 0) || !(varies > 0)) {
    return nullptr;
  }
  return made_of(section, std::move(shape), count,
                 GammaTimes{1 / (varies * varies), rate, random_of(needs.seed, 0, Draw::interval)});
}

constexpr SimTime least_period = SimTime::from_ps(1'000'000);
constexpr SimTime most_period = SimTime::from_ps(9'000'000'000'000'000'000);
const Key<SimTime> period{"period", SimTime::from_ps(86'400'000'000'000'000),
                          "length of a day, after which the rate repeats",
                          between(least_period, most_period)};
const Key<double> swing{
    "swing", 0.5,
    "amplitude of the rate, as a fraction of its mean: lowest at the beginning, highest half a "
    "period later",
    between(0.0, 1.0)};

// A Poisson process of changing rate by thinning (P. A. W. Lewis, G. S. Shedler, Naval Research
// Logistics 26(3), 1979).
struct DiurnalTimes {
  double rate = 0;
  double day = 0;  // [s]
  double swings = 0;
  RandomStream gaps;
  RandomStream kept;
  double time = 0;  // [s]

  std::optional<SimTime> next() {
    const double most = rate * (1 + swings);
    while (true) {
      time += gaps.next_exponential(1 / most);
      const double now = rate * (1 - swings * portable_cosine_of_turns(time / day));
      if (kept.next_uniform() * most < now) {
        return time_of(time);
      }
    }
  }
};

Made make_diurnal(Section& section, const RequestNeeds& needs) {
  refuse_endless(section, needs);
  RequestShape shape = read_shape(section, needs);
  const std::uint64_t count = count_key().read(section);
  const double rate = rate_key().read(section);
  const double day = read_rounded(section, period, most_period, least_period).seconds();
  const double swings = swing.read(section);
  if (!(rate > 0) || !(day > 0)) {
    return nullptr;
  }
  return made_of(section, std::move(shape), count,
                 DiurnalTimes{rate, day, swings, random_of(needs.seed, 0, Draw::interval),
                              random_of(needs.seed, 0, Draw::thinning)});
}

const Registration poisson(arrivals(),
                           {"poisson", "requests that arrive independently of each other",
                            with_shape({count_key(), rate_key()})},
                           make_poisson);
const Registration gamma_arrivals(arrivals(),
                                  {"gamma", "requests that arrive in bursts",
                                   with_shape({count_key(), rate_key(), variation})},
                                  make_gamma);
const Registration diurnal(
    arrivals(),
    {"diurnal",
     "requests that arrive independently of each other, at a rate that varies with the time of day",
     with_shape({count_key(), rate_key(), period, swing})},
    make_diurnal);

}  // namespace
}  // namespace tessera::serving
