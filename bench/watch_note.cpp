// For watch.sh: an evaluator that records when it was called, as a function and as a program.
#include <flor/plugin/evaluator.h>

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

extern "C" flor_evaluator note;

const char* note(const char* path) {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  const std::string line =
      std::string(path) + " " + std::to_string(now.tv_sec * 1'000'000'000LL + now.tv_nsec) + "\n";
  static const int notes =
      ::open(std::getenv("FLOR_BENCH_NOTES"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  const bool written = ::write(notes, line.data(), line.size()) > 0;
  return written ? "{\"n\": 1}" : nullptr;
}

int main(int, char** argv) { return std::puts(note(argv[1])) > 0 ? 0 : 1; }
