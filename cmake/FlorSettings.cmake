# Language level, warnings and sanitizers. Linked PRIVATE by every target of this project, so that
# nothing of it reaches the projects that use Flor.
add_library(flor_settings INTERFACE)
target_compile_features(flor_settings INTERFACE cxx_std_20)
target_compile_options(flor_settings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor -Wold-style-cast
  -Wimplicit-fallthrough)
if(FLOR_WERROR)
  target_compile_options(flor_settings INTERFACE -Werror)
endif()
if(FLOR_SANITIZE)
  target_compile_options(flor_settings INTERFACE
    -fsanitize=${FLOR_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=undefined)
  target_link_options(flor_settings INTERFACE -fsanitize=${FLOR_SANITIZE})
endif()

# Linked PRIVATE by what runs once a command or once a run, and not for each step or byte: optimizing it
# further takes up to a third of its compile time, and makes queries 4 % quicker.
add_library(flor_seldom INTERFACE)
set(FLOR_SELDOM_OPTIMIZATION -O1 CACHE STRING "How such a part of a release is optimized")
target_compile_options(flor_seldom INTERFACE $<$<CONFIG:Release>:${FLOR_SELDOM_OPTIMIZATION}>)

if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # ccache does not keep what is compiled with a precompiled header without it, and without
  # CCACHE_SLOPPINESS as the presets set it.
  target_compile_options(flor_settings INTERFACE -fpch-preprocess)
  # Below this many KiB it looks for no garbage: -ftime-report says that this takes a twentieth of its
  # time, and it reads the whole precompiled header.
  target_compile_options(flor_settings INTERFACE --param=ggc-min-heapsize=524288)
endif()

if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # Sources that are compiled together are headers to GCC, where such members are mistakes; a build
  # without CMAKE_UNITY_BUILD, as the preset `debug` is one, still warns of them in headers.
  target_compile_options(flor_settings INTERFACE -Wno-subobject-linkage)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 takes what it inlines of `"x" + text` for accesses past the string's end, or not, as the sources
  # happen to be joined.
  target_compile_options(flor_settings INTERFACE -Wno-stringop-overflow -Wno-array-bounds)
endif()

set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

# A developer's conveniences, used where they are installed.
find_program(FLOR_CCACHE ccache)
if(FLOR_CCACHE AND PROJECT_IS_TOP_LEVEL AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${FLOR_CCACHE})
endif()
