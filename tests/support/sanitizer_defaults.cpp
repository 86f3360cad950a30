// What builds with sanitizers overlook: leaks of libraries that are not Flor's. Linked into the
// command there.
extern "C" const char* __lsan_default_suppressions();

extern "C" const char* __lsan_default_suppressions() {
  return "leak:libfontconfig\n";  // keeps what it found out about fonts
}
