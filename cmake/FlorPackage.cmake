# Packages of Debian, made by scripts/package.sh: `flor`, the command line tool, `libflor-dev` and, for
# programs that train with libtorch, `libflor-torch-dev`, so that the others need no libtorch.
set(flor_deb ${PROJECT_SOURCE_DIR}/cmake/debian)
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME flor)
# As Debian's own tools know who makes a package; otherwise an address that can be nobody's (RFC 2606).
if(DEFINED ENV{DEBEMAIL} AND DEFINED ENV{DEBFULLNAME})
  set(flor_contact "$ENV{DEBFULLNAME} <$ENV{DEBEMAIL}>")
else()
  set(flor_contact "Flor developers <noreply@flor.invalid>")
endif()
set(FLOR_PACKAGE_CONTACT "${flor_contact}" CACHE STRING "Who answers for the packages, as NAME <MAIL>")
set(CPACK_PACKAGE_CONTACT "${FLOR_PACKAGE_CONTACT}")
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES TRUE)
set(CPACK_COMPONENTS_ALL tool dev)
if(FLOR_WITH_TORCH)
  list(APPEND CPACK_COMPONENTS_ALL torch)
endif()
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION TRUE)

set(CPACK_DEBIAN_TOOL_PACKAGE_NAME flor)
set(CPACK_DEBIAN_TOOL_PACKAGE_SECTION science)
set(CPACK_DEBIAN_TOOL_PACKAGE_SHLIBDEPS ON)
# libcairo2 is loaded where a plot becomes a PNG, libcurl4 where runs are in an object store,
# libmicrohttpd12 by flor serve.
set(CPACK_DEBIAN_TOOL_PACKAGE_RECOMMENDS "git, libcairo2, libcurl4, libmicrohttpd12")
set(CPACK_DEBIAN_TOOL_PACKAGE_SUGGESTS "libflor-dev")
set(CPACK_COMPONENT_TOOL_DESCRIPTION "look at recorded trainings and ask them more
 Flor records the training of a model cheaply, so that any question that was
 not asked while training can be asked afterwards. This package has the
 command that lists runs, shows what they logged, and replays them.")

set(CPACK_DEBIAN_DEV_PACKAGE_NAME libflor-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS
    "libzstd-dev, libsqlite3-dev, libfmt-dev, nlohmann-json3-dev, libgit2-dev, libxxhash-dev, pkg-config")
set(CPACK_DEBIAN_DEV_PACKAGE_RECOMMENDS "flor (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_DEV_PACKAGE_SUGGESTS "libflor-torch-dev")
set(flor_about "
 Flor records the training of a model cheaply, so that any question that was
 not asked while training can be asked afterwards. A program wraps its loops,
 registers its state, and is replayed exactly.")
set(CPACK_COMPONENT_DEV_DESCRIPTION "record-replay runtime for model training in C++${flor_about}
 This package has the headers, the static libraries, and the files for CMake
 and pkg-config. It needs no libtorch.")

set(CPACK_DEBIAN_TORCH_PACKAGE_NAME libflor-torch-dev)
set(CPACK_DEBIAN_TORCH_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_TORCH_PACKAGE_DEPENDS
    "libflor-dev (= ${PROJECT_VERSION}), libtorch-dev, libjpeg-dev, libpng-dev")
# With the reference BLAS libtorch multiplies matrices many times slower.
set(CPACK_DEBIAN_TORCH_PACKAGE_RECOMMENDS "libopenblas0-pthread")
set(CPACK_COMPONENT_TORCH_DESCRIPTION "record-replay runtime for model training with libtorch${flor_about}
 This package has what programs with libtorch use: modules, optimizers and
 tensors as state, samplers, data sets and groups of processes.")

# What Debian wants beside it: who made it and what changed.
foreach(pair "tool flor" "dev libflor-dev" "torch libflor-torch-dev")
  separate_arguments(pair)
  list(GET pair 0 component)
  list(GET pair 1 package)
  set(directory ${CMAKE_INSTALL_DATADIR}/doc/${package})
  install(FILES ${flor_deb}/copyright DESTINATION ${directory} COMPONENT ${component})
  install(FILES ${PROJECT_BINARY_DIR}/changelog.gz DESTINATION ${directory} COMPONENT ${component})
endforeach()
find_program(FLOR_GZIP gzip REQUIRED)
configure_file(${flor_deb}/changelog ${PROJECT_BINARY_DIR}/changelog @ONLY)
execute_process(COMMAND ${FLOR_GZIP} -9nc ${PROJECT_BINARY_DIR}/changelog
                OUTPUT_FILE ${PROJECT_BINARY_DIR}/changelog.gz COMMAND_ERROR_IS_FATAL ANY)

include(CPack)
