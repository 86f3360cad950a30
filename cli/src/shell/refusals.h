// Processes several runs one after another: an error with one run is reported, and the others are
// still processed.
#pragma once

#include <flor/store/error.h>

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace flor::cli {

class Context;

class Refusals {
 public:
  explicit Refusals(Context& context) : context_(context) {}

  /// Calls `work`, for one of `count` runs. If it throws an Error, prints "WHAT: why" and returns
  /// the reason; else returns an empty text. Rethrows the Error if there is only one run, or if an
  /// object store is unreachable for the second run in a row, since it would be for the others,
  /// too.
  std::string attempt(std::size_t count, std::string_view what, const std::function<void()>& work);

  /// The exit status for the command: that of the first error, but `damaged` takes precedence.
  ExitStatus status() const { return status_; }
  void add(ExitStatus status);

 private:
  Context& context_;
  ExitStatus status_ = ExitStatus::done;
  bool was_unreachable_ = false;
};

}  // namespace flor::cli
