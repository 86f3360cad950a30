// A question that a program asks of the store: kept with the run, and answered from there again.
#pragma once

#include <flor/pinned.h>
#include <flor/store/error.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flor::detail {

/// One call of flor::query. For the thread of the session.
///
///   QueryCall call(words);
///   if (!call.keeps()) return ask();        // no session
///   if (call.recorded()) return ...;        // then entered()
///   call.begin(); ... call.keep(answer);    // then entered()
class QueryCall {
 public:
  /// `words`: the question as `flor query` has it. Throws UsageError where a session cannot keep
  /// it.
  explicit QueryCall(std::string words);

  bool keeps() const { return call_.pins(); }
  /// The answer that the record has. Throws the error again that the question met then.
  std::optional<std::string> recorded() const;
  /// The keys of the run that asks, and of its other ranks: they answer nothing.
  static std::vector<std::string> own_runs();
  void begin() { call_.begin(); }
  void end() noexcept { call_.end(); }
  /// Throws UsageError where the text, of a column of that name, is a secret: no record may hold
  /// it. An answer is searched before it is kept.
  void refuse_secret(std::string_view column, std::string_view text) const;
  void keep(const std::string& answer);
  /// Also of a refused question: a program that comes past it is told so again.
  void keep_error(ExitStatus status, std::string_view message) noexcept;
  /// The answer, asked or recorded, is an input of a run that is recorded. `runs`: keys of those
  /// that it came from.
  void entered(const std::string& answer, std::int64_t rows, std::vector<std::string> runs) const;

 private:
  void settle() const noexcept;

  std::string words_;
  PinnedCall call_;
};

}  // namespace flor::detail
