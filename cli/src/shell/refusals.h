// Several runs, one after another: a refused one is reported, and does not keep the others from
// being done.
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

  /// Does `work`, for one of `count` runs. Where that throws an Error it prints "WHAT: why" in a
  /// line and returns the reason; else it returns nothing. Throws the Error where the run is the
  /// only one, and where a place does not answer for the second run in a row: it would not answer
  /// for the others either.
  std::string attempt(std::size_t count, std::string_view what, const std::function<void()>& work);

  /// The status with which to end: that of the first refusal, but damage counts more.
  ExitStatus status() const { return status_; }
  void add(ExitStatus status);

 private:
  Context& context_;
  ExitStatus status_ = ExitStatus::done;
  bool was_unreachable_ = false;
};

}  // namespace flor::cli
