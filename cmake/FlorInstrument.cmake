# flor_instrument(TARGET)
#
# Tells Flor which program an executable is, so that its recordings can be built again:
#
#   add_executable(train train.cpp model.cpp)
#   flor_instrument(train)
#
# Links flor::runtime (flor::core, where there is no libtorch) unless the target links one of them
# itself, and compiles two small files into it: how the target is built, and what its sources were
# when it was built. To be called in the directory that defines the target.

# The functions are read as CMake 3.25 would, whatever the project asks for: it is warned of no policy.
cmake_policy(VERSION 3.21...3.25)

function(flor_instrument target)
  if(NOT TARGET ${target})
    message(FATAL_ERROR "flor_instrument(${target}): there is no such target")
  endif()
  get_target_property(type ${target} TYPE)
  get_target_property(place ${target} SOURCE_DIR)
  if(NOT type STREQUAL EXECUTABLE)
    message(FATAL_ERROR "flor_instrument(${target}): it is no executable")
  endif()
  if(NOT place STREQUAL CMAKE_CURRENT_SOURCE_DIR)
    message(FATAL_ERROR "flor_instrument(${target}): call it in ${place}, where it is defined")
  endif()

  set(script ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/FlorSources.cmake)
  set(directory ${CMAKE_CURRENT_BINARY_DIR}/flor/${target})
  get_property(several GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
  if(several)
    string(APPEND directory /$<CONFIG>)
  endif()
  add_custom_command(
    OUTPUT ${directory}/sources.cpp
    COMMAND ${CMAKE_COMMAND} -D "LIST=${directory}/sources.list"
            -D "OUTPUT=${directory}/sources.cpp" -P ${script}
    DEPENDS ${directory}/sources.list ${script}
    DEPFILE ${directory}/sources.d
    COMMENT "Noting the sources of ${target}"
    VERBATIM)
  target_sources(${target} PRIVATE ${directory}/recipe.cpp ${directory}/sources.cpp)
  # Two texts, which need no header: a precompiled one takes seconds to load.
  set_source_files_properties(${directory}/recipe.cpp ${directory}/sources.cpp PROPERTIES
    GENERATED TRUE SKIP_PRECOMPILE_HEADERS TRUE SKIP_UNITY_BUILD_INCLUSION TRUE)

  # What the target links, and which options the project has, is known at the end.
  cmake_language(EVAL CODE
    "cmake_language(DEFER CALL flor_link_if_missing [[${target}]])
     cmake_language(DEFER DIRECTORY [[${CMAKE_SOURCE_DIR}]]
                    CALL flor_write_recipe [[${target}]] [[${directory}]])")
endfunction()

# Imported libraries and Flor's own are linked, and not looked into.
function(flor_is_foreign library result)
  get_target_property(foreign ${library} IMPORTED)
  get_target_property(place ${library} SOURCE_DIR)
  foreach(part runtime store)
    cmake_path(SET own NORMALIZE "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../${part}")
    cmake_path(IS_PREFIX own "${place}" NORMALIZE inside)
    if(inside)
      set(foreign TRUE)
    endif()
  endforeach()
  set(${result} ${foreign} PARENT_SCOPE)
endfunction()

# The targets of the project that `target` is linked with, itself included; `found`_PARTIAL where
# something else of the project may be linked.
function(flor_linked_targets target found)
  set(seen ${target})
  set(open ${target})
  set(partial FALSE)
  while(open)
    list(POP_FRONT open next)
    set(libraries)
    foreach(property LINK_LIBRARIES INTERFACE_LINK_LIBRARIES)
      get_target_property(some ${next} ${property})
      if(some)
        list(APPEND libraries ${some})
      endif()
    endforeach()
    get_target_property(sources ${next} SOURCES)
    if(sources)
      string(REGEX MATCHALL "TARGET_OBJECTS:[^>]+" objects "${sources}")
      string(REPLACE "TARGET_OBJECTS:" "" objects "${objects}")
      list(APPEND libraries ${objects})
    endif()
    foreach(library ${libraries})
      string(REGEX REPLACE "^\\$<(LINK_ONLY|BUILD_INTERFACE|BUILD_LOCAL_INTERFACE):(.*)>$" "\\2"
                           library "${library}")
      cmake_path(IS_PREFIX CMAKE_SOURCE_DIR "${library}" NORMALIZE inside)
      if(library MATCHES "\\$<" OR inside)
        set(partial TRUE)
      endif()
      if(TARGET ${library})
        get_target_property(original ${library} ALIASED_TARGET)
        if(original)
          set(library ${original})
        endif()
        if(NOT library IN_LIST seen)
          list(APPEND seen ${library})
          flor_is_foreign(${library} foreign)
          if(NOT foreign)
            list(APPEND open ${library})
          endif()
        endif()
      endif()
    endforeach()
  endwhile()
  set(${found} ${seen} PARENT_SCOPE)
  set(${found}_PARTIAL ${partial} PARENT_SCOPE)
endfunction()

# The options that single sources, and targets by their older property, are compiled with.
function(flor_options_of library result)
  get_target_property(options ${library} COMPILE_FLAGS)
  get_target_property(place ${library} SOURCE_DIR)
  get_target_property(sources ${library} SOURCES)
  foreach(source ${sources})
    foreach(property COMPILE_FLAGS COMPILE_OPTIONS)
      get_source_file_property(some "${source}" DIRECTORY "${place}" ${property})
      if(some)
        string(APPEND options " ${some}")
      endif()
    endforeach()
    get_source_file_property(some "${source}" DIRECTORY "${place}" INCLUDE_DIRECTORIES)
    if(some)
      string(APPEND options " -I")
    endif()
  endforeach()
  string(REPLACE "\n" " " options "${options}")
  set(${result} "${options}" PARENT_SCOPE)
endfunction()

function(flor_link_if_missing target)
  flor_linked_targets(${target} linked)
  foreach(known flor_core flor_runtime flor::core flor::runtime)
    if(known IN_LIST linked)
      return()
    endif()
  endforeach()
  set(library flor::core)
  if(TARGET flor::runtime)
    set(library flor::runtime)
  endif()
  # The property, since target_link_libraries allows only the signature that was used before.
  set_property(TARGET ${target} APPEND PROPERTY LINK_LIBRARIES ${library})
endfunction()

# "text", as JSON has it.
function(flor_json_text text result)
  string(REPLACE "\\" "\\\\" text "${text}")
  string(REPLACE "\"" "\\\"" text "${text}")
  string(REPLACE "\n" "\\n" text "${text}")
  string(REPLACE "\t" "\\t" text "${text}")
  set(${result} "\"${text}\"" PARENT_SCOPE)
endfunction()

# The variables of the cache that say how this project is configured: its own options, what was
# found, and of CMake's own those that choose compilers and flags or were given by the user.
function(flor_json_cache result)
  get_property(names DIRECTORY ${CMAKE_SOURCE_DIR} PROPERTY CACHE_VARIABLES)
  set(rows)
  foreach(name ${names})
    get_property(type CACHE ${name} PROPERTY TYPE)
    get_property(help CACHE ${name} PROPERTY HELPSTRING)
    get_property(value CACHE ${name} PROPERTY VALUE)
    set(given FALSE)
    if(help MATCHES "specified on the command line")
      set(given TRUE)
    endif()
    if(type MATCHES "^(INTERNAL|STATIC)$" OR "${value}" STREQUAL "" OR value MATCHES "NOTFOUND$")
      continue()
    endif()
    if(name MATCHES "^CMAKE_" AND NOT given AND NOT name MATCHES
       "^CMAKE_(BUILD_TYPE|MAKE_PROGRAM|TOOLCHAIN_FILE|PREFIX_PATH|(EXE|SHARED|MODULE)_LINKER_FLAGS.*|(C|CXX|CUDA|HIP)_(COMPILER|COMPILER_LAUNCHER|FLAGS.*|ARCHITECTURES))$")
      continue()
    endif()
    if(type STREQUAL UNINITIALIZED)
      set(type STRING)
    endif()
    flor_json_text("${value}" text)
    list(APPEND rows "[\"${name}\",\"${type}\",${text}]")
  endforeach()
  list(JOIN rows "," rows)
  set(${result} "[${rows}]" PARENT_SCOPE)
endfunction()

function(flor_write_recipe target directory)
  get_property(several GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
  set(flags "${CMAKE_CXX_FLAGS}")
  if(NOT several)
    string(TOUPPER "${CMAKE_BUILD_TYPE}" configuration)
    string(APPEND flags " ${CMAKE_CXX_FLAGS_${configuration}}")
  endif()
  string(STRIP "${flags}" flags)
  foreach(pair "target=${target}" "source_directory=${CMAKE_SOURCE_DIR}"
          "build_directory=${CMAKE_BINARY_DIR}" "generator=${CMAKE_GENERATOR}" "flags=${flags}"
          "compiler=${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}")
    string(REGEX MATCH "^([a-z_]+)=(.*)$" pair "${pair}")
    set(name ${CMAKE_MATCH_1})
    flor_json_text("${CMAKE_MATCH_2}" text)
    string(APPEND fields "\"${name}\":${text},")
  endforeach()
  set(variables)
  foreach(name CMAKE_PREFIX_PATH PKG_CONFIG_PATH)
    if(DEFINED ENV{${name}})
      flor_json_text("$ENV{${name}}" text)
      list(APPEND variables "\"${name}\":${text}")
    endif()
  endforeach()
  list(JOIN variables "," variables)
  flor_json_cache(cache)
  file(GENERATE OUTPUT ${directory}/recipe.cpp CONTENT
"// Made by flor_instrument(${target}): how it is built. Read by Flor's runtime.
extern \"C\" const char flor_build_recipe[];
extern \"C\" const char flor_build_recipe[] = R\"flor({${fields}\"program\":\"$<TARGET_FILE:${target}>\",\"configuration\":\"$<CONFIG>\",\"environment\":{${variables}},\"cache\":${cache}})flor\";
")

  flor_linked_targets(${target} linked)
  set(list "root ${CMAKE_SOURCE_DIR}\nwithout ${CMAKE_BINARY_DIR}\noptions ${flags}\n")
  foreach(place ../runtime/include ../store/include ../../../include ../../../../include)
    cmake_path(SET headers NORMALIZE "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/${place}/flor")
    string(APPEND list "library ${headers}\n")
  endforeach()
  if(linked_PARTIAL)
    string(APPEND list "partial\n")
  endif()
  foreach(library ${linked})
    flor_is_foreign(${library} foreign)
    get_target_property(type ${library} TYPE)
    if(foreign OR type STREQUAL INTERFACE_LIBRARY)
      continue()
    endif()
    flor_options_of(${library} options)
    string(APPEND list "options ${options}\n")
    set(sources "$<TARGET_PROPERTY:${library},SOURCES>")
    set(includes "$<REMOVE_DUPLICATES:$<TARGET_PROPERTY:${library},INCLUDE_DIRECTORIES>>")
    string(APPEND list "from $<TARGET_PROPERTY:${library},SOURCE_DIR>\n"
                       "source $<JOIN:${sources},\nsource >\n"
                       "include $<JOIN:${includes},\ninclude >\n"
                       "options $<JOIN:$<TARGET_PROPERTY:${library},COMPILE_OPTIONS>, >\n")
  endforeach()
  file(GENERATE OUTPUT ${directory}/sources.list CONTENT "${list}")
endfunction()
