// flor::init, and the session that it opens: off, recording, or replaying.
#pragma once

#include <flor/store/error.h>
#include <flor/store/keep_rules.h>

#include <filesystem>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace flor {

enum class Mode { off, record, replay };

/// One execution of the instrumented program. At most one session is open at a time; flor::loop,
/// flor::log and the other functions act on it, and do nothing without one. It ends when this
/// object is destroyed, or when the process exits. Move-only.
class [[nodiscard("the session ends with this object: keep it until the end of main")]] Session {
 public:
  explicit Session(Mode mode) : mode_(mode) {}  ///< made by flor::init
  ~Session();
  Session(Session&& other) noexcept;             ///< `other` is left off: it ends no run
  Session& operator=(Session&& other) noexcept;  ///< ends this session first

  Mode mode() const { return mode_; }  ///< the mode that flor::init chose
  /// Key of the run that is recorded or replayed, 16 hexadecimal digits; empty if off.
  std::string run() const;
  /// From this call on, the run keeps only the checkpoints that the strategy asks for; see
  /// <flor/checkpoint_strategy.h>. Without effect unless recording. Throws UsageError, in every
  /// mode, if the strategy is invalid.
  void keep(const store::CheckpointStrategy& strategy) const;
  /// Ends the session. Everything recorded is durable when this returns. Never throws.
  void finish() noexcept;

 private:
  Mode mode_;
};

/// Opens the session that Flor's flags ask for, and removes those flags from `argv`; all other
/// arguments stay. Without Flor's flags the session is off, and the program behaves as it would
/// without Flor. If the flags are wrong, or recording cannot start, prints the reason in one line
/// on stderr and ends the program (status 2 for wrong usage; see ExitStatus). docs/cli.md lists the
/// flags.
///
/// When a replay found values or state that differ from the record, an exit status of 0 becomes 7.
Session init(int& argc, char** argv, const char* source_file = __builtin_FILE());
inline Session init(int& argc, const char** argv, const char* source_file = __builtin_FILE()) {
  return init(argc, const_cast<char**>(argv), source_file);
}
inline Session init(int* argc, char** argv, const char* source_file = __builtin_FILE()) {
  return init(*argc, argv, source_file);
}

/// Opens the session in a `main()` without parameters: reads the command line of the process, and
/// leaves it as it is. If the command line cannot be read, the session is off, and a line on stderr
/// says so.
Session init(const char* source_file = __builtin_FILE());

/// One of several recordings that a program makes one after another.
struct Recording {
  std::string name;                           ///< name of the experiment
  std::map<std::string, std::string> kwargs;  ///< values for flor::arg, as --kwargs gives them
  std::filesystem::path home;                 ///< empty: FLOR_HOME, else ~/.flor
  std::vector<std::string> flags;  ///< other flags, such as {"--flor_every", "1", "--flor_no_git"}
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

/// Names flags of the program's own that look like misspelt flags of Flor, so that flor::init
/// accepts them: `flor::own_flags({"--record"})`. To be called before flor::init.
void own_flags(std::initializer_list<std::string_view> names);

/// Returns `path`, a file or directory that the program reads:
/// `std::ifstream(flor::input("data/train.csv"))`. The run records its place, its size, and a
/// digest of its content (XXH3-128; of a directory, of all names and contents below it, where a
/// link counts as the text of the link). A replay whose input has other content is doubtful and
/// names the file; a run that is resumed or forked says so in a line. `flor show` names the runs
/// that wrote the same content by flor::output.
///
/// Reads the content at once, before it returns; later only if the size or the times of the files
/// have changed, in other runs of this store, too. A path that cannot be read is no input: a line
/// says so, and the program goes on. To be called before the file is opened; any thread.
std::filesystem::path input(const std::filesystem::path& path);

/// Returns where the program should write a file of its own:
/// `std::ofstream(flor::output("samples/7.png"))`. This is `path` itself, whose directories are
/// created. During a replay it is the same path below a directory in the store, one for each
/// process of the replay, so that the files of the recorded run are not overwritten. The file is an
/// output of the run: its size and digest are taken when the run ends, also if it is interrupted or
/// fails. A process that is killed records none. Any thread.
std::filesystem::path output(const std::filesystem::path& path);

/// The mode of the current session.
Mode mode() noexcept;
inline bool recording() noexcept { return mode() == Mode::record; }
inline bool replaying() noexcept { return mode() == Mode::replay; }
/// True while a replay visits iterations only to rebuild the state from which the requested ones
/// start. Values logged meanwhile are not kept.
bool catching_up() noexcept;

}  // namespace flor
