// The common part of recording and replaying: the session's loops, state and log.
#pragma once

#include "base/background_thread.h"
#include "protocol/flags.h"
#include "retention/retention.h"
#include "session/journal.h"
#include "session/loaded_inputs.h"
#include "session/used_files.h"
#include "session/visited_places.h"
#include "state/registry.h"

#include <flor/arg.h>
#include <flor/loop.h>
#include <flor/session.h>
#include <flor/store/store.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace flor::detail {

using Clock = std::chrono::steady_clock;
inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

enum class LoopEnd { exhausted, broke, failed };

/// How deep this thread is in functions of Flor that may hold a mutex.
inline thread_local int inside_flor = 0;
class Inside {
 public:
  Inside() { ++inside_flor; }
  ~Inside() { --inside_flor; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
};

/// Runs a part of Flor. An exception leaves it with everything unwound, even if it is never caught:
/// then the end of the run is entered from where the process terminates, and neither that nor the
/// background may find a lock of the catalog held.
template <typename Body>
decltype(auto) run_inside(Body&& body) {
  const Inside inside;
  try {
    return body();
  } catch (...) {
    throw;
  }
}

/// A loop that is being executed.
struct LoopScope::Frame {
  Frame(std::string own_name, LoopSettings own_settings)
      : name(std::move(own_name)), settings(std::move(own_settings)) {}

  std::string name;       ///< as the program gave it, made safe; "loop" if it gave none
  std::string component;  ///< the same with "~2" for a second execution in the parent's iteration
  LoopSettings settings;
  LoopPlace place;
  std::size_t depth = 0;    ///< 0: main loop, 1: nested
  std::uint32_t path = 0;   ///< interned path of components
  std::int64_t index = 0;   ///< of the current iteration, or the number of complete ones
  std::int64_t limit = -1;  ///< at most that many iterations, if not negative
  bool limit_broke = true;  ///< the last of them ends before the range is advanced once more
  bool cut = false;         ///< the limit was reached, but the range had more
  bool opened = false;      ///< `begin` was called
  bool inside = false;      ///< in the body
  bool visited = true;      ///< false: replaced by its recorded effect
  bool exhausted = false;
  bool arriving = false;  ///< a resumed loop: the steps to its first iteration are not over yet
  int exceptions = 0;     ///< in flight when the loop was made
  Clock::time_point opened_at;
  std::map<std::string, int, std::less<>> children;  ///< loops begun in the current iteration

  // Main loops.
  std::int64_t ordinal = -1;     ///< -1: not one of the recorded ones
  std::int64_t first_epoch = 0;  ///< number of iterations of the main loops before it
  std::optional<std::uint64_t> count;
  Clock::time_point iteration_began;
  double flor_seconds = 0;                ///< Flor's own time in this iteration
  std::vector<std::uint64_t> registered;  ///< tickets of the attached locals
};

using Frame = LoopScope::Frame;

/// The session. All but the logging functions belong to the thread that called flor::init.
class Runtime {
 public:
  Runtime(Flags flags, std::shared_ptr<store::Store> store);
  virtual ~Runtime() = default;

  virtual Mode mode() const = 0;
  virtual const store::Run& run() const = 0;
  bool own_thread() const { return std::this_thread::get_id() == thread_; }
  virtual bool catching_up() const { return false; }

  // Loops, see LoopScope.
  void name_loop(Frame& frame);
  LoopScope::Start begin_loop(Frame& frame, bool random_access);
  bool enter_iteration(Frame& frame);
  LoopScope::Move leave_iteration(Frame& frame);
  void end_loop(Frame& frame, LoopEnd how);
  virtual void arrive(Frame& frame, bool gone) = 0;

  virtual ProgramFiles& files() = 0;

  Registry& registry() { return registry_; }
  Journal& journal() { return journal_; }
  store::Store& store() { return *store_; }
  /// The checkpoint that the run loaded at this place by its record, see LoadedInputs.
  std::optional<RecordedLoad> next_load(std::string_view text) {
    return visits_.loads.next(store_->catalog(), run(), text, journal_);
  }

  virtual std::optional<std::string> argument_text(std::string_view name, Fallback fallback) = 0;
  virtual void note_argument(const store::Argument& argument) = 0;

  /// The code after this may write the registered state; any thread.
  virtual void fence() noexcept {}
  /// An iteration of a nested or deeper loop begins while a fence would have something to do.
  virtual void settle() noexcept {}

