// Makes builds with sanitizers ignore leaks of libraries that are not Flor's. Linked into the
// command.
extern "C" const char* __lsan_default_suppressions();

extern "C" const char* __lsan_default_suppressions() {
  return "leak:libfontconfig\n";  // keeps its knowledge of fonts
}
