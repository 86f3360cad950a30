// flor::init, and all ways in which a session can end.
#include "base/hosted_program.h"
#include "base/notice.h"
#include "base/process_facts.h"
#include "base/settings.h"
#include "printed/printed_output.h"
#include "protocol/flag_names.h"
#include "protocol/sweep_fact.h"
#include "session/build_facts.h"
#include "session/outputs.h"
#include "session/preemption.h"
#include "session/run_choice.h"
#include "session/runtime.h"
#include "session/secret_arguments.h"
#include "worker/worker.h"

#include <flor/adapter.h>
#include <flor/overlap.h>
#include <flor/session.h>
#include <flor/store/store.h>

#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iostream>
#include <memory>

namespace flor {
namespace detail {
namespace {

std::atomic<Runtime*> current{nullptr};
pid_t owner = 0;  // process that has the session; a forked child must not end it
ExitStatus exit_status = ExitStatus::done;  // replaces an exit status of 0
std::terminate_handler previous_terminate = nullptr;
// State registered before flor::init would be lost silently, so flor::init refuses it.
constexpr std::uint64_t kEarly = 0;  // ticket of such state; no registry uses this number
std::size_t early_slots = 0;
bool init_called = false;
bool ended_with_scope = false;  // the session ended before the status of the program was known
/// The state of a program that opens one session after another. A replay replays one of them.
struct ManySessions {
  std::int64_t begun = 0;
  std::optional<Flags> replay;  ///< once it is known that this process replays
  std::int64_t replayed = 0;    ///< the number of that session
  bool asked = false;           ///< whether this process replays is known
  bool goes_on = false;         ///< the program goes on after the session that replays
  bool opened = false;          ///< one of them was opened without a command line
};
ManySessions& many_sessions() {
  static auto* const sessions = new ManySessions;
  return *sessions;
}
std::atomic<bool> is_opening{false};
// Arguments for a session that is off: --kwargs works without recording.
std::map<std::string, std::string> plain_kwargs;
std::string plain_home;  // likewise of --flor_home

/// The session. It is kept until the next one, since other threads may still have a pointer. Never
/// destroyed: static objects are destroyed before the exit handlers end the session, and a forked
/// child has no background thread to wait for.
std::unique_ptr<Runtime>& held() {
  static auto* const runtime = new std::unique_ptr<Runtime>;
  return *runtime;
}

/// Called in a forked child, which has no session: the parent continues it. Mutexes may be held by
/// threads that do not exist in the child.
void forget_in_child() {
  Runtime* session = current.exchange(nullptr);
  session_active = false;
  fence_needed = false;
  if (session) session->forget_in_child();
  (void)held().release();  // its background thread does not exist in the child
  inside_flor = 0;
}

enum class Ending { normal, failed, abandoned };

void end_session(Ending ending, std::string_view message) noexcept {
  if (::getpid() != owner) return;
  Runtime* session = current.exchange(nullptr);
  session_active = false;
  if (!session) return;
  init_called = false;  // what is registered from now on is too early for the next session
  if (ending == Ending::abandoned) {
    session->abandon(message);
    return;
  }
  const ExitStatus status = session->finish(ending == Ending::failed, message);
  if (status != ExitStatus::done) exit_status = status;
}

/// A replay of one of many sessions has no later ones. After that of the command line the program
/// goes on, as most programs have no other.
void end_with_replay() noexcept {
  const ManySessions& many = many_sessions();
  if (::getpid() == owner && many.replay && !many.goes_on) end_process(exit_status);
}

void at_exit(int status, void*) {
  if (::getpid() != owner) return;
  if (inside_flor > 0) {
    // A signal handler interrupted Flor and called exit: Flor's mutexes are never released. What is
    // durable stays, and the run shows as interrupted.
    return;
  }
  const HostedFailure* noted = status == 0 ? nullptr : noted_failure();
  const std::string why = noted         ? noted->why
                          : status == 0 ? std::string()
                                        : fmt::format("the program ended with status {}", status);
  const Runtime* session = current.load();
  const bool is_misused =
      noted && noted->status == ExitStatus::usage && session && session->mode() == Mode::record;
  end_session(status == 0 ? Ending::normal : is_misused ? Ending::abandoned : Ending::failed, why);
  const ManySessions& many = many_sessions();
  const bool is_the_program = !many.opened;  // and not one of its many runs
  if (status != 0 && ended_with_scope && is_the_program && held()) held()->failed_after_all(why);
  if (status == 0 && many.replay && many.begun < many.replayed) {
    say(Level::error,
        fmt::format(
            "nothing was replayed: the run was recorded in session {} of its program, which "
            "ended now after {}: start it as it was started for the recording",
            many.replayed, many.begun));
    exit_status = ExitStatus::differs;
  }
  // std::exit may be called here: glibc runs the remaining handlers and ends with the new status.
  if (status == 0 && exit_status != ExitStatus::done) std::exit(static_cast<int>(exit_status));
  if (noted && noted->status != ExitStatus::failed) std::exit(static_cast<int>(noted->status));
}

/// Handles an uncaught exception: prints one line, sets the right status, and loses no recorded
/// data.
void at_terminate() {
  Runtime* session = current.load();
  const bool ours = session && session->own_thread() && ::getpid() == owner;
  if (const auto exception = std::current_exception(); ours && exception) {
    try {
      std::rethrow_exception(exception);
    } catch (const UsageError& error) {
      say(Level::error, error.what());
      end_session(session->mode() == Mode::record ? Ending::abandoned : Ending::failed,
                  error.what());
      end_process(error.status());
    } catch (const Error& error) {
      say(Level::error, error.what());
      end_session(Ending::failed, error.what());
      end_process(error.status());
    } catch (const std::exception& error) {
      end_session(Ending::failed, error.what());
    } catch (...) {
      end_session(Ending::failed, "an exception of unknown type");
    }
  }
  if (previous_terminate) previous_terminate();
  std::abort();
}

void watch_the_end() {
  owner = ::getpid();
  static const bool once = [] {
    ::on_exit(at_exit, nullptr);
    ::pthread_atfork(nullptr, nullptr, forget_in_child);
    previous_terminate = std::set_terminate(at_terminate);
    return true;
  }();
  (void)once;
}

void warn_if_older(const char* source_file) {
  namespace fs = std::filesystem;
  std::error_code error;
  const auto source = fs::last_write_time(source_file, error);
  if (error) return;  // built elsewhere, or with relative paths
  const auto built = fs::last_write_time(executable(), error);
  if (error || built >= source) return;
  say(Level::warn,
      fmt::format("{} is older than {}: build it again, or the recorded sources are not those it "
                  "was built from",
                  executable().filename().string(), source_file));
}

/// Takes values that no flag gives from the user's or the store's file of settings.
void apply_settings(Flags& flags) {
  const auto settings =
      store::Settings::read({{.name = "home", .flag = "--flor_home", .value = flags.home}});
  set_shown_level(settings.get("log").value);
  store::add_secret_names(settings.get("secrets").value);
  const store::Setting& epsilon = settings.get("epsilon");
  if (epsilon.origin != store::SettingOrigin::standard && flags.epsilon == Flags().epsilon) {
    flags.epsilon = std::stod(epsilon.value);
  }
  const store::Setting& output = settings.get("output");
  flags.beside.is_output_asked =
      flags.beside.output_mib || output.origin != store::SettingOrigin::standard;
  if (!flags.beside.output_mib) {
    flags.beside.output_mib = output.value == "none" ? 0 : std::stoll(output.value);
  }
  if (!flags.beside.machine_seconds) {
    const std::string& machine = settings.get("machine").value;
    flags.beside.machine_seconds = machine == "none" ? 0 : std::stod(machine);
  }
}

/// Makes a session. Returns null if there is nothing to do, so that the process should end.
std::unique_ptr<Runtime> open_runtime(Flags flags) {
  return flags.mode == Mode::record ? make_recorder(std::move(flags))
                                    : make_replayer(std::move(flags));
}

}  // namespace

void flush_streams() noexcept {
  if (const HostedProgram* hosted = hosted_program()) hosted->flush();
  std::cout.flush();
  std::fflush(nullptr);
  await_printed();
}

void end_process(ExitStatus status) noexcept {
  flush_streams();
  std::_Exit(static_cast<int>(status));
}

Runtime* runtime() noexcept { return current.load(std::memory_order_acquire); }

std::filesystem::path home_without_session() { return store::home_directory(plain_home); }

void die(const std::exception& error) noexcept {
  say(Level::error, error.what());
  const auto* known = dynamic_cast<const Error*>(&error);
  end_session(Ending::failed, error.what());
  end_process(known ? known->status() : ExitStatus::failed);
}

void end_program(ExitStatus status) noexcept {
  end_session(Ending::normal, "");
  end_process(exit_status == ExitStatus::done ? status : exit_status);
}

std::optional<std::string> argument_text(std::string_view name, Fallback fallback) {
  std::optional<std::string> text;
  if (Runtime* session = runtime()) {
    text = session->argument_text(name, fallback);
  } else if (const auto found = plain_kwargs.find(std::string(name)); found != plain_kwargs.end()) {
    text = found->second;
  }
  if (!text && fallback == Fallback::none) {
    const UsageError error(
        fmt::format("argument '{}' must be given: --kwargs {}=VALUE", name, name));
    if (!runtime()) {
      say(Level::error, error.what());
      end_process(error.status());
    }
    throw error;
  }
  return text;
}

void note_argument(std::string_view name, std::string_view type, const std::string& text) {
  if (Runtime* session = runtime()) {
    session->note_argument({std::string(name), std::string(type), text});
  }
}

void refuse_argument(std::string_view name, std::string_view text, std::string_view expected) {
  const UsageError error(fmt::format("--kwargs {}={}: '{}' is not {}", name, text, text, expected));
  if (!runtime()) {
    say(Level::error, error.what());
    end_process(error.status());
  }
  throw error;
}

std::vector<std::uint64_t> add_slots(std::vector<Slot> slots) {
  Runtime* session = runtime();
  if (!session) {
    if (init_called) return {};
    early_slots += slots.size();
    return std::vector<std::uint64_t>(slots.size(), kEarly);
  }
  if (!session->own_thread()) {
    throw UsageError(
        "flor::checkpoints was called in another thread than flor::init: register the state where "
        "the loops are");
  }
  return session->registry().add(std::move(slots));
}

void drop_slots(const std::vector<std::uint64_t>& tickets) noexcept {
  if (tickets.empty()) return;
  if (tickets.front() == kEarly) {
    early_slots -= std::min(early_slots, tickets.size());
  } else if (Runtime* session = runtime(); session && session->own_thread()) {
    session->registry().drop(tickets);
  }
}

void fence() noexcept {
  const Inside inside;
  if (Runtime* session = runtime()) {
    session->fence();
  } else {
    fence_needed = false;
  }
}

}  // namespace detail

namespace detail {

namespace {

/// One session at a time, also where two threads open one.
class Opening {
 public:
  Opening() {
    if (is_opening.exchange(true)) refuse();
    if (!runtime()) return;
    is_opening = false;
    refuse();
  }
  ~Opening() { is_opening = false; }
  Opening(const Opening&) = delete;
  Opening& operator=(const Opening&) = delete;

