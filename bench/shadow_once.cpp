// Makes one shadow commit of the repository around the current directory, as a recorded run does.
// Prints the commit, whether it is new, and the milliseconds that it took inside of the process.
#include "git/shadow.h"

#include <flor/store/error.h>

#include <chrono>
#include <cstdio>

int main() {
  try {
    const auto start = std::chrono::steady_clock::now();
    auto repository = flor::git::Repository::discover(".");
    if (!repository) {
      std::fputs("shadow_once: no git repository here\n", stderr);
      return 3;
    }
    flor::git::CommitOptions options;
    options.message = "shadow_once";
    const auto made = repository->commit_work_tree(options);
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    std::printf("%s %s %.2f\n", made.id.c_str(), made.created ? "new" : "same", took.count());
    for (const std::string& line : made.left_out) {
      std::fprintf(stderr, "left out: %s\n", line.c_str());
    }
  } catch (const flor::Error& error) {
    std::fprintf(stderr, "shadow_once: %s\n", error.what());
    return static_cast<int>(error.status());
  }
}
