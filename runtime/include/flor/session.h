// flor::init and the session it opens: off, recording, or replaying.
#pragma once

#include <flor/store/error.h>
#include <flor/store/ranking.h>

#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>

namespace flor {

enum class Mode { off, record, replay };

/// One execution of the instrumented program. There is at most one at a time; flor::loop, flor::log
/// and the others act on it, and do nothing without it. Ends with this object, or when the process
/// exits. Move-only.
class [[nodiscard("the session ends with this object: keep it until the end of main")]] Session {
 public:
  explicit Session(Mode mode) : mode_(mode) {}  ///< made by flor::init
  ~Session();
  Session(Session&& other) noexcept;             ///< the other one ends no run
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

/// Names flags of the program that look like slips of Flor's, so that they are not refused:
/// `flor::own_flags({"--record"})`. To be called before flor::init.
void own_flags(std::initializer_list<std::string_view> names);

/// The path itself, of a file or directory that the program reads:
/// `std::ifstream(flor::input("data/train.csv"))`. The run gets to know what is in there: place,
/// size, and a digest of the content (XXH3-128; of a directory, of all names and contents in it; of
/// a link in it, of where it leads). A replay whose input has other content is doubtful and names
/// the file; a run that is resumed or forked says it in a line. `flor show` names the runs that
/// wrote the same content by flor::output.
///
/// The content is read when it is named, once, and not again as long as the size and the times of
/// the files in there stay the same, in later runs of this store neither. What cannot be read is no
/// input; a line says so, and the program goes on. Call it before the file is opened; any thread.
std::filesystem::path input(const std::filesystem::path& path);

/// A path for a file of the program's own: `std::ofstream(flor::output("samples/7.png"))`. The path
/// itself, with its directories made; during a replay the same path in a directory of that replay
/// (of each of its processes, where it has several) in the store, so that the files of the
/// recording stay. What a recording wrote there is an output of the run: size and digest are those
/// at its end, also where it is interrupted or fails. A killed process tells of none. Any thread.
std::filesystem::path output(const std::filesystem::path& path);

/// The mode of the current session.
Mode mode() noexcept;
inline bool recording() noexcept { return mode() == Mode::record; }
inline bool replaying() noexcept { return mode() == Mode::replay; }
/// True while a replay visits iterations only to rebuild the state that the next one starts from;
/// values logged then are not kept.
bool catching_up() noexcept;

}  // namespace flor
