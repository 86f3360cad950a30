# Whether libtorch was built with c10d, its process groups, and with gloo among them: sets FLOR_C10D and
# FLOR_GLOO, and makes flor_gloo, which a program links that makes a gloo group. Asks the library: its
# headers are installed in any case.
get_target_property(flor_torch_library torch_cpu LOCATION)
find_path(FLOR_GLOO_INCLUDE gloo/transport/device.h HINTS ${TORCH_INCLUDE_DIRS})
if(flor_torch_library)
  # The destructors of c10d::ProcessGroup and c10d::ProcessGroupGloo, among the symbols of the library:
  # to link a program would need all that CUDA's libtorch is linked with.
  execute_process(
    COMMAND ${CMAKE_NM} -D --defined-only ${flor_torch_library}
    COMMAND grep -oE "_ZN4c10d(12ProcessGroup|16ProcessGroupGloo)D2Ev"
    OUTPUT_VARIABLE flor_groups)
  if(flor_groups MATCHES "12ProcessGroupD2Ev")
    set(FLOR_C10D ON)
  endif()
  if(flor_groups MATCHES "16ProcessGroupGlooD2Ev")
    set(FLOR_TORCH_HAS_GLOO ON)
  endif()
endif()
if(FLOR_C10D AND FLOR_TORCH_HAS_GLOO AND FLOR_GLOO_INCLUDE)
  set(FLOR_GLOO ON)
  add_library(flor_gloo INTERFACE)
  target_compile_definitions(flor_gloo INTERFACE USE_C10D_GLOO)
  target_include_directories(flor_gloo SYSTEM INTERFACE ${FLOR_GLOO_INCLUDE})
endif()
if(NOT FLOR_C10D)
  message(STATUS "libtorch has no c10d: flor::ProcessGroup is left out")
elseif(NOT FLOR_GLOO)
  message(STATUS "no gloo, or no libgloo-dev: examples and tests of several ranks are left out")
endif()
