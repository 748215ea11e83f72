# ONNX by its own package, as the targets ONNX::onnx and ONNX::onnx_proto: the package of version 1.17 names them so,
# that of 1.12 without the first part.
find_package(ONNX CONFIG QUIET)
foreach(library IN ITEMS onnx onnx_proto)
  if(TARGET ${library} AND NOT TARGET ONNX::${library})
    add_library(ONNX::${library} ALIAS ${library})
  endif()
endforeach()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(ONNX REQUIRED_VARS ONNX_CONFIG VERSION_VAR ONNX_VERSION)
