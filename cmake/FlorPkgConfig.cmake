# For builds without CMake: flor-core.pc, and flor.pc, which adds the support for libtorch. The
# libraries are static, so that what they use is among what their users link.
set(flor_pc_directory ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH flor_pc_prefix /${flor_pc_directory} /)
string(REGEX REPLACE "/$" "" flor_pc_prefix "${flor_pc_prefix}")
set(flor_pc_head "prefix=\${pcfiledir}/${flor_pc_prefix}
libdir=\${prefix}/${CMAKE_INSTALL_LIBDIR}
includedir=\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}

Version: ${PROJECT_VERSION}
")
set(flor_pc_core "-Wl,--start-group -lflor_core -lflor_git -lflor_protocol -lflor_sources -lflor_data -lflor_store")
# flor_pc_write_core(FILE REQUIRES LIBRARIES): the libraries are those in lib/flor.
function(flor_pc_write_core file requires libraries)
  file(WRITE ${file} "${flor_pc_head}Name: flor-core
Description: Record-replay runtime for model training, without libtorch
${requires}Cflags: -I\${includedir} -pthread
Libs: -L\${libdir} ${flor_pc_core}${libraries} -Wl,--end-group -pthread -ldl -lm
")
endfunction()
flor_pc_write_core(${PROJECT_BINARY_DIR}/flor-core.pc "Requires: libzstd sqlite3 fmt libgit2 libxxhash\n" "")
install(FILES ${PROJECT_BINARY_DIR}/flor-core.pc DESTINATION ${flor_pc_directory})

if(FLOR_WITH_TORCH)
  # libtorch has no file of its own: what CMake found.
  set(flags)
  foreach(directory ${TORCH_INCLUDE_DIRS})
    if(NOT directory STREQUAL "/usr/include")
      string(APPEND flags " -I${directory}")
    endif()
  endforeach()
  get_target_property(torch_options torch INTERFACE_COMPILE_OPTIONS)
  foreach(option ${TORCH_CXX_FLAGS})
    string(APPEND flags " ${option}")
  endforeach()
  get_target_property(torch_library torch_cpu LOCATION)
  get_filename_component(torch_directory ${torch_library} DIRECTORY)
  set(libraries)
  if(NOT torch_directory IN_LIST CMAKE_CXX_IMPLICIT_LINK_DIRECTORIES)
    set(libraries "-L${torch_directory} -Wl,-rpath,${torch_directory} ")
  endif()
  file(WRITE ${PROJECT_BINARY_DIR}/flor.pc "${flor_pc_head}Name: flor
Description: Record-replay runtime for model training with libtorch
Requires: flor-core libjpeg libpng
Cflags: -fopenmp${flags}
Libs: -L\${libdir} -lflor_torch_data -lflor_torch -lflor_core ${libraries}-Wl,--no-as-needed -ltorch -ltorch_cpu -lc10 -Wl,--as-needed -fopenmp
")
  install(FILES ${PROJECT_BINARY_DIR}/flor.pc DESTINATION ${flor_pc_directory} COMPONENT torch)
endif()
