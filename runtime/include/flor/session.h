// flor::init and the session it opens: off, recording, or replaying.
#pragma once

#include <flor/store/error.h>
#include <flor/store/ranking.h>

#include <filesystem>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace flor {

enum class Mode { off, record, replay };

/// One execution of the instrumented program. There is at most one at a time; flor::loop, flor::log
/// and the others act on it, and do nothing without it. Ends with this object, or when the process
/// exits. Move-only.
class [[nodiscard("the session ends with this object: keep it until the end of main")]] Session {
 public:
  explicit Session(Mode mode) : mode_(mode) {}  ///< made by flor::init
  ~Session();
  Session(Session && other) noexcept;            ///< the other one ends no run
  Session& operator=(Session&& other) noexcept;  ///< ends this session first

  Mode mode() const { return mode_; }  ///< the mode that flor::init chose
  /// Key of the run that is recorded or replayed, 16 hexadecimal digits; empty if off.
  std::string run() const;
  /// From now on the run keeps only the checkpoints that the strategy asks for; see
  /// <flor/checkpoint_strategy.h>. Without effect unless recording. Throws UsageError, in every
  /// mode, if the strategy makes no sense.
  void keep(const store::CheckpointStrategy& strategy) const;
  /// Ends the session now: everything is durable when this returns. Never throws.
  void finish() noexcept;

 private:
  Mode mode_;
};

/// Opens the session that Flor's flags ask for and takes them out of `argv`; every other argument
/// is left alone. Without Flor's flags the session is off, and the program is what it would be
/// without Flor. Where the flags are wrong, or recording cannot start, it says why in one line on
/// stderr and ends the program (status 2 for usage; see ExitStatus). docs/cli.md lists the flags.
///
/// At exit the status of a replay that differs from its record becomes 7 if it was 0.
Session init(int& argc, char** argv, const char* source_file = __builtin_FILE());
inline Session init(int& argc, const char** argv, const char* source_file = __builtin_FILE()) {
  return init(argc, const_cast<char**>(argv), source_file);
}
inline Session init(int* argc, char** argv, const char* source_file = __builtin_FILE()) {
  return init(*argc, argv, source_file);
}

/// The same for a `main()` without parameters: reads the command line of the process, which stays
/// as it is. Where it cannot be read the session is off, and a line says so.
Session init(const char* source_file = __builtin_FILE());

/// What one of several sessions of a program is to record.
struct Recording {
  std::string name;                           ///< of the experiment
  std::map<std::string, std::string> kwargs;  ///< values for flor::arg, as --kwargs gives them
  std::filesystem::path home;                 ///< empty: FLOR_HOME, else ~/.flor
  std::vector<std::string> flags;             ///< others, as {"--flor_every", "1", "--flor_no_git"}
};

/// Records a run without a command line, for a program that does so again and again, as a server:
///
///   for (const Request& request : requests()) {
///     auto session = flor::init({.name = "requests", .kwargs = {{"user", request.user}}});
///     train(request);
///   }  // each run is durable when its session ends
///
/// One session at a time; what is registered ends with it. The sources are committed again only
/// where they changed. Flor's flags on the command line of the process are not looked at, but for
/// --replay_flor. A replay of such a run executes the program from its start: the sessions before
/// it are off, and the process ends where that one does. That is of use if the program does the
/// same again then, and no server.
///
/// Throws UsageError where the recording is not one, and Error where it cannot begin, as while
/// another session is open, in whatever thread. To be called in any thread, to which the loops of
/// the session belong then.
Session init(const Recording& recording, const char* source_file = __builtin_FILE());

/// Names flags of the program that look like slips of Flor's, so that they are not refused:
/// `flor::own_flags({"--record"})`. To be called before flor::init.
void own_flags(std::initializer_list<std::string_view> names);

/// A path for a file of the program's own: `std::ofstream(flor::output("samples/7.png"))`. The path
/// itself, with its directories made; during a replay the same path in a directory of that replay
/// (of each of its processes, where it has several) in the store, so that the files of the
/// recording stay.
std::filesystem::path output(const std::filesystem::path& path);

/// The mode of the current session.
Mode mode() noexcept;
inline bool recording() noexcept { return mode() == Mode::record; }
inline bool replaying() noexcept { return mode() == Mode::replay; }
/// True while a replay visits iterations only to rebuild the state that the next one starts from;
/// values logged then are not kept.
bool catching_up() noexcept;

}  // namespace flor
