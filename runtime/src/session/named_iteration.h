// The iterations that threads of the program have named by flor::iteration, and values of
// iterations on their way to the journal.
#pragma once

#include <flor/iteration.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace flor {
namespace detail {
class Journal;
class Runtime;
}  // namespace detail

/// Where the values that are logged in it belong. Its name and index stand behind those of a main
/// loop and a nested one: where there are none, the path has empty names for them.
struct Iteration::Place {
  const detail::Journal* journal = nullptr;  ///< of its session
  std::string path_text;   ///< "//document", "epoch//document", "epoch/train/document"
  std::uint32_t path = 0;  ///< the same, interned
  std::int64_t epoch = -1, step = -1;
  std::string inner;  ///< as in store::Place
  std::string name;   ///< as the program gave it, made safe
  std::atomic<bool> is_over{false};
  Place* outer = nullptr;       ///< the one around it in its thread
  std::shared_ptr<Place> self;  ///< until the thread has noticed that it is over
  std::map<std::string, int, std::less<>> children;  ///< loops that began in it
};

namespace detail {

/// The innermost one of this thread; null if there is none.
Iteration::Place* named_iteration() noexcept;
/// Begins one in this thread, which ends when `is_over`. `component`: its part of the path.
std::shared_ptr<Iteration::Place> begin_iteration(Runtime& session, std::string component,
                                                  std::int64_t index);

/// Keeps the value of the iteration that this thread is in. Never throws; does nothing without a
/// session.
void note_iteration(std::int64_t value) noexcept;
void note_iteration(double value) noexcept;
/// `name`: of the loop.
void note_iteration(std::string_view name, std::string_view value) noexcept;

/// A text as it is kept for an iteration of that name: secrets masked, bytes that are not UTF-8 as
/// \xNN, at most kIterationTextMax bytes, the last of which are "..." if it was cut.
inline constexpr std::size_t kIterationTextMax = 1024;
struct IterationText {
  std::string text;
  bool is_cut = false;
};
IterationText iteration_text(std::string_view name, std::string_view value);

}  // namespace detail
}  // namespace flor
