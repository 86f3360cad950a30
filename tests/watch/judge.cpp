// Evaluators as a user writes them, for `flor watch --evaluator judge.so:SYMBOL`.
#include <flor/plugin/evaluator.h>

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

extern "C" {
flor_evaluator size, crash, refuse, nothing, note, noisy;

const char* size(const char* path) {
  static std::string json;
  json = "{\"bytes\": " + std::to_string(std::filesystem::file_size(path)) + "}";
  return json.c_str();
}
const char* crash(const char*) { std::abort(); }
const char* refuse(const char*) { throw std::runtime_error("these weights are no good"); }
/// Appends the path to the file that $FLOR_TEST_NOTES names.
const char* note(const char* path) {
  std::ofstream(std::getenv("FLOR_TEST_NOTES"), std::ios::app) << path << '\n';
  return "1";
}
/// Writes more than is kept of it.
const char* noisy(const char*) {
  const std::string line(1 << 20, 'x');
  for (int i = 0; i < 200; ++i) std::fwrite(line.data(), 1, line.size(), stdout);
  std::fflush(stdout);
  ::sleep(3);
  return "1";
}
const char* nothing(const char*) { return nullptr; }
}
