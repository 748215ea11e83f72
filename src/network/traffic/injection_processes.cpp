// When messages of synthetic traffic are sent.
#include <cmath>

#include "tessera/config/key.hpp"
#include "tessera/network/traffic/traffic.hpp"

namespace tessera::network {
namespace {

// Trials that fail before one succeeds: P(n) = (1 - p)^n p, as the whole part of an exponential.
class Trials {
 public:
  explicit Trials(double probability)
      : mean_(probability < 1 ? -1 / std::log1p(-probability) : 0) {}
  std::uint64_t draw(RandomStream& random) const {
    return mean_ > 0 ? static_cast<std::uint64_t>(random.next_exponential(mean_)) : 0;
  }

 private:
  double mean_;
};

class Bernoulli final : public InjectionProcess {
 public:
  explicit Bernoulli(double rate) : trials_(rate) {}
  std::uint64_t gap(InjectionState&, RandomStream& random, bool, std::uint64_t) const override {
    return trials_.draw(random);
  }

 private:
  Trials trials_;
};

class OnOff final : public InjectionProcess {
 public:
  OnOff(double rate, double burst, double on)
      : on_(on), trials_(rate / on), burst_(1 / burst), pause_(on / (burst * (1 - on))) {}

  std::uint64_t gap(InjectionState& state, RandomStream& random, bool first,
                    std::uint64_t most) const override {
    std::uint64_t passed = 0;
    if (first && random.next_uniform() < on_) {
      state.cycles_left = 1 + burst_.draw(random);
    }
    std::uint64_t failures = trials_.draw(random);
    while (failures >= state.cycles_left && passed <= most) {
      failures -= state.cycles_left;
      const std::uint64_t pause = 1 + pause_.draw(random);
      passed += state.cycles_left + pause;
      state.cycles_left = 1 + burst_.draw(random);
    }
    if (failures >= state.cycles_left) {
      return passed;  // beyond the most that anybody asks for
    }
    state.cycles_left -= failures + 1;
    return passed + failures;
  }

 private:
  double on_;
  Trials trials_;
  Trials burst_;
  Trials pause_;
};

const config::Key<double> burst_key{"burst", 16, "mean length of a burst, in cycles",
                                    config::at_least(1.0)};
const config::Key<double> on_key{"on", 0.5, "share of time spent in bursts",
                                 config::between(0.001, 0.999)};

std::unique_ptr<InjectionProcess> make_on_off(config::Section& section, double rate) {
  const double burst = burst_key.read(section);
  const double on = on_key.read(section);
  if (rate > on) {
    section.error("on", "a node would have to send more than one message in a cycle of a burst");
    return nullptr;
  }
  if (burst * (1 - on) < on) {
    section.error("burst", "pauses of less than a cycle: longer bursts, or a smaller share 'on'");
    return nullptr;
  }
  return std::make_unique<OnOff>(rate, burst, on);
}

const Registration bernoulli(injection_processes(),
                             {"bernoulli", "in each cycle with the same probability", {}},
                             [](config::Section&, double rate) {
                               return std::make_unique<Bernoulli>(rate);
                             });
const Registration on_off(injection_processes(),
                          {"on-off",
                           "bursts and pauses, of geometrically distributed lengths",
                           {burst_key, on_key}},
                          make_on_off);

}  // namespace

Registry<ProcessMaker>& injection_processes() {
  static Registry<ProcessMaker> registry("injection process");
  return registry;
}

}  // namespace tessera::network