 private:
  [[noreturn]] static void refuse() {
    throw Error(
        "flor::init was called while a session is open: a process has one at a time, so finish() "
        "that one first, or record in another process");
  }
};

/// The number of the session in which the run was recorded; 1 if there is no such run, which the
/// beginning of the replay reports.
std::int64_t session_of_run(const Flags& flags) try {
  const auto store = store::Store::open(
      store::home_directory(flags.home),
      flags.ordered.hands_in ? store::OpenMode::read_only : store::OpenMode::existing);
  const store::Run run = run_meant_by(store->catalog(), flags);
  const auto fact = run.start.environment.find(kSessionFact);
  if (fact == run.start.environment.end()) return 1;
  return std::max<std::int64_t>(std::atoll(fact->second.c_str()), 1);
} catch (const Error&) {
  return 1;
}

/// The words as main() gets them.
class Argv {
 public:
  explicit Argv(std::vector<std::string> words) : words_(std::move(words)) {
    for (std::string& word : words_) argv_.push_back(word.data());
    argv_.push_back(nullptr);
    argc = static_cast<int>(words_.size());
  }
  char** argv() { return argv_.data(); }
  int argc = 0;

 private:
  std::vector<std::string> words_;
  std::vector<char*> argv_;
};

/// Whether the process was started to replay, by a user or as a worker of `flor replay`. Words that
/// a program made itself, as a notebook does, say nothing of its other sessions.
bool is_replaying(const std::vector<std::string>& command) {
  const auto end = std::ranges::find(command, "--");
  return is_worker() || std::any_of(command.begin(), end, is_replay_flag);
}

/// The replay that a process is which opens many sessions; nothing if it records.
std::optional<Flags> replay_of_many(const std::vector<std::string>& command) {
  Argv own(command);
  if (is_worker()) return worker_flags(own.argc, own.argv());
  if (!is_replaying(command)) return std::nullopt;
  return take_flags(own.argc, own.argv());
}

/// A session that is off, and takes arguments all the same.
Flags off_with(Flags flags) {
  Flags off;
  off.kwargs = std::move(flags.kwargs);
  off.home = std::move(flags.home);
  return off;
}

/// From now on this process replays one of its sessions.
void begin_replay(Flags flags) {
  ManySessions& many = many_sessions();
  many.replayed = session_of_run(flags);
  many.replay = std::move(flags);
  watch_the_end();
}

/// The flags of the session that was just counted: those of the replay where it is the one, off
/// where it is another.
Flags flags_of_this(Flags flags) {
  ManySessions& many = many_sessions();
  flags.session = many.begun;
  if (!many.replay) return flags;
  return many.begun == many.replayed ? *many.replay : off_with(std::move(flags));
}

/// Likewise for a session of the command line, which may be any of the process. `is_made_up`: the
/// words are the program's own.
Flags flags_of_command_line(Flags flags, bool is_made_up) {
  ManySessions& many = many_sessions();
  ++many.begun;
  if (flags.mode == Mode::replay && is_made_up && !many.replay) return flags;
  if (flags.mode == Mode::replay && !std::exchange(many.asked, true)) begin_replay(flags);
  many.goes_on = many.begun == many.replayed;
  return flags_of_this(std::move(flags));
}

/// Likewise for a session that a program opens without a command line.
Flags flags_of_next(Flags flags, const std::vector<std::string>& command) {
  ManySessions& many = many_sessions();
  many.opened = true;
  ++many.begun;
  if (!std::exchange(many.asked, true)) {
    if (std::optional<Flags> replay = replay_of_many(command)) begin_replay(std::move(*replay));
  }
  return flags_of_this(std::move(flags));
}

Session open_with(Flags flags, const char* source_file) {
  if (flags.help) {
    std::cout << flag_help();
    end_process(ExitStatus::done);
  }
  if (flags.mode == Mode::off) refuse_masked(flags.kwargs);
  plain_kwargs = flags.kwargs;
  plain_home = flags.home;
  init_called = true;
  if (flags.mode == Mode::off) return Session(Mode::off);
  apply_settings(flags);
  if (early_slots > 0) {
    throw UsageError(
        "flor::checkpoints was called before flor::init, so that its state would "
        "not be kept: call flor::init first in main");
  }
  flags.source_file = source_file;
  if (flags.mode == Mode::record && !program_recipe() && !hosted_program()) {
    warn_if_older(source_file);
  }
  watch_the_end();
  exit_status = ExitStatus::done;
  ended_with_scope = false;
  held() = open_runtime(std::move(flags));
  if (!held()) end_process(ExitStatus::done);
  current = held().get();
  session_active = true;
  return Session(held()->mode());
}

}  // namespace

Session open_session(int& argc, char** argv, const char* source_file) {
  const bool is_made_up = !is_replaying(command_line("/proc/self/cmdline"));
  Flags flags = is_worker() ? worker_flags(argc, argv) : take_flags(argc, argv);
  flags = flags_of_command_line(std::move(flags), is_made_up);
  std::optional<Opening> opening;
  if (flags.mode != Mode::off) opening.emplace();
  return open_with(std::move(flags), source_file);
}

Session open_one_of_many(std::vector<std::string> words, std::vector<std::string> command,
                         const char* source_file) {
  const Opening opening;
  Argv asked(std::move(words));
  Flags flags = take_flags(asked.argc, asked.argv());
  flags.arguments = own_arguments(command);
  flags.command = command;
  return open_with(flags_of_next(std::move(flags), command), source_file);
}

void fail_session(std::string_view why) noexcept { end_session(Ending::failed, why); }

}  // namespace detail

Session init(int& argc, char** argv, const char* source_file) {
  using namespace detail;
  try {
    return open_session(argc, argv, source_file);
  } catch (const Error& error) {
    say(Level::error, error.what());
    end_process(error.status());
  } catch (const std::exception& error) {
    say(Level::error, error.what());
    end_process(ExitStatus::failed);
  }
}

Session init(const char* source_file) {
  std::vector<std::string> words = detail::command_line("/proc/self/cmdline");
  if (words.empty()) {
    detail::say(detail::Level::warn,
                "flor::init() cannot read the command line from /proc/self/cmdline, so that Flor's "
                "flags are not seen: call flor::init(argc, argv)");
    words = {"program"};
  }
  detail::Argv own(std::move(words));
  return init(own.argc, own.argv(), source_file);
}

Session init(const Recording& recording, const char* source_file) {
  if (recording.name.empty()) {
    throw UsageError("flor::init({.name = ...}): the experiment needs a name");
  }
  std::vector<std::string> command = detail::command_line("/proc/self/cmdline");
  if (command.empty()) command = {"program"};
  std::vector<std::string> words{command.front(), "--flor=" + recording.name};
  if (!recording.home.empty()) words.push_back("--flor_home=" + recording.home.string());
  words.insert(words.end(), recording.flags.begin(), recording.flags.end());
  for (const auto& [name, value] : recording.kwargs) {
    words.push_back("--kwargs=" + name + "=" + value);
  }
  return detail::open_one_of_many(std::move(words), std::move(command), source_file);
}

void own_flags(std::initializer_list<std::string_view> names) { detail::keep_own_flags(names); }

Session::Session(Session&& other) noexcept : mode_(std::exchange(other.mode_, Mode::off)) {}

Session& Session::operator=(Session&& other) noexcept {
  std::swap(mode_, other.mode_);
  return *this;
}

Session::~Session() {
  if (mode_ == Mode::off) return;
  const bool unwinding = std::uncaught_exceptions() > 0;
  detail::ended_with_scope = !unwinding && detail::runtime();
  detail::end_session(unwinding ? detail::Ending::failed : detail::Ending::normal,
                      unwinding ? "an exception ended the program" : "");
  if (!unwinding) detail::end_with_replay();
}

std::string Session::run() const {
  const detail::Runtime* session = detail::runtime();
  return session && mode_ != Mode::off ? session->run().key : std::string();
}

void Session::finish() noexcept {
  if (std::exchange(mode_, Mode::off) == Mode::off) return;
  detail::end_session(detail::Ending::normal, "");
  detail::end_with_replay();
  // The signal came too late for a checkpoint, but the program may still run for a long time, so it
  // gets the signal.
  const int signal = detail::pending_signal.exchange(0);
  if (signal == SIGTERM || signal == SIGINT) ::raise(signal);
}

std::filesystem::path output(const std::filesystem::path& path) {
  detail::Runtime* session = detail::runtime();
  const std::filesystem::path place = session ? session->files().output(path) : path;
  if (place.has_parent_path()) {
    std::error_code error;
    std::filesystem::create_directories(place.parent_path(), error);
    if (error) {
      throw Error(fmt::format("cannot make the directory {}: {}", place.parent_path().string(),
                              error.message()));
    }
  }
  return place;
}

std::filesystem::path input(const std::filesystem::path& path) {
  detail::run_inside([&] {
    if (detail::Runtime* session = detail::runtime()) session->files().input(path);
  });
  return path;
}

Mode mode() noexcept {
  const detail::Runtime* session = detail::runtime();
  return session ? session->mode() : Mode::off;
}

bool catching_up() noexcept {
  const detail::Runtime* session = detail::runtime();
  return session && session->catching_up();
}

}  // namespace flor
