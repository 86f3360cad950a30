// A program that ends in all the ways in which programs end, told by its own first argument, and
// that shows what it was given.
#include "show.h"

#include <flor/flor.h>

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

void print_arguments(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) std::printf("argument %s\n", argv[i]);
  std::printf("%s\n", argv[argc] ? "unterminated" : "terminated");
}

void print_hyper_parameters() {
  std::printf("count %d\n", flor::arg("count", 3));
  std::printf("rate %a\n", flor::arg("rate", 0.5));
  std::printf("fast %d\n", flor::arg("fast", false) ? 1 : 0);
  std::printf("title %s\n", flor::arg("title", "none").c_str());
}

/// A child that ends like any program must not end the recording of its parent.
void fork_and_exit() {
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    flor::log("child", 1);
    std::exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  std::printf("child %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

void use_a_thread() {
  std::thread([] {
    for (const int i : flor::loop("elsewhere", 2)) flor::log("thread", i);
  }).join();
}

void end_by(const std::string& what) {
  if (what == "exit") std::exit(3);
  if (what == "exit_well") std::exit(0);
  if (what == "quick") ::_exit(0);
  if (what == "throw") throw std::runtime_error("out of data");
  if (what == "throw_int") throw 5;
  if (what == "abort") std::abort();
  if (what == "fork") fork_and_exit();
  if (what == "thread") use_a_thread();
  if (what == "huge") flor::log("text", std::string(1 << 20, 'x'));
}

int train(const std::string& what) {
  if (what == "required") std::printf("needed %d\n", flor::arg<int>("needed"));
  if (what == "arguments") print_hyper_parameters();
  if (what == "random") std::srand(0);
  std::mt19937 engine(1);
  double value = 0;
  const auto state = flor::checkpoints(flor::named("engine", engine), flor::named("value", value));
  if (what == "silent") {  // no loops but those of the program's own, no values
    for (int i = 0; i < 3; ++i) value += static_cast<double>(engine());
    return 0;
  }
  for (const int epoch : flor::loop("epoch", 4)) {
    for (const int step : flor::loop("train", 3)) {
      value = 0.5 * value + static_cast<double>(engine() % 1000);
      if (what == "other_values") value += 1;
      flor::log("value", value);
      show("step", epoch, step, value);
    }
    if (what == "random") show("tail", std::rand());
    if (epoch == 1 && what == "stop") break;
    if (epoch == 2) end_by(what);
    show("tail", epoch, value);
  }
  return what == "fail" ? 4 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  auto session = flor::init(argc, argv);
  print_arguments(argc, argv);
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "catch") {
    try {
      return train("throw");
    } catch (const std::exception&) {
      return 5;
    }
  }
  const int status = train(what);
  if (what == "finish") {
    session.finish();
    flor::log("too_late", 1);
    for (const int i : flor::loop("late", 2)) std::printf("late %d\n", i);
  }
  return status;
}
