# What is compiled together with the tests is compiled as quickly as it goes: without optimization,
# and with one precompiled header of libtorch's, which take longer than all that includes them.
# flor_torch itself is compiled as users get it. None of this reaches the projects that use Flor.
set(flor_quickly $<$<CONFIG:Release>:-O0>)
if(FLOR_WITH_TORCH AND FLOR_BUILD_TESTS)
  add_library(torch_headers OBJECT ${PROJECT_SOURCE_DIR}/tests/support/headers.cpp)
  # Libraries and executables share it, so that both are compiled as libraries are.
  target_compile_options(torch_headers PRIVATE ${flor_quickly} -fPIC)
  target_link_libraries(torch_headers PRIVATE flor_settings flor::probe_torch)
  target_precompile_headers(torch_headers PRIVATE <torch/torch.h>)
endif()

# For each target that includes libtorch's headers, but for the library itself.
function(flor_share_torch_headers)
  if(NOT TARGET torch_headers)
    return()
  endif()
  foreach(target ${ARGN})
    target_compile_options(${target} PRIVATE ${flor_quickly} -fPIC)
    target_precompile_headers(${target} REUSE_FROM torch_headers)
  endforeach()
endfunction()
