# The target `reference`: what docs/Doxyfile.in says of the public headers, in reference/index.html of the
# build directory, and of those of flor::store, in reference/store/index.html. Any warning is an error; where
# a name of the store says all, it needs no comment.
set(flor_reference)
foreach(part runtime store)
  set(FLOR_REFERENCE ${PROJECT_SOURCE_DIR}/${part}/include)
  set(FLOR_REFERENCE_OUTPUT ${PROJECT_BINARY_DIR}/reference)
  set(FLOR_REFERENCE_ALL NO)
  if(part STREQUAL store)
    string(APPEND FLOR_REFERENCE_OUTPUT /store)
    set(FLOR_REFERENCE_ALL YES)
  endif()
  file(MAKE_DIRECTORY ${FLOR_REFERENCE_OUTPUT})
  configure_file(docs/Doxyfile.in ${PROJECT_BINARY_DIR}/Doxyfile.${part} @ONLY)
  list(APPEND flor_reference COMMAND doxygen ${PROJECT_BINARY_DIR}/Doxyfile.${part})
endforeach()
add_custom_target(reference
  ${flor_reference}
  COMMENT "Writing ${PROJECT_BINARY_DIR}/reference/index.html"
  VERBATIM)
