# cmake -D LIST=FILE -D OUTPUT=FILE.cpp -P FlorSources.cmake
#
# Run by the build of a target that flor_instrument() was called for, whenever one of its sources
# changed: writes down what they are. LIST has a line for each source, the directory that it is seen
# from, each directory to look for headers in, the options of the compiler, the root of the project
# and each directory in it that belongs to a library; headers are found by their #include lines,
# inside of the root; `partial` says that there may be more. OUTPUT is compiled into the target, so
# that the program can tell at a recording whether it is older than its sources. Beside it a file for
# the build tool with all that was looked at.
cmake_minimum_required(VERSION 3.25)

# Without the encoding a line ends at the first letter that is not ASCII.
file(STRINGS ${LIST} lines ENCODING UTF-8)
set(open)
set(directories)
set(foreign)
set(whole TRUE)
if(lines MATCHES "\\[")  # a list of CMake would join what follows
  set(whole FALSE)
  string(REPLACE "[" "?" lines "${lines}")
endif()
foreach(line ${lines})
  if(line MATCHES "^root (.+)$")
    set(root "${CMAKE_MATCH_1}")
  elseif(line MATCHES "^without (.+)$")
    set(without "${CMAKE_MATCH_1}")
  elseif(line MATCHES "^library (.+)$")
    list(APPEND foreign "${CMAKE_MATCH_1}")
  elseif(line MATCHES "^from (.+)$")
    set(from "${CMAKE_MATCH_1}")
  elseif(line MATCHES "^source (.+)$")
    cmake_path(ABSOLUTE_PATH CMAKE_MATCH_1 BASE_DIRECTORY "${from}" NORMALIZE
               OUTPUT_VARIABLE source)
    list(APPEND open "${source}")
  elseif(line MATCHES "^include (.+)$")
    list(APPEND directories "${CMAKE_MATCH_1}")
  elseif(line STREQUAL partial)
    set(whole FALSE)
  elseif(line MATCHES "^options (.* )?-(I|include|imacros|iquote|isystem|idirafter)")
    set(whole FALSE)
  endif()
endforeach()
list(REMOVE_DUPLICATES directories)

# What the project itself made, what is none of its own, and the headers of Flor are no sources of it.
function(flor_is_own file result)
  cmake_path(IS_PREFIX root "${file}" NORMALIZE inside)
  cmake_path(IS_PREFIX without "${file}" NORMALIZE made)
  if(inside AND made AND NOT root STREQUAL without)
    set(inside FALSE)
  endif()
  foreach(directory ${foreign})
    cmake_path(IS_PREFIX directory "${file}" NORMALIZE library)
    if(library)
      set(inside FALSE)
    endif()
  endforeach()
  set(${result} ${inside} PARENT_SCOPE)
endfunction()

# What was generated is looked into, since it may include what is the project's own, as a
# precompiled header does.
set(files)
set(seen)
while(open)
  list(POP_FRONT open file)
  cmake_path(NORMAL_PATH file)
  if(file IN_LIST seen OR NOT EXISTS "${file}" OR IS_DIRECTORY "${file}" OR
     file MATCHES "\\.(o|obj|a|so)$")
    continue()
  endif()
  list(APPEND seen "${file}")
  flor_is_own("${file}" own)
  cmake_path(IS_PREFIX without "${file}" NORMALIZE made)
  if(own)
    list(APPEND files "${file}")
  elseif(NOT made)
    continue()
  endif()
  file(STRINGS "${file}" computed ENCODING UTF-8 REGEX
       "^[ \t]*(#[ \t]*(include[ \t]+[A-Za-z_]|include_next|import)|(export[ \t]+)?import[ \t])")
  # Spelled in ways that the search below does not know, or loaded while the program runs.
  file(STRINGS "${file}" unusual ENCODING UTF-8 REGEX
       "^[ \t]*((%:|\\?\\?=).*include|#.*/\\*.*include|/\\*.*\\*/[ \t]*#[ \t]*include|#[ \t]*(i|in|inc|incl|inclu|includ|include)?[ \t]*\\\\$)")
  file(STRINGS "${file}" loading ENCODING UTF-8 REGEX "dl(m?open|vsym)[ \t]*\\(")
  if(computed OR unusual OR (own AND loading))
    set(whole FALSE)
  endif()
  file(STRINGS "${file}" includes ENCODING UTF-8 REGEX "^[ \t]*#[ \t]*include[ \t]*[\"<]")
  string(REPLACE "[" "" includes "${includes}")
  cmake_path(GET file PARENT_PATH here)
  foreach(include ${includes})
    if(include MATCHES "[\"<]([^\">]+)[\">]")
      set(header "${CMAKE_MATCH_1}")
      set(found FALSE)
      foreach(directory "${here}" ${directories})
        cmake_path(ABSOLUTE_PATH header BASE_DIRECTORY "${directory}" OUTPUT_VARIABLE place)
        if(EXISTS "${place}")
          list(APPEND open "${place}")
          set(found TRUE)  # and yet the compiler may take one of another directory
        endif()
      endforeach()
      # Where the project's own header is not found, the compiler looks in more places than these.
      if(NOT found AND own AND include MATCHES "\"")
        set(whole FALSE)
      endif()
    endif()
  endforeach()
endwhile()

# The ids that git gives contents; without git the program compares times and sizes alone.
set(ids)
set(commit)
find_program(git NAMES git NO_CACHE)
if(git AND files)
  list(JOIN files "\n" text)
  file(WRITE ${OUTPUT}.names "${text}\n")
  execute_process(COMMAND ${git} hash-object --no-filters --stdin-paths INPUT_FILE ${OUTPUT}.names
                  OUTPUT_VARIABLE ids OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  string(REPLACE "\n" ";" ids "${ids}")
  execute_process(COMMAND ${git} -C ${root} rev-parse -q --verify HEAD
                  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  file(REMOVE ${OUTPUT}.names)
endif()
list(LENGTH files count)
list(LENGTH ids known)

set(text "commit ${commit}\n")
if(whole)
  string(APPEND text "whole\n")
endif()
set(needed)
set(index 0)
foreach(file ${files})
  set(id "-")
  if(count EQUAL known)
    list(GET ids ${index} id)
  endif()
  math(EXPR index "${index} + 1")
  file(SIZE "${file}" size)
  file(TIMESTAMP "${file}" seconds "%s" UTC)
  file(TIMESTAMP "${file}" micros "%f" UTC)
  string(APPEND text "${id} ${size} ${seconds}.${micros} ${file}\n")
  string(REPLACE " " "\\ " escaped "${file}")
  string(APPEND needed " \\\n  ${escaped}")
endforeach()
file(WRITE ${OUTPUT}
"// Made by flor_instrument(): the sources of the program when it was built. Read by Flor's runtime.
extern \"C\" const char flor_build_sources[];
extern \"C\" const char flor_build_sources[] = R\"flor(${text})flor\";
")
string(REGEX REPLACE "\\.cpp$" ".d" dependencies "${OUTPUT}")
string(REPLACE " " "\\ " escaped "${OUTPUT}")
file(WRITE ${dependencies} "${escaped}:${needed}\n")
