# How sources are compiled: warnings, arithmetic, sanitizers.
add_library(tessera_options INTERFACE)
target_compile_features(tessera_options INTERFACE cxx_std_20)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  include(${CMAKE_CURRENT_LIST_DIR}/options_clang.cmake)
else()
  target_compile_options(tessera_options INTERFACE
    -Wall -Wextra -Wpedantic -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor
    -Wold-style-cast -Woverloaded-virtual -Wduplicated-cond -Wlogical-op
    # Names that only a neighbour sees are no names of a source; house.alone has the whole warning.
    $<IF:$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>,-Wshadow=local,-Wshadow>
    $<$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>:-Wno-subobject-linkage>
    # Results must not depend on whether the processor fuses multiply and add.
    -ffp-contract=off
    # So that a compiler cache can tell what is in a precompiled header.
    -fpch-preprocess
    # GCC would look for garbage from 128 MB on, which takes it a twentieth of its time.
    --param=ggc-min-heapsize=524288
    # GCC 12 sees copies inside std::string that overlap, never end or leave it where none does.
    -Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread -Wno-array-bounds)
endif()
if(TESSERA_WERROR)
  target_compile_options(tessera_options INTERFACE -Werror)
endif()
if(TESSERA_SANITIZE)
  target_compile_options(tessera_options INTERFACE
    -fsanitize=${TESSERA_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all
    # The sanitizers' own checks make GCC's optimiser see uses before initialisation.
    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  target_link_options(tessera_options INTERFACE -fsanitize=${TESSERA_SANITIZE})
endif()
if(TESSERA_COVERAGE)
  target_compile_options(tessera_options INTERFACE --coverage)
  target_link_options(tessera_options INTERFACE --coverage)
endif()
