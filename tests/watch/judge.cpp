// Evaluators as a user writes them, for `flor watch --evaluator judge.so:SYMBOL`.
#include <flor/evaluator.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

extern "C" {
flor_evaluator size, crash, refuse, nothing;

const char* size(const char* path) {
  static std::string json;
  json = "{\"bytes\": " + std::to_string(std::filesystem::file_size(path)) + "}";
  return json.c_str();
}
const char* crash(const char*) { std::abort(); }
const char* refuse(const char*) { throw std::runtime_error("these weights are no good"); }
const char* nothing(const char*) { return nullptr; }
}
