# Packages by CPack; `scripts/package` makes them. Debian's: `tessera`, all that a user needs, and
# `tessera-dev`, headers and libraries. The archive has both.
set(TESSERA_MAINTAINER "Tessera maintainers <maintainers@tessera.invalid>" CACHE STRING
  "Whom packages name as their maintainer")

set(CPACK_PACKAGE_NAME tessera)
set(CPACK_PACKAGE_VENDOR Tessera)
set(CPACK_PACKAGE_CONTACT ${TESSERA_MAINTAINER})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "parallel simulator of wafer-scale machines and AI clusters")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_GENERATOR DEB TGZ)
set(CPACK_STRIP_FILES ON)
set(CPACK_THREADS 0)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE
  GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_PACKAGE_FILE_NAME tessera-${PROJECT_VERSION}-${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_COMPONENTS_ALL program development)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
# As Debian's own packages have them: compressed manuals and a change log, the licence as `copyright`.
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/packaging/debian/files.cmake)

# Libraries that the program is linked with are found by dpkg-shlibdeps. Reports need h5py and numpy.
# matplotlib, which draws pictures, is recommended alone: Debian's brings SciPy and, through it, a
# compiler, which are five sixths of all that there would be to install.
set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME tessera)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_DEPENDS
  "openmpi-bin, python3 (>= 3.11), python3-h5py, python3-numpy")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS "python3-matplotlib")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SUGGESTS
  "tessera-dev, python3-pandas, python3-xarray, python3-yaml, python3-networkx")
set(CPACK_DEBIAN_PROGRAM_DESCRIPTION
"Tessera simulates wafer-scale machines and clusters of accelerators while
they train deep-learning models or serve them, and says how long it takes
and why. It runs as one process or on many MPI ranks, with the same results
to the bit. tessera-quickstart shows it in a minute.")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME tessera-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
  "tessera (= ${PROJECT_VERSION}), libopenmpi-dev, libhdf5-dev, libyaml-cpp-dev, libfmt-dev, \
libspdlog-dev, libcxxopts-dev, libmetis-dev, nlohmann-json3-dev, zlib1g-dev, libprotobuf-dev, \
protobuf-compiler, libexpat1-dev, libonnx-dev")
set(CPACK_DEBIAN_DEVELOPMENT_DESCRIPTION
"The rooms of Tessera as static libraries, for programs that run simulations
themselves or add networks, memories, compute models, topologies,
collectives, kinds of work and commands of their own; with a package for CMake.")
include(CPack)
