// flor::init, and every way in which a session can end.
#include "base/hosted_program.h"
#include "base/notice.h"
#include "base/process_facts.h"
#include "base/settings.h"
#include "printed/printed_output.h"
#include "protocol/flag_names.h"
#include "session/build_facts.h"
#include "session/outputs.h"
#include "session/preemption.h"
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
pid_t owner = 0;                            // a forked child must not end its parent's session
ExitStatus exit_status = ExitStatus::done;  // replaces a status of 0
std::terminate_handler previous_terminate = nullptr;
// State registered before flor::init would be lost silently, so flor::init refuses it.
constexpr std::uint64_t kEarly = 0;  // no ticket of a registry
std::size_t early_slots = 0;
bool init_called = false;
bool ended_with_scope = false;  // before the program's status was known
// Arguments for a session that is off: --kwargs works without recording.
std::map<std::string, std::string> plain_kwargs;
std::string plain_home;  // likewise, of --flor_home

/// The session, kept until the next one: other threads may still hold a pointer. Never destroyed:
/// static objects are destroyed before the exit handlers end the session, and a forked child has no
/// background thread to wait for.
std::unique_ptr<Runtime>& held() {
  static auto* const runtime = new std::unique_ptr<Runtime>;
  return *runtime;
}

/// A forked child has no session: its parent's continues in the parent, and mutexes may be held by
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
  if (ending == Ending::abandoned) {
    session->abandon(message);
    return;
  }
  const ExitStatus status = session->finish(ending == Ending::failed, message);
  if (status != ExitStatus::done) exit_status = status;
}

void at_exit(int status, void*) {
  if (::getpid() != owner) return;
  if (inside_flor > 0) {
    // Called by a signal handler that interrupted Flor, whose mutexes are held for ever now.
    // Durable content stays, and the run shows as interrupted.
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
  if (status != 0 && ended_with_scope && held()) held()->failed_after_all(why);
  // glibc runs the remaining handlers and ends with the new status.
  if (status == 0 && exit_status != ExitStatus::done) std::exit(static_cast<int>(exit_status));
  if (noted && noted->status != ExitStatus::failed) std::exit(static_cast<int>(noted->status));
}

/// Handles an uncaught exception: one line, the right status, and no loss of recorded data.
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
      fmt::format("{} is older than {}: rebuild, or the recorded sources are not those "
                  "that run",
                  executable().filename().string(), source_file));
}

/// Takes values without a flag from the user's or the store's file of settings.
void apply_settings(Flags& flags) {
  const auto settings =
      store::Settings::read({{.name = "home", .flag = "--flor_home", .value = flags.home}});
  set_shown_level(settings.get("log").value);
  store::add_secret_names(settings.get("secrets").value);
  const store::Setting& epsilon = settings.get("epsilon");
  if (epsilon.origin != store::SettingOrigin::standard && flags.epsilon == Flags().epsilon) {
    flags.epsilon = std::stod(epsilon.value);
  }
  if (!flags.beside.output_mib) {
    const std::string& output = settings.get("output").value;
    flags.beside.output_mib = output == "none" ? 0 : std::stoll(output);
  }
  if (!flags.beside.machine_seconds) {
    const std::string& machine = settings.get("machine").value;
    flags.beside.machine_seconds = machine == "none" ? 0 : std::stod(machine);
  }
}

/// Makes a session. Null if there is nothing to do, and the process should end.
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

Session open_session(int& argc, char** argv, const char* source_file) {
  Flags flags = is_worker() ? worker_flags(argc, argv) : take_flags(argc, argv);
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
  if (runtime()) throw Error("flor::init was called while a session is open");
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
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  int argc = static_cast<int>(words.size());
  return init(argc, argv.data(), source_file);
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
}

std::string Session::run() const {
  const detail::Runtime* session = detail::runtime();
  return session && mode_ != Mode::off ? session->run().key : std::string();
}

void Session::finish() noexcept {
  if (std::exchange(mode_, Mode::off) == Mode::off) return;
  detail::end_session(detail::Ending::normal, "");
  // The signal came too late for a checkpoint, but the program may still run for a long time.
  const int signal = detail::pending_signal.exchange(0);
  if (signal == SIGTERM || signal == SIGINT) ::raise(signal);
}

std::filesystem::path output(const std::filesystem::path& path) {
  detail::Runtime* session = detail::runtime();
  const std::filesystem::path directory =
      session ? session->output_directory() : std::filesystem::path();
  const std::filesystem::path place = directory.empty() ? path : detail::below(directory, path);
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

Mode mode() noexcept {
  const detail::Runtime* session = detail::runtime();
  return session ? session->mode() : Mode::off;
}

bool catching_up() noexcept {
  const detail::Runtime* session = detail::runtime();
  return session && session->catching_up();
}

}  // namespace flor
