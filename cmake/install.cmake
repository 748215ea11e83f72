# What `cmake --install` puts below the prefix, in two components, of which cmake/package.cmake makes
# packages: `program`, all that a user needs, and `development`, the libraries for other programs. The
# installed tree can be moved: what it names in itself, it names from where it is.
include(CMakePackageConfigHelpers)

# The folder of the program's own files; src/cli/python_tools.cpp and scripts/quickstart go by its name.
set(data share/tessera)

# The program, and its tools in Python under names of their own.
install(TARGETS tessera RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
install(PROGRAMS scripts/quickstart scripts/plot scripts/report scripts/graph_yaml.py
  scripts/hcsim_llama2.py DESTINATION ${data}/scripts COMPONENT program)
install(FILES scripts/lib.sh DESTINATION ${data}/scripts COMPONENT program)
install(DIRECTORY scripts/tessera_plots DESTINATION ${data}/scripts COMPONENT program
  PATTERN __pycache__ EXCLUDE)
set(links ${CMAKE_CURRENT_BINARY_DIR}/links)
file(MAKE_DIRECTORY ${links})
foreach(pair IN ITEMS quickstart:quickstart plot:plot tables:report)
  string(REPLACE ":" ";" pair ${pair})
  list(POP_FRONT pair name script)
  file(CREATE_LINK ../${data}/scripts/${script} ${links}/tessera-${name} SYMBOLIC)
  install(FILES ${links}/tessera-${name} DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
  install(FILES cmake/packaging/man/tessera-${name}.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1
    COMPONENT program)
endforeach()

# Machines, models and experiments, laid out as in the tree, because they name each other by relative
# paths; of tests/ what experiments name: models and traces.
install(DIRECTORY configs workloads DESTINATION ${data} COMPONENT program)
# What their first lines name, for editors.
install(DIRECTORY docs/schemas/files DESTINATION ${data}/docs/schemas COMPONENT program)
install(DIRECTORY tests/onnx/models DESTINATION ${data}/tests/onnx COMPONENT program)
install(FILES tests/onnx/README.md DESTINATION ${data}/tests/onnx COMPONENT program)
install(DIRECTORY tests/validation/reference/gpt_222 DESTINATION ${data}/tests/validation/reference
  COMPONENT program)

# Documents, whose links lead to each other.
install(FILES README.md CHANGELOG.md CONTRIBUTING.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR}
  COMPONENT program)
install(DIRECTORY docs results DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program
  PATTERN ledgers EXCLUDE)

# What the program is made of, and the licences of that, where there is a Python to find out.
find_program(TESSERA_PYTHON NAMES python3)
if(TESSERA_PYTHON AND NOT CMAKE_CROSSCOMPILING)
  set(parts ${CMAKE_CURRENT_BINARY_DIR}/parts)
  install(CODE "
    file(REMOVE_RECURSE ${parts})
    execute_process(COMMAND ${TESSERA_PYTHON} -B ${PROJECT_SOURCE_DIR}/scripts/sbom.py
      --program $<TARGET_FILE:tessera> --version ${PROJECT_VERSION} --output ${parts}/sbom.cdx.json
      --licences ${parts}/licences COMMAND_ERROR_IS_FATAL ANY)" COMPONENT program)
  install(DIRECTORY ${parts}/ DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program)
endif()

# Module files, for Environment Modules and Lmod; each finds the prefix from where it lies.
install(FILES cmake/packaging/modulefiles/tessera.tcl DESTINATION ${data}/modulefiles/tessera
  RENAME ${PROJECT_VERSION} COMPONENT program)
install(FILES cmake/packaging/modulefiles/tessera.lua DESTINATION ${data}/modulefiles/tessera
  RENAME ${PROJECT_VERSION}.lua COMPONENT program)

# The package for Python with the pictures it uses; a folder that the Python of Debian looks into where
# the prefix is /usr, and one for PYTHONPATH elsewhere.
set(TESSERA_PYTHON_DIR lib/python3/dist-packages CACHE STRING
  "Where the package for Python goes, below the prefix")
install(DIRECTORY python/tessera scripts/tessera_plots DESTINATION ${TESSERA_PYTHON_DIR}
  COMPONENT program PATTERN __pycache__ EXCLUDE PATTERN .mypy_cache EXCLUDE)

# Completions of shells and pages of the manual, which the program makes from its own tables.
if(NOT CMAKE_CROSSCOMPILING)
  set(made ${CMAKE_CURRENT_BINARY_DIR}/made_by_program)
  install(CODE "
    file(MAKE_DIRECTORY ${made})
    execute_process(COMMAND $<TARGET_FILE:tessera> man --output ${made}/man1
      COMMAND_ERROR_IS_FATAL ANY)
    foreach(shell IN ITEMS bash fish zsh)
      execute_process(COMMAND $<TARGET_FILE:tessera> completion \${shell}
        OUTPUT_FILE ${made}/\${shell} COMMAND_ERROR_IS_FATAL ANY)
    endforeach()" COMPONENT program)
  install(DIRECTORY ${made}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT program)
  install(FILES ${made}/bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
    RENAME tessera COMPONENT program)
  install(FILES ${made}/fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d
    RENAME tessera.fish COMPONENT program)
  install(FILES ${made}/zsh DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions
    RENAME _tessera COMPONENT program)
endif()

# For CMake: `find_package(tessera)` gives tessera::tessera with all parts, tessera::program with all commands
# as well, and the rooms.
foreach(room IN LISTS TESSERA_ROOMS)
  list(APPEND room_targets tessera_${room})
endforeach()
tessera_whole_rooms(room_names)
list(JOIN room_names " " room_names)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tessera)
install(TARGETS ${room_targets} tessera_cli EXPORT tessera_targets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
install(DIRECTORY include/tessera DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
install(EXPORT tessera_targets NAMESPACE tessera:: FILE tessera-targets.cmake
  DESTINATION ${package_dir} COMPONENT development)
configure_package_config_file(cmake/tessera-config.cmake.in
  ${CMAKE_CURRENT_BINARY_DIR}/tessera-config.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/tessera-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/tessera-config.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/tessera-config-version.cmake
  cmake/find/FindMETIS.cmake cmake/find/FindONNX.cmake
  DESTINATION ${package_dir} COMPONENT development)
