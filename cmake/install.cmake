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
