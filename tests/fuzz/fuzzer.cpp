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
#include <string>
#include <string_view>

#include "../soak/mutate.hpp"
#include "mutate_trace.hpp"
#include "mutate_wire.hpp"
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

// What keeps the form of an input.
enum class Kind { bytes, model, messages, summed };

Kind kind_of_reader() {
  static const Kind kind = [] {
    const std::string_view name = name_of_reader();
    return name == "onnx"     ? Kind::model
           : name == "chakra" ? Kind::messages
           : name == "traces" ? Kind::summed
                              : Kind::bytes;
  }();
  return kind;
}

// With room for some more.
void mutate_bytes(std::string& bytes) {
  constexpr std::size_t more = 16;
  const std::size_t size = bytes.size();
  bytes.resize(size + more);
  bytes.resize(LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(bytes.data()), size, bytes.size()));
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

// Models keep their form in every second mutation, as half of these change operators, attributes,
// names and sides, and half fields of any kind; execution traces do in three of four. Of traces of
// runs every fourth keeps the sum of a commit, and every eighth that of metadata.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned seed) {
  const Kind kind = kind_of_reader();
  const bool of_commit = seed % 4 == 0;
  if (kind == Kind::summed && (of_commit || seed % 8 == 2) &&
      tessera::fuzz::mutate_summed({data, size}, of_commit, seed)) {
    return size;
  }
  std::string changed;
  tessera::soak::Random random(seed);
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (kind == Kind::model && seed % 4 == 0) {
    changed = tessera::soak::damage_model(std::string(bytes), random);
  } else if (kind == Kind::model && seed % 4 == 2 && size > 0) {
    // Without what the last byte chooses.
    changed = tessera::fuzz::mutate_message(bytes.substr(0, size - 1), random, mutate_bytes);
    changed += changed.empty() ? "" : std::string(1, bytes.back());
  } else if (kind == Kind::messages && seed % 4 != 0) {
    changed = tessera::fuzz::mutate_messages(bytes, random, mutate_bytes);
  }
  if (!changed.empty() && changed.size() <= most) {
    std::memcpy(data, changed.data(), changed.size());
    return changed.size();
  }
  return LLVMFuzzerMutate(data, size, most);
}
