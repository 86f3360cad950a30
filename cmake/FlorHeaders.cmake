# The headers that nearly every source of our libraries includes, compiled once for each level of
# optimization. PRIVATE: none of it reaches the projects that use Flor. Every source still includes what it
# uses, and compiles with CMAKE_DISABLE_PRECOMPILE_HEADERS=ON.
set(flor_shared_headers
  <fmt/format.h> <nlohmann/json.hpp>
  <algorithm> <array> <atomic> <charconv> <chrono> <filesystem> <functional> <map> <memory> <mutex>
  <optional> <set> <span> <string> <string_view> <system_error> <thread> <tuple> <unordered_map>
  <unordered_set> <utility> <vector>)
file(CONFIGURE OUTPUT headers.cpp CONTENT "// Nothing: its target is there for its precompiled header.\n")

# flor_share_headers(TARGETS...): after their target_link_libraries(), which say how they are optimized.
function(flor_share_headers)
  foreach(target ${ARGN})
    set(owner flor_headers)
    set(settings flor_settings)
    get_target_property(linked ${target} LINK_LIBRARIES)
    if("${linked}" MATCHES flor_seldom AND FLOR_SELDOM_OPTIMIZATION)
      set(owner flor_headers_seldom)
      list(APPEND settings flor_seldom)
    endif()
    if(NOT TARGET ${owner})
      add_library(${owner} OBJECT ${PROJECT_BINARY_DIR}/headers.cpp)
      target_link_libraries(${owner} PRIVATE ${settings} fmt::fmt nlohmann_json::nlohmann_json)
      set_target_properties(${owner} PROPERTIES UNITY_BUILD OFF)
      target_precompile_headers(${owner} PRIVATE ${flor_shared_headers})
    endif()
    target_precompile_headers(${target} REUSE_FROM ${owner})
  endforeach()
endfunction()
