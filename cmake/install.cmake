# The installed package: `find_package(tessera)` gives tessera::tessera with all parts, and the rooms.
include(CMakePackageConfigHelpers)

foreach(room IN LISTS TESSERA_ROOMS)
  list(APPEND room_targets tessera_${room})
  list(APPEND room_names tessera::${room})
endforeach()
install(TARGETS ${room_targets} EXPORT tessera_targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS tessera RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY include/tessera DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
# What `tessera report` and `tessera compare` run; src/cli/python_tools.cpp looks for it there.
install(DIRECTORY scripts/tessera_plots DESTINATION share/tessera/scripts
  PATTERN __pycache__ EXCLUDE)
install(EXPORT tessera_targets NAMESPACE tessera:: FILE tessera-targets.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tessera)
list(JOIN room_names " " room_names)
configure_package_config_file(cmake/tessera-config.cmake.in
  ${CMAKE_CURRENT_BINARY_DIR}/tessera-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tessera)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/tessera-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/tessera-config.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/tessera-config-version.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tessera)

# The package for Python with the pictures it uses; a folder that the Python of Debian looks into where
# the prefix is /usr, and one for PYTHONPATH elsewhere.
set(TESSERA_PYTHON_DIR lib/python3/dist-packages CACHE STRING
  "Where the package for Python goes, below the prefix")
install(DIRECTORY python/tessera scripts/tessera_plots DESTINATION ${TESSERA_PYTHON_DIR}
  PATTERN __pycache__ EXCLUDE PATTERN .mypy_cache EXCLUDE)

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
    endforeach()")
  install(DIRECTORY ${made}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR})
  install(FILES ${made}/bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
    RENAME tessera)
  install(FILES ${made}/fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d
    RENAME tessera.fish)
  install(FILES ${made}/zsh DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions
    RENAME _tessera)
endif()
