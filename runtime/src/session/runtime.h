// The common part of recording and replaying: the session's loops, state and log.
#pragma once

#include "base/background_thread.h"
#include "protocol/flags.h"
#include "retention/retention.h"
#include "session/journal.h"
#include "session/loaded_inputs.h"
#include "session/pinned.h"
#include "session/used_files.h"
#include "session/visited_places.h"
#include "state/registry.h"

#include <flor/arg.h>
#include <flor/iteration.h>
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

/// How many nested calls of Flor's functions this thread is in. Above 0 it may hold one of Flor's
/// mutexes.
inline thread_local int inside_flor = 0;
class Inside {
 public:
  Inside() { ++inside_flor; }
  ~Inside() { --inside_flor; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
};

/// Runs a part of Flor. It unwinds the stack before an exception leaves, even if nothing catches
/// it. In that case the end of the run is entered while the process terminates, and neither this
/// nor the background thread may find a lock of the catalog held.
template <typename Body>
decltype(auto) run_inside(Body&& body) {
  const Inside inside;
  try {
    return body();
  } catch (...) {
    throw;
  }
}

/// `name` with characters replaced that have a meaning in paths; "loop" for none.
std::string safe_loop_name(std::string_view name);

/// A loop that is being executed.
struct LoopScope::Frame {
  Frame(std::string own_name, LoopSettings own_settings)
      : name(std::move(own_name)), settings(std::move(own_settings)) {}

  /// The name that the program gave, made safe to print; "loop" if it gave none.
  std::string name;
  /// `name`, with "~2" if this is the loop's second execution in the parent's iteration, and so on.
  std::string component;
  LoopSettings settings;
  LoopPlace place;
  std::size_t depth = 0;    ///< 0: main loop, 1: nested
  std::uint32_t path = 0;   ///< id of the interned path of components
  std::int64_t index = 0;   ///< index of the current iteration, or number of complete ones
  std::int64_t limit = -1;  ///< at most this many iterations; negative: no limit
  /// Whether a loop that reaches `limit` ends like a `break`, without advancing its range once
  /// more.
  bool limit_broke = true;
  bool cut = false;         ///< the limit was reached although the range had more
  bool opened = false;      ///< `begin` was called
  bool inside = false;      ///< its body is being executed
  bool visited = true;      ///< false: its recorded effect was loaded instead
  bool exhausted = false;
  /// A resumed loop that is still stepping to its first iteration.
  bool arriving = false;
  int exceptions = 0;     ///< number in flight when the loop was made
  Clock::time_point opened_at;
  /// How often each nested loop was begun in the current iteration, by name.
  std::map<std::string, int, std::less<>> children;

  /// A loop inside a flor::iteration, which gives places to what is logged, no more.
  struct Named {
    std::unique_ptr<Iteration> current;  ///< null between iterations
  };
  std::optional<Named> named;

  // Main loops.
  std::int64_t ordinal = -1;     ///< number among the recorded main loops; -1: none of them
  std::int64_t first_epoch = 0;  ///< number of iterations of the main loops before it
  std::optional<std::uint64_t> count;
  struct IterationTime {
    Clock::time_point began;
    double flor_seconds = 0;  ///< seconds of Flor's own work in this iteration
  };
  IterationTime iteration;
  std::vector<std::uint64_t> registered;  ///< tickets of the attached locals
};

using Frame = LoopScope::Frame;

/// The session. All functions except those for logging belong to the thread that called flor::init.
class Runtime {
 public:
  Runtime(Flags flags, std::shared_ptr<store::Store> store);
  virtual ~Runtime() = default;

  virtual Mode mode() const = 0;
  virtual const store::Run& run() const = 0;
  bool own_thread() const { return std::this_thread::get_id() == thread_; }
  virtual bool catching_up() const { return false; }
  /// True while the range of a main loop is begun or advanced: its body is not being executed.
  bool is_between_epochs() const { return !frames_.empty() && !frames_.front()->inside; }

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
  /// The recorded load of a checkpoint at this place, see LoadedInputs.
  std::optional<RecordedLoad> next_load(std::string_view text) {
    return visits_.loads.next(store_->catalog(), run(), text, journal_);
  }
  /// The value that the program was told when it pinned one of this name here; nothing where it is
  /// to ask anew.
  virtual std::optional<store::Value> recorded_pinned(std::string_view name) = 0;

  virtual std::optional<std::string> argument_text(std::string_view name, Fallback fallback) = 0;
  virtual void note_argument(const store::Argument& argument) = 0;

  /// Called before code that may write the registered state. Any thread may call it.
  virtual void fence() noexcept {}
  /// Called when an iteration of a nested or deeper loop begins while a fence would have something
  /// to do.
  virtual void settle() noexcept {}