  // Retention, see <flor/checkpoint_strategy.h>.
  virtual void keep_checkpoints(const store::CheckpointStrategy&) {}
  /// Takes a checkpoint here; returns its name, empty if there is none. `name` may be empty. No
  /// `objects`: of all that is registered.
  virtual std::string save_checkpoint(std::string_view name,
                                      const std::map<std::string, double>& scores,
                                      std::vector<Slot> objects) = 0;
  virtual void score_checkpoint(std::string_view, const std::map<std::string, double>&) {}
  /// The best stored checkpoint, or the newest.
  virtual std::optional<store::FoundCheckpoint> find_checkpoint(bool best) = 0;

  /// Ends the session; returns the status that the process should end with if it would have been 0.
  virtual ExitStatus finish(bool failed, std::string_view message) noexcept = 0;
  /// The program, whose session had ended in order, ends with a status that says otherwise.
  virtual void failed_after_all(std::string_view /*why*/) noexcept {}
  /// Forgets the session because it should not have begun.
  virtual void abandon(std::string_view why) noexcept = 0;
  /// In a child of fork(): releases locks that would make others think that the session lives
  /// there.
  virtual void forget_in_child() noexcept {}

 protected:
  virtual LoopScope::Start begin_main(Frame& frame, bool random_access) = 0;
  virtual bool enter_main(Frame& frame) = 0;
  virtual LoopScope::Move leave_main(Frame& frame) = 0;
  virtual void end_main(Frame& frame, LoopEnd how) = 0;
  virtual LoopScope::Start begin_nested(Frame& frame) = 0;
  /// After an iteration of a nested loop. The steps to the next one, as LoopScope::Move has them.
  virtual std::int64_t leave_nested(Frame&) { return 1; }
  /// Before the first iteration of a nested loop that was begun with `arriving`.
  virtual void reach(Frame&) {}
  virtual void end_nested(Frame& frame, LoopEnd how) = 0;
  /// After a nested loop, executed or not; the place is that of its parent again.
  virtual void left_nested(Frame&, LoopEnd) {}
  /// Keeps a batch of logged values; on the background thread.
  virtual void keep(LogBatch batch) = 0;

  void start_journal();
  void flush_journal();                     ///< on the background thread
  virtual void tick() { flush_journal(); }  ///< a few times a second, on the background thread

  /// The recorded checkpoints of the run by their places, as texts.
  std::map<std::string, store::SavedCheckpoint> recorded_saves() const;
  /// The attached locals of the nested loop that is being executed.
  std::vector<Slot> attached_here() const;
  /// The key of a checkpoint that is saved now; its name is still missing.
  store::CheckpointKey save_key(std::int64_t main_loops) const;

  /// Sets the place that the frames define.
  void update_place();

  const Frame& main_frame() const { return *frames_.front(); }
  std::string key_of(const Frame& nested) const { return nested.component; }

  Flags flags_;
  std::shared_ptr<store::Store> store_;
  Registry registry_;
  Journal journal_;
  /// Checkpoints that the program saves and loads, by their places.
  struct Visits {
    VisitedPlaces saves;
    LoadedInputs loads;
  };
  Visits visits_;
  std::vector<Frame*> frames_;
  std::map<std::string, int, std::less<>> main_loops_begun_;
  /// The priority of all of Flor's background threads.
  std::shared_ptr<store::BackgroundPriority> priority_ =
      std::make_shared<store::BackgroundPriority>();
  std::unique_ptr<Background> background_;

 private:
  void set_index(const Frame& frame, std::int64_t index);

  std::thread::id thread_ = std::this_thread::get_id();
};

/// flor::init, throwing where that says why and ends the program.
Session open_session(int& argc, char** argv, const char* source_file);
/// The session, or null.
Runtime* runtime() noexcept;
/// The store of a program whose session is off.
std::filesystem::path home_without_session();

std::unique_ptr<Runtime> make_recorder(Flags flags);
std::unique_ptr<Runtime> make_replayer(Flags flags);

/// Flushes the program's output and ends the process, without running its exit handlers.
void flush_streams() noexcept;
[[noreturn]] void end_process(ExitStatus status) noexcept;

/// Reports an error that must not be thrown and ends the process with its status.
[[noreturn]] void die(const std::exception& error) noexcept;
/// Ends the session and then the process at once: buffers of stdio and std::cout are written,
/// destructors and handlers for the end of the program do not run. `status` where that of the
/// session would be 0. Any thread.
[[noreturn]] void end_program(ExitStatus status) noexcept;

}  // namespace flor::detail
