#include "printed/printed_output.h"

#include "base/hosted_program.h"
#include "printed/file_output.h"
#include "printed/passed_output.h"

#include <fcntl.h>
#include <stdio_ext.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <iostream>

namespace flor::detail {
namespace {

std::atomic<PrintedOutput*> process_output{nullptr};

}  // namespace

std::unique_ptr<PrintedOutput> PrintedOutput::make(const Options& options) {
  constexpr std::array kBoth{STDOUT_FILENO, STDERR_FILENO};
  auto files = std::make_unique<FileOutput>(options);
  const bool suffices = std::ranges::all_of(
      kBoth, [&](int each) { return ::fcntl(each, F_GETFD) < 0 || files->reads(each); });
  // Ranks, and whichever processes share a file, are only told apart in between.
  const bool is_between = options.is_asked && (!suffices || options.is_rank || files->is_shared());
  if (is_between) {
    files.reset();
    return std::make_unique<PassedOutput>(options);
  }
  if (!files->begin()) return nullptr;
  return files;
}

void PrintedOutput::publish() noexcept { process_output = this; }

void PrintedOutput::withdraw() noexcept {
  PrintedOutput* self = this;
  process_output.compare_exchange_strong(self, nullptr);
}

void flush_printed() noexcept {
  if (const HostedProgram* hosted = hosted_program()) hosted->flush();
  std::cout.flush();
  if (::__fpending(stdout) > 0) std::fflush(stdout);
}

bool is_same_file(int one, int other) {
  struct stat first {
  }, second{};
  if (::fstat(one, &first) != 0 || ::fstat(other, &second) != 0) return false;
  return first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

void note_printed_place(std::int64_t epoch, std::string_view path, bool kept) noexcept {
  if (PrintedOutput* output = process_output.load(std::memory_order_acquire)) {
    output->move_to(epoch, path, kept);
  }
}

void await_printed() noexcept {
  if (PrintedOutput* output = process_output.load()) output->await_passed();
}

}  // namespace flor::detail
