// Programs that print times which the compute model of a machine file gives: for each line of
// standard input a time [ps].
#pragma once

#include <iostream>
#include <optional>
#include <string>

#include "tessera/compute/compute.hpp"
#include "tessera/core/error.hpp"
#include "tessera/machine/machine.hpp"

namespace tessera {

// `time_of(line, model, machine)`: none for a line that is no `noun`.
template <class TimeOf>
int print_rates(const std::string& path, char** settings, const char* noun, const TimeOf& time_of) {
  config::Diagnostics diagnostics;
  config::Value root = config::parse(path, config::load_text_file(path), diagnostics);
  for (; *settings != nullptr; ++settings) {
    config::apply_override(root, *settings, diagnostics);
  }
  config::Section section(root, "", diagnostics);
  const std::optional<machine::Machine> machine = machine::read_machine(section);
  const auto model = compute::read_compute(section.section("compute"));
  diagnostics.throw_if_any();
  std::string line;
  while (std::getline(std::cin, line)) {
    const std::optional<SimTime> time = time_of(line, *model, *machine);
    if (!time) {
      std::cerr << "no " << noun << ": '" << line << "'\n";
      return 2;
    }
    std::cout << time->ps() << '\n';
  }
  return 0;
}

// The whole program, whose words are MACHINE.yaml [KEY=VALUE]...
template <class TimeOf>
int rates_program(int count, char** words, const char* noun, const TimeOf& time_of) {
  if (count < 2) {
    std::cerr << "usage: " << words[0] << " MACHINE.yaml [KEY=VALUE]... < LINES\n";
    return 2;
  }
  try {
    return print_rates(words[1], words + 2, noun, time_of);
  } catch (const Error& error) {
    std::cerr << error.what() << '\n';
    return 2;
  }
}

}  // namespace tessera
