// Links the composition root and with it every room and every library behind it.
#include <iostream>

#include "tessera/core/version.hpp"
#include "tessera/sim/experiment.hpp"
#include "tessera/sim/simulation.hpp"

int main() {
  try {
    const tessera::sim::Experiment experiment = tessera::sim::read_experiment(
        "empty.yaml", {}, [](const std::string&) { return std::string(); });
    return 1;
  } catch (const tessera::ConfigError& error) {
    std::cout << tessera::version() << ": " << error.what() << "\n";
  }
  return 0;
}
