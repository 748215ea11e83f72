// A reader under libFuzzer: TESSERA_FUZZ=READER fuzz_readers [OPTION OF LIBFUZZER...] [CORPUS...].
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <random>

#include "../soak/mutate.hpp"
#include "readers.hpp"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

namespace {

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

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const tessera::fuzz::Reader& reader = tessera::fuzz::readers().at(name_of_reader());
  reader({reinterpret_cast<const char*>(data), size});
  return 0;
}

// Models keep their form in every second mutation: operators, attributes, names, sides are changed.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned seed) {
  static const bool models = std::strcmp(name_of_reader(), "onnx") == 0;
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
