# uPlot, which draws the plots of the page of flor serve. It is no part of this repository: the build
# takes it from the npm registry once, as the client `npm` is set up, checks that it is what it was
# when this was written, and keeps it in the build directory. After that nothing is fetched.
#
# FLOR_UPLOT: a directory with the contents of the package (dist/, LICENSE), or its file
# (uplot-VERSION.tgz), instead of the registry; OFF: build without the page.
set(FLOR_UPLOT "" CACHE STRING
    "uPlot's package as a directory or a .tgz, instead of npm's; OFF: no page for flor serve")
set(flor_uplot_version 1.6.32)
# The registry's "integrity" of that version, in hex.
string(CONCAT flor_uplot_sha512
  28831 59c6ebccefbb95d751b0b82d010f9e1c0ec41b8bc96d401eda66e882935c8
  9a46cb824332fa369b8cb8122cc6ac36e186cd09bf7a9ded3a4c93c6989023)

# Sets `variable` to the directory, or to nothing if there is none.
function(flor_find_uplot variable)
  set(${variable} "" PARENT_SCOPE)
  set(place ${PROJECT_BINARY_DIR}/uplot)
  set(file ${place}/uplot-${flor_uplot_version}.tgz)
  if(FLOR_UPLOT)
    if(IS_DIRECTORY ${FLOR_UPLOT})
      set(${variable} ${FLOR_UPLOT} PARENT_SCOPE)
      return()
    endif()
    set(file ${FLOR_UPLOT})
  elseif(NOT FLOR_UPLOT STREQUAL "")  # OFF
    message(STATUS "flor serve and flor report are built without their page")
    return()
  endif()
  if(NOT EXISTS ${file})
    flor_fetch_uplot(${place})
  endif()
  if(NOT EXISTS ${file})
    return()
  endif()
  file(SHA512 ${file} digest)
  if(NOT digest STREQUAL flor_uplot_sha512)
    message(FATAL_ERROR "${file} is not uPlot ${flor_uplot_version}: its SHA-512 is another. "
                        "Remove it to fetch it again")
  endif()
  if(NOT EXISTS ${place}/package/dist)
    file(ARCHIVE_EXTRACT INPUT ${file} DESTINATION ${place})
  endif()
  set(${variable} ${place}/package PARENT_SCOPE)
endfunction()

function(flor_fetch_uplot place)
  find_program(FLOR_NPM npm)
  if(NOT FLOR_NPM)
    message(WARNING "No npm: flor serve and flor report are built without their page. Install npm, or "
                    "give -DFLOR_UPLOT=DIRECTORY_OR_TGZ of uplot ${flor_uplot_version}")
    return()
  endif()
  message(STATUS "Fetching uplot ${flor_uplot_version} with npm")
  file(MAKE_DIRECTORY ${place})
  execute_process(
    COMMAND ${FLOR_NPM} pack uplot@${flor_uplot_version} --prefer-offline --loglevel=error
            --ignore-scripts
    WORKING_DIRECTORY ${place}
    RESULT_VARIABLE failed
    OUTPUT_QUIET
    ERROR_VARIABLE why)
  if(failed)
    message(WARNING "npm cannot fetch uplot ${flor_uplot_version}: flor serve and flor report are "
                    "built without their page. ${why}")
  endif()
endfunction()
