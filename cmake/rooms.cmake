# The rooms of the house, each a static library that links only what the table in
# docs/design/0001-rooms.md allows. Listed bottom-up.
set(TESSERA_ROOMS core config comm pdes machine drawing collective workload onnx plan
    network memory compute npu serving executor trace sim explore migration)

include(${CMAKE_CURRENT_LIST_DIR}/options.cmake)

# tessera_precompiled(NAME HEADER [LINKS ...]): a target whose precompiled header others reuse; their
# options must be those of tessera_options and LINKS. GCC optimises all that includes one as the header was, and
# says nothing where the command wants it otherwise: each level of optimisation takes a header of its own.
function(tessera_precompiled name header)
  cmake_parse_arguments(ARG "" "" "LINKS" ${ARGN})
  add_library(${name} OBJECT ${PROJECT_SOURCE_DIR}/cmake/precompiled.cpp)
  target_link_libraries(${name} PRIVATE ${ARG_LINKS} tessera_options)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/cmake)
  # In brackets, so that what is precompiled names no folder and a compiler cache serves every clone.
  target_precompile_headers(${name} PRIVATE <${header}>)
endfunction()
tessera_precompiled(tessera_precompiled precompiled.hpp)

# tessera_together(TARGET BATCH SOURCES...): compiles the sources together, BATCH at a time, where
# TESSERA_TOGETHER says so: most of a source's time goes into headers and templates that its neighbours use
# too; rooms of TESSERA_APART are compiled source by source all the same. Sources with a `Registration
# registration` stay alone: they are alike, down to the names that only they see. One whose names are its own
# (`mesh_registration`) is compiled with others.
function(tessera_together target batch)
  set(together ${TESSERA_TOGETHER})
  string(REGEX REPLACE "^tessera_|_fast$" "" room ${target})
  if(room IN_LIST TESSERA_APART)
    set(together OFF)
  endif()
  set_target_properties(${target} PROPERTIES
    UNITY_BUILD ${together} UNITY_BUILD_BATCH_SIZE ${batch})
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

# tessera_quick(TARGET [OPTION]): of what a run does once, or a test, the time to compile counts for more than
# the time to run. Its precompiled header must be quick with the same option.
function(tessera_quick target)
  set(option -Og)
  if(ARGN)
    set(option ${ARGN})
  endif()
  target_compile_options(${target} PRIVATE
    $<$<AND:$<CONFIG:Release>,$<CXX_COMPILER_ID:GNU>>:${option}>)
endfunction()

tessera_precompiled(tessera_precompiled_quick precompiled.hpp)
tessera_quick(tessera_precompiled_quick)

# How many sources are compiled together, and the rooms whose functions run for each event: in them GCC takes
# functions in as if each source were small, where it would count how much they make a large one grow.
set(TESSERA_BATCH 36)
set(TESSERA_ENGINE pdes network memory compute npu executor)
function(tessera_takes_in target)
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:--param=large-unit-insns=1000000>)
endfunction()
tessera_precompiled(tessera_precompiled_engine precompiled.hpp)
tessera_takes_in(tessera_precompiled_engine)

