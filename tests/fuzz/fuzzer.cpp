// A reader under libFuzzer: TESSERA_FUZZ=READER fuzz_readers [OPTION OF LIBFUZZER...] [CORPUS...].
//
// HDF5, which reads traces, crashes on files whose sums were made right (SECURITY.md). That is no
// finding here: where a sanitizer stops in the library, the process ends with 71, as one that takes
// too much memory; with -fork=1 -ignore_ooms=1 the fuzzer goes on in another one. What the library
// loses where it gives up is not looked for.
#include <dlfcn.h>
#include <execinfo.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <random>

#include "../soak/mutate.hpp"
#include "mutate_trace.hpp"
#include "readers.hpp"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

namespace {

constexpr int in_library = 71;
unsigned long inputs = 0;  // so far

const char* name_of_reader() {
  const char* name = std::getenv("TESSERA_FUZZ");
  if (name == nullptr || !tessera::fuzz::readers().contains(name)) {
    std::cerr << "TESSERA_FUZZ must name a reader:";
    for (const auto& [known, reader] : tessera::fuzz::readers()) {
      std::cerr << " " << known;
    }
    std::cerr << "\n";
    std::exit(2);
  }
  return name;
}

// Also asked for where the process ends, or has gone wrong.
bool reads_traces() {
  const char* name = std::getenv("TESSERA_FUZZ");
  return name != nullptr && std::strcmp(name, "traces") == 0;
}

bool is_of_hdf5(void* place) {
  Dl_info of{};
  return dladdr(place, &of) != 0 && of.dli_fname != nullptr &&
         std::strstr(of.dli_fname, "libhdf5") != nullptr;
}

}  // namespace

// A sanitizer is about to say what it found.
extern "C" void __asan_on_error() {
  std::array<void*, 100> frames;
  const int count = backtrace(frames.data(), static_cast<int>(frames.size()));
  if (reads_traces() && std::any_of(frames.begin(), frames.begin() + count, is_of_hdf5)) {
    // As libFuzzer tells at the end of a process.
    dprintf(STDERR_FILENO, "\nstat::number_of_executed_units: %lu\n", inputs);
    _exit(in_library);
  }
}

extern "C" int __lsan_is_turned_off() {
  return reads_traces() ? 1 : 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const tessera::fuzz::Reader& reader = tessera::fuzz::readers().at(name_of_reader());
  ++inputs;
  reader({reinterpret_cast<const char*>(data), size});
  return 0;
}

// Models keep their form in every second mutation: operators, attributes, names, sides are changed.
// Of traces every fourth keeps the sum of a commit, and every eighth that of metadata.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned seed) {
  static const bool models = std::strcmp(name_of_reader(), "onnx") == 0;
  const bool of_commit = seed % 4 == 0;
  if (reads_traces() && (of_commit || seed % 8 == 2) &&
      tessera::fuzz::mutate_summed({data, size}, of_commit, seed)) {
    return size;
  }
  if (models && seed % 2 == 0) {
    tessera::soak::Random random(seed);
    const std::string damaged =
        tessera::soak::damage_model({reinterpret_cast<const char*>(data), size}, random);
    if (!damaged.empty() && damaged.size() <= most) {
      std::memcpy(data, damaged.data(), damaged.size());
      return damaged.size();
    }
  }
  return LLVMFuzzerMutate(data, size, most);
}
