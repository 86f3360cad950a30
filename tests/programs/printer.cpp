// Prints in every way, one a scenario: --kwargs scenario=NAME.
#include <flor/flor.h>

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>

namespace {

void write_all(const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t count = ::write(STDOUT_FILENO, text.data() + at, text.size() - at);
    if (count <= 0) std::exit(3);
    at += static_cast<std::size_t>(count);
  }
}

/// Computes for about `mib` seconds, and prints a MiB in each, in lines of 64 bytes. Prints how
/// long it took on standard error, for bench/printed.py.
double compute_and_print(double state, int mib) {
  const auto begin = std::chrono::steady_clock::now();
  constexpr int kLines = 1 << 14, kUnit = 12'000;
  for (int i = 0; i < mib * kLines; ++i) {
    for (int j = 0; j < kUnit; ++j) state = state * 0.999999 + 1e-7;
    std::printf("step %10d: loss=%.10f, and some more words of it\n", i, state);
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::fprintf(stderr, "took %.4f s\n", took.count());
  return state;
}

/// Does what the scenario wants at the end of the epoch 2.
void end_of(const std::string& scenario, int mib) {
  if (scenario == "abort") {
    std::fputs("the last words", stderr);
    std::abort();
  }
  if (scenario == "exit") {
    write_all("the last words");
    std::_Exit(5);
  }
  if (scenario == "kill") {
    write_all("the last words");
    ::raise(SIGKILL);
  }
  if (scenario == "child" && std::system("echo of a child; echo of its errors >&2") != 0) {
    std::exit(4);
  }
  if (scenario == "bytes") {
    std::string all;
    for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
    write_all(all + "\n");
  }
  if (scenario == "long") write_all(std::string(3 << 20, 'x') + "\n");
  if (scenario == "much") {
    const std::string line = "a line that is as long as many lines of trainings are: 0123456789\n";
    std::string block;
    while (block.size() + line.size() <= 1 << 16) block += line;
    for (std::size_t sum = 0; sum >> 20 < static_cast<std::size_t>(mib); sum += block.size()) {
      write_all(block);
    }
  }
  if (scenario == "away") {
    std::fflush(stdout);
    const int file = ::open("elsewhere.txt", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ::dup2(file, STDOUT_FILENO);
    ::close(file);
  }
  if (scenario == "cut") {
    std::fflush(stdout);
    if (::ftruncate(STDOUT_FILENO, 0) != 0) std::exit(4);
  }
  if (scenario == "closed") {
    ::close(STDOUT_FILENO);
    ::close(STDERR_FILENO);
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::cout << "before flor::init" << std::endl;
  auto session = flor::init(argc, argv);
  const std::string scenario = flor::arg("scenario", std::string("plain"));
  const int mib = flor::arg("mib", 1), epochs = flor::arg("epochs", 4);
  std::printf("begins on %s\n", ::isatty(STDOUT_FILENO) ? "a terminal" : "no terminal");
  double state = 1;
  auto checkpoints = flor::checkpoints(state);
  for (const int epoch : flor::loop("epoch", epochs)) {
    for (const int step : flor::loop("train", 2)) {
      state = 0.5 * state + step;
      std::printf("step %d of %d: loss=%.3f\n", step, epoch, state);
    }
    if (scenario == "pace") state = compute_and_print(state, mib);
    std::cout << "epoch " << epoch << " took " << epoch + 1 << " s\n";
    std::cerr << "a warning of epoch " << epoch << "\n";
    if (epoch == 2) end_of(scenario, mib);
  }
  std::printf("after the loops\n");
  return 0;
}