# tessera_room(NAME [SOURCES ...] [QUICK ...] ROOMS ... [PUBLIC ...] [PRIVATE ...])
#   SOURCES  files of src/NAME and its folders, compiled to run fast
#   QUICK    those that a run needs once, if at all (they read, check, report): compiled quickly
#   ROOMS    the rooms it may include
#   PUBLIC   libraries its headers need; PRIVATE libraries only its sources need
# Of a function that many sources have, a template above all, a linker keeps what it meets first. For the
# engine that must be no quick one: a library has its SOURCES before its QUICK ones (CMake puts objects of other
# targets first), and programs name the rooms in the order of tessera_whole_rooms. Test house.linked looks.
function(tessera_room name)
  cmake_parse_arguments(ARG "" "" "SOURCES;QUICK;ROOMS;PUBLIC;PRIVATE" ${ARGN})
  list(TRANSFORM ARG_ROOMS PREPEND tessera::)
  set(links PUBLIC ${ARG_ROOMS} ${ARG_PUBLIC} PRIVATE ${ARG_PRIVATE})
  set(target tessera_${name})
  if(NOT ARG_QUICK)
    add_library(${target} STATIC ${ARG_SOURCES})
    tessera_fast_part(${target} ${links})
    set_target_properties(${target} PROPERTIES TESSERA_QUICK none)
  else()
    set(amount all)
    if(ARG_SOURCES)
      set(amount some)
      set(made ${ARG_SOURCES})
      list(FILTER made INCLUDE REGEX "^[$]<")
      list(FILTER ARG_SOURCES EXCLUDE REGEX "^[$]<")
      add_library(${target}_fast OBJECT ${ARG_SOURCES})
      tessera_fast_part(${target}_fast ${links})
      list(PREPEND ARG_QUICK $<TARGET_OBJECTS:${target}_fast> ${made})
    endif()
    add_library(${target} STATIC ${ARG_QUICK})
    tessera_quick_part(${target} ${links})
    set_target_properties(${target} PROPERTIES TESSERA_QUICK ${amount})
  endif()
  add_library(tessera::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
endfunction()

# tessera_sources(TARGET LINKS...): what libraries of a room, or of a part of it, have in common.
function(tessera_sources target)
  get_target_property(sources ${target} SOURCES)
  tessera_together(${target} ${TESSERA_BATCH} ${sources})
  target_compile_features(${target} PUBLIC cxx_std_20)  # the headers ask it of whoever links
  target_include_directories(${target} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  # Private headers are named from their room: "dram/banks.hpp".
  target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(${target} ${ARGN} PRIVATE $<BUILD_INTERFACE:tessera_options>)
endfunction()

# tessera_fast_part(TARGET LINKS...), tessera_quick_part(TARGET LINKS...): a library of sources that are
# compiled to run fast, or quickly.
function(tessera_fast_part target)
  tessera_sources(${target} ${ARGN})
  string(REGEX REPLACE "^tessera_|_fast$" "" room ${target})
  if(room IN_LIST TESSERA_ENGINE)
    target_precompile_headers(${target} REUSE_FROM tessera_precompiled_engine)
    tessera_takes_in(${target})
  else()
    target_precompile_headers(${target} REUSE_FROM tessera_precompiled)
  endif()
endfunction()
function(tessera_quick_part target)
  tessera_sources(${target} ${ARGN})
  target_precompile_headers(${target} REUSE_FROM tessera_precompiled_quick)
  tessera_quick(${target})
endfunction()

# tessera_whole_rooms(RESULT): all rooms, as a program links them: those with nothing quick, those with something,
# those that are quick as a whole; of each kind those of the engine first.
function(tessera_whole_rooms result)
  set(rooms)
  foreach(amount IN ITEMS none some all)
    foreach(room IN LISTS TESSERA_ENGINE TESSERA_ROOMS)
      get_target_property(quick tessera_${room} TESSERA_QUICK)
      if(quick STREQUAL amount)
        list(APPEND rooms tessera::${room})
      endif()
    endforeach()
  endforeach()
  list(REMOVE_DUPLICATES rooms)
  set(${result} ${rooms} PARENT_SCOPE)
endfunction()

# tessera_tests(ROOM [LINKS ...] [DEFINITIONS ...]): all tests/unit/ROOM/*_test.cpp as one program, ROOM_tests, linked
# to their room alone (whole archive, so that registrations are kept) and any extra LINKS. They are compiled
# together, so many at a time that who changes one waits for seconds; each has a namespace of its name. ctest runs
# each test in a process of its own.
set(TESSERA_BATCH_OF_TESTS 8)
function(tessera_tests room)
  cmake_parse_arguments(ARG "" "" "LINKS;DEFINITIONS" ${ARGN})
  set(target ${room}_tests)
  file(GLOB sources CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} *_test.cpp)
  add_executable(${target} ${sources})
  tessera_together(${target} ${TESSERA_BATCH_OF_TESTS} ${sources})
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  # The room's own headers, too.
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src/${room})
  target_compile_definitions(${target} PRIVATE ${ARG_DEFINITIONS})
  target_link_libraries(${target} PRIVATE
    -Wl,--whole-archive tessera::${room} -Wl,--no-whole-archive
    ${ARG_LINKS} GTest::gmock GTest::gtest_main tessera_options)
  target_precompile_headers(${target} REUSE_FROM tessera_precompiled_tests)
  tessera_quick(${target} -O0)
  # Cases are numbered: values that gtest prints as bytes and addresses would differ from build to build.
  gtest_discover_tests(${target} TEST_PREFIX "unit.${room}." NO_PRETTY_VALUES
                       PROPERTIES LABELS unit DISCOVERY_TIMEOUT 60)
endfunction()
