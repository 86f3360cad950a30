# FLOR_BUNDLE: for the tarball of scripts/package.sh, whose component `bundle` has what machines need
# that lack Flor's packages: the command, linked with static libraries, and in lib/flor the archives
# that projects link with Flor's. Nothing is compiled again for it but the two files of cmake/bundle.
enable_language(C)
add_library(flor_bundle_fmt STATIC EXCLUDE_FROM_ALL cmake/bundle/fmt.cpp)
add_library(flor_bundle_kerberos STATIC EXCLUDE_FROM_ALL cmake/bundle/no_kerberos.c)
set_target_properties(flor_bundle_fmt PROPERTIES OUTPUT_NAME fmt CXX_STANDARD 20)
set_target_properties(flor_bundle_kerberos PROPERTIES OUTPUT_NAME no_kerberos)

# What core is linked with, in the order of the linker, and what the command is beside it.
set(flor_bundle_core git2 ssh2 mbedtls mbedx509 mbedcrypto http_parser pcre2-8 sqlite3 zstd xxhash z crypto)
set(flor_bundle_tool hiredis pugixml)
set(archives $<TARGET_FILE:flor_bundle_fmt> $<TARGET_FILE:flor_bundle_kerberos>)
foreach(library ${flor_bundle_core} ${flor_bundle_tool})
  find_library(FLOR_STATIC_${library} lib${library}.a REQUIRED)
  mark_as_advanced(FLOR_STATIC_${library})
  list(APPEND archives ${FLOR_STATIC_${library}})
  if(library IN_LIST flor_bundle_core)
    install(FILES ${FLOR_STATIC_${library}} DESTINATION lib/flor COMPONENT bundle EXCLUDE_FROM_ALL)
  endif()
endforeach()
install(TARGETS flor_bundle_fmt flor_bundle_kerberos ARCHIVE DESTINATION lib/flor COMPONENT bundle EXCLUDE_FROM_ALL)

list(TRANSFORM flor_bundle_core PREPEND -l OUTPUT_VARIABLE linked)
list(JOIN linked " " linked)
flor_pc_write_core(${PROJECT_BINARY_DIR}/bundle/flor-core.pc "" " -L\${libdir}/flor -lfmt -lno_kerberos ${linked}")
install(FILES ${PROJECT_BINARY_DIR}/bundle/flor-core.pc DESTINATION lib/pkgconfig COMPONENT bundle EXCLUDE_FROM_ALL)

set(own flor_cli_core flor_cli_look flor_http flor_queue flor_remote flor_protocol flor_git flor_sources flor_data
        flor_store)
add_executable(flor_bundle EXCLUDE_FROM_ALL cli/main.cpp)
set_target_properties(flor_bundle PROPERTIES OUTPUT_NAME flor RUNTIME_OUTPUT_DIRECTORY bundle)
target_include_directories(flor_bundle PRIVATE cli/src store/include)
add_dependencies(flor_bundle ${own} flor_bundle_fmt flor_bundle_kerberos)
list(TRANSFORM own REPLACE "(.+)" "$<TARGET_FILE:\\1>" OUTPUT_VARIABLE own_files)
target_link_libraries(flor_bundle PRIVATE flor_settings Threads::Threads ${CMAKE_DL_LIBS} m
                      -Wl,--start-group ${own_files} ${archives} -Wl,--end-group)
install(TARGETS flor_bundle COMPONENT bundle EXCLUDE_FROM_ALL)

# Their licenses ask that they go along.
install(FILES LICENSE CHANGELOG.md DESTINATION share/doc/flor COMPONENT bundle EXCLUDE_FROM_ALL)
foreach(package libgit2-dev libssh2-1-dev libmbedtls-dev libhttp-parser-dev libpcre2-dev libsqlite3-dev
        libzstd-dev libxxhash-dev zlib1g-dev libssl-dev libfmt-dev libhiredis-dev libpugixml-dev
        nlohmann-json3-dev libcli11-dev)
  install(FILES /usr/share/doc/${package}/copyright RENAME ${package}
          DESTINATION share/doc/flor/licenses COMPONENT bundle EXCLUDE_FROM_ALL)
endforeach()
