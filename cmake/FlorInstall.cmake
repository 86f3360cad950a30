# What `cmake --install` puts in place, and the CMake package that `find_package(flor)` finds there.
# Three components, which are three packages of Debian: `dev` (headers and libraries), `torch` (those
# that need libtorch) and `tool` (the command line tool, its manual and completions).
set(flor_package_directory ${CMAKE_INSTALL_LIBDIR}/cmake/flor)
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME dev)

# The libraries that need libtorch are an export set of their own, so that projects without it can
# use the rest.
set(FLOR_PACKAGE_TORCH_VERSION "${Torch_VERSION}")
# Only core's library needs it, at link time: its headers stay here.
set_target_properties(flor_git PROPERTIES EXPORT_NAME git INTERFACE_INCLUDE_DIRECTORIES
                      "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/runtime>")
set_target_properties(flor_protocol PROPERTIES EXPORT_NAME protocol)
set_target_properties(flor_data PROPERTIES EXPORT_NAME data)
set_target_properties(flor_sources PROPERTIES EXPORT_NAME sources)
install(TARGETS flor_store flor_git flor_protocol flor_sources flor_data flor_core flor_probe
        EXPORT florTargets FILE_SET HEADERS)
if(FLOR_WITH_TORCH)
  install(TARGETS flor_torch flor_torch_data flor_runtime flor_probe_torch
          EXPORT florTorchTargets COMPONENT torch FILE_SET HEADERS COMPONENT torch)
  install(EXPORT florTorchTargets NAMESPACE flor:: DESTINATION ${flor_package_directory}
          COMPONENT torch)
else()
  install(TARGETS flor_runtime EXPORT florTargets)
endif()
install(EXPORT florTargets NAMESPACE flor:: DESTINATION ${flor_package_directory})

configure_package_config_file(
  cmake/florConfig.cmake.in ${PROJECT_BINARY_DIR}/florConfig.cmake
  INSTALL_DESTINATION ${flor_package_directory})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/florConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/florConfig.cmake ${PROJECT_BINARY_DIR}/florConfigVersion.cmake
              cmake/FlorCoreLibraries.cmake cmake/FlorInstrument.cmake cmake/FlorSources.cmake
        DESTINATION ${flor_package_directory})
include(FlorPkgConfig)
# What README.md and docs/tutorial.md begin with, and what reads a store without the command, need no libtorch.
install(DIRECTORY examples/first/ DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/libflor-dev/examples/first)
install(FILES examples/spirals.cpp DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/libflor-dev/examples)
install(DIRECTORY examples/python DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/libflor-dev/examples)
if(FLOR_WITH_TORCH)
  install(DIRECTORY examples/ COMPONENT torch
          DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/libflor-torch-dev/examples
          PATTERN first EXCLUDE PATTERN python EXCLUDE PATTERN spirals.cpp EXCLUDE)
endif()

# The command line tool, its manual, and what shells know of it.
if(TARGET flor_cli)
  install(TARGETS flor_cli COMPONENT tool)
  install(DIRECTORY docs/sample/ DESTINATION ${CMAKE_INSTALL_DATADIR}/flor/sample COMPONENT tool)
  set(manual ${PROJECT_BINARY_DIR}/manual)
  find_program(FLOR_GZIP gzip REQUIRED)
  add_custom_command(
    OUTPUT ${manual}/done
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${manual}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${manual}
    COMMAND flor_cli __manual ${manual}
    COMMAND sh -c "${FLOR_GZIP} -9n ${manual}/*.1"
    COMMAND ${CMAKE_COMMAND} -E touch ${manual}/done
    DEPENDS flor_cli
    COMMENT "Writing the manual"
    VERBATIM)
  add_custom_target(flor_manual ALL DEPENDS ${manual}/done)
  install(DIRECTORY ${manual}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT tool
          FILES_MATCHING PATTERN "*.1.gz")
  set(completions ${PROJECT_SOURCE_DIR}/cli/completions)
  install(FILES ${completions}/flor.bash RENAME flor COMPONENT tool
          DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES ${completions}/_flor COMPONENT tool
          DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
  install(FILES ${completions}/flor.fish COMPONENT tool
          DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()

if(FLOR_BUNDLE)
  include(FlorBundle)
endif()
include(FlorPackage)