  // Retention, see <flor/checkpoint_strategy.h>.
  virtual void keep_checkpoints(const store::CheckpointStrategy&) {}
  /// Takes a checkpoint, and returns its name, or an empty text if none was taken. `name` may be
  /// empty. Without `objects` it has all that is registered.
  virtual std::string save_checkpoint(std::string_view name,
                                      const std::map<std::string, double>& scores,
                                      std::vector<Slot> objects) = 0;
  virtual void score_checkpoint(std::string_view, const std::map<std::string, double>&) {}
  /// The stored checkpoint that is the best, or the newest.
  virtual std::optional<store::FoundCheckpoint> find_checkpoint(bool best) = 0;

  /// Ends the session. Returns the status with which the process should end instead of 0.
  virtual ExitStatus finish(bool failed, std::string_view message) noexcept = 0;
  /// Called when the program ends with an error status after its session had ended in order.
  virtual void failed_after_all(std::string_view /*why*/) noexcept {}
  /// Drops the session, which should not have begun.
  virtual void abandon(std::string_view why) noexcept = 0;
  /// Called in a child of fork(): releases locks, so that other processes do not take the child for
  /// the session's process.
  virtual void forget_in_child() noexcept {}

 protected:
  virtual LoopScope::Start begin_main(Frame& frame, bool random_access) = 0;
  virtual bool enter_main(Frame& frame) = 0;
  virtual LoopScope::Move leave_main(Frame& frame) = 0;
  virtual void end_main(Frame& frame, LoopEnd how) = 0;
  virtual LoopScope::Start begin_nested(Frame& frame) = 0;
  /// Called after an iteration of a nested loop. Returns the steps to the next one, see
  /// LoopScope::Move.
  virtual std::int64_t leave_nested(Frame&) { return 1; }
  /// Called before the first iteration of a nested loop whose frame has `arriving` set.
  virtual void reach(Frame&) {}
  virtual void end_nested(Frame& frame, LoopEnd how) = 0;
  /// Called after a nested loop, executed or skipped, when the place is that of its parent again.
  virtual void left_nested(Frame&, LoopEnd) {}
  /// Keeps a batch of logged values. Called on the background thread.
  virtual void keep(LogBatch batch) = 0;

  void start_journal();
  void flush_journal();                     ///< on the background thread
  /// Called a few times a second on the background thread.
  virtual void tick() { flush_journal(); }

  /// The recorded saved checkpoints of the run, by their places as text.
  std::map<std::string, store::SavedCheckpoint> recorded_saves() const;
  /// The attached locals of the nested loop that is being executed.
  std::vector<Slot> attached_here() const;
  /// The key for a checkpoint that is being saved; its name is not set yet.
  store::CheckpointKey save_key(std::int64_t main_loops) const;

  /// Sets the journal's place to the one that the frames define.
  void update_place();

  const Frame& main_frame() const { return *frames_.front(); }
  std::string key_of(const Frame& nested) const { return nested.component; }

  Flags flags_;
  std::shared_ptr<store::Store> store_;
  Registry registry_;
  Journal journal_;
  /// The places at which the program did something by which it is known again.
  struct Visits {
    VisitedPlaces saves;
    LoadedInputs loads;
    PinnedValues pinned;
  };
  Visits visits_;
  std::vector<Frame*> frames_;
  std::map<std::string, int, std::less<>> main_loops_begun_;
  /// The priority that all of Flor's background threads share.
  std::shared_ptr<store::BackgroundPriority> priority_ =
      std::make_shared<store::BackgroundPriority>();
  std::unique_ptr<Background> background_;

 private:
  void set_index(const Frame& frame, std::int64_t index);

  std::thread::id thread_ = std::this_thread::get_id();
};

/// Does the work of flor::init. Throws where flor::init prints the reason and ends the program.
Session open_session(int& argc, char** argv, const char* source_file);
/// The same for one of the sessions that a program opens one after another (flor::Recording).
/// `words`: a command line that asks for it. `command`: the command line of the process.
Session open_one_of_many(std::vector<std::string> words, std::vector<std::string> command,
                         const char* source_file);
/// Ends the session, if there is one, as that of a program that failed.
void fail_session(std::string_view why) noexcept;
/// The current session, or null.
Runtime* runtime() noexcept;
/// The store of a program whose session is off.
std::filesystem::path home_without_session();

std::unique_ptr<Runtime> make_recorder(Flags flags);
std::unique_ptr<Runtime> make_replayer(Flags flags);

/// Writes out buffered output of the program. `end_process` also ends the process, without exit
/// handlers.
void flush_streams() noexcept;
[[noreturn]] void end_process(ExitStatus status) noexcept;

/// Reports an error that must not be thrown into the program, and ends the process with its status.
[[noreturn]] void die(const std::exception& error) noexcept;
/// Ends the session and then the process: writes out the buffers of stdio and std::cout, but runs
/// neither destructors nor exit handlers. `status` is used if the session's own status is 0. Any
/// thread may call it.
[[noreturn]] void end_program(ExitStatus status) noexcept;

}  // namespace flor::detail
