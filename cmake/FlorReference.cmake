# The target `reference`: what docs/Doxyfile.in says of the public headers, in reference/index.html of the
# build directory. Any warning is an error.
configure_file(docs/Doxyfile.in ${PROJECT_BINARY_DIR}/Doxyfile @ONLY)
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/reference)
add_custom_target(reference
  COMMAND doxygen ${PROJECT_BINARY_DIR}/Doxyfile
  COMMENT "Writing ${PROJECT_BINARY_DIR}/reference/index.html"
  VERBATIM)
