# What Clang is told: the same warnings, as far as it has them, and the same arithmetic.
target_compile_options(tessera_options INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor
  -Wold-style-cast -Woverloaded-virtual
  # Clang has no warning of what is shadowed within functions alone.
  $<$<NOT:$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>>:-Wshadow>
  # Durations and counts become floating point where ratios are made; GCC takes that as meant.
  -Wno-implicit-int-float-conversion -Wno-shorten-64-to-32
  # Results must not depend on whether the processor fuses multiply and add.
  -ffp-contract=off
  # So that a compiler cache serves what uses a precompiled header.
  "SHELL:-Xclang -fno-pch-timestamp")
include(CheckCXXSourceCompiles)
check_cxx_source_compiles("
  #include <source_location>
  int main() { return static_cast<int>(std::source_location::current().line()) == 0; }"
  TESSERA_SOURCE_LOCATION)
if(NOT TESSERA_SOURCE_LOCATION)
  # Clang 14 and 15 lack what libstdc++ makes it of.
  target_compile_options(tessera_options INTERFACE
    "SHELL:-include ${PROJECT_SOURCE_DIR}/cmake/source_location.hpp")
endif()
