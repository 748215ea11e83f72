# The rooms of the house, each a static library that links only what the table in
# docs/design/0001-rooms.md allows. Listed bottom-up.
set(TESSERA_ROOMS core config comm pdes machine drawing collective workload onnx plan
    network memory compute npu serving executor trace sim explore migration)

include(${CMAKE_CURRENT_LIST_DIR}/options.cmake)

# tessera_precompiled(NAME HEADER [LINKS ...]): a target whose precompiled header others reuse; their
# options must be those of tessera_options and LINKS.
function(tessera_precompiled name header)
  cmake_parse_arguments(ARG "" "" "LINKS" ${ARGN})
  add_library(${name} OBJECT ${PROJECT_SOURCE_DIR}/cmake/precompiled.cpp)
  target_link_libraries(${name} PRIVATE ${ARG_LINKS} tessera_options)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/cmake)
  # In brackets, so that what is precompiled names no folder and a compiler cache serves every clone.
  target_precompile_headers(${name} PRIVATE <${header}>)
endfunction()
tessera_precompiled(tessera_precompiled precompiled.hpp)

# tessera_together(TARGET SOURCES...): compiles the sources together, where TESSERA_TOGETHER says so: most
# of a source's time goes into headers and templates that its neighbours use too. Sources that register a
# part stay alone: they are alike, down to the names that only they see.
function(tessera_together target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${TESSERA_TOGETHER} UNITY_BUILD_BATCH_SIZE 10)
  # Places in messages are named from the root of the tree, wherever it is.
  target_compile_options(${target} PRIVATE -ffile-prefix-map=${PROJECT_SOURCE_DIR}/=)
  list(FILTER ARGN EXCLUDE REGEX "^[$]<")
  foreach(source IN LISTS ARGN)
    file(STRINGS ${CMAKE_CURRENT_SOURCE_DIR}/${source} lines
      REGEX "const .*Registration.* registrations?[({ ]" LIMIT_COUNT 1)
    if(lines)
      set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
  endforeach()
endfunction()

# tessera_quick(TARGET): of what a run does once, or a test, the time to compile counts for more than the
# time to run. -O1 takes the same precompiled header.
function(tessera_quick target)
  target_compile_options(${target} PRIVATE
    $<$<AND:$<CONFIG:Release>,$<CXX_COMPILER_ID:GNU>>:-O1>)
endfunction()

# tessera_room(NAME SOURCES ... ROOMS ... [PUBLIC ...] [PRIVATE ...])
#   SOURCES  files of src/NAME and its folders
#   ROOMS    the rooms it may include
#   PUBLIC   libraries its headers need; PRIVATE libraries only its sources need
function(tessera_room name)
  cmake_parse_arguments(ARG "" "" "SOURCES;ROOMS;PUBLIC;PRIVATE" ${ARGN})
  add_library(tessera_${name} STATIC ${ARG_SOURCES})
  tessera_together(tessera_${name} ${ARG_SOURCES})
  add_library(tessera::${name} ALIAS tessera_${name})
  set_target_properties(tessera_${name} PROPERTIES EXPORT_NAME ${name})
  target_compile_features(tessera_${name} PUBLIC cxx_std_20)  # the headers ask it of whoever links
  target_include_directories(tessera_${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  # Private headers are named from their room: "dram/banks.hpp".
  target_include_directories(tessera_${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  list(TRANSFORM ARG_ROOMS PREPEND tessera::)
  target_link_libraries(tessera_${name} PUBLIC ${ARG_ROOMS} ${ARG_PUBLIC}
    PRIVATE ${ARG_PRIVATE} $<BUILD_INTERFACE:tessera_options>)
  target_precompile_headers(tessera_${name} REUSE_FROM tessera_precompiled)
endfunction()

# tessera_test(ROOM SOURCE [LINKS ...]): tests/unit/ROOM/SOURCE.cpp, linked to its room alone
# (whole archive, so that registrations are kept) and any extra LINKS.
function(tessera_test room source)
  cmake_parse_arguments(ARG "" "" "LINKS" ${ARGN})
  set(target ${room}_${source})
  add_executable(${target} ${PROJECT_SOURCE_DIR}/tests/unit/${room}/${source}.cpp)
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_link_libraries(${target} PRIVATE
    -Wl,--whole-archive tessera::${room} -Wl,--no-whole-archive
    ${ARG_LINKS} GTest::gmock GTest::gtest_main tessera_options)
  target_precompile_headers(${target} REUSE_FROM tessera_precompiled_tests)
  tessera_quick(${target})
  gtest_discover_tests(${target} TEST_PREFIX "unit.${room}." PROPERTIES LABELS unit
                       DISCOVERY_TIMEOUT 60)
endfunction()
