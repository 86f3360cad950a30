// The processes in which evaluators run, as their parent sees them. Started before there is work,
// and kept for many checkpoints.
#pragma once

#include "process/line_socket.h"
#include "queue/jobs.h"
#include "watch/evaluators/evaluator.h"

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace flor::cli {

/// A child of this process. Killed and reaped with the object, if it still runs then.
class WorkerChild {
 public:
  WorkerChild() = default;
  explicit WorkerChild(pid_t pid) : pid_(pid) {}
  ~WorkerChild();
  WorkerChild(WorkerChild&& other) noexcept;
  WorkerChild& operator=(WorkerChild&& other) noexcept;
  /// Kills it and its group, waits for it, and says in words how it had ended, if it had before.
  std::string end();
  /// As `end`, for a child that has closed its socket, which the kernel does a moment before it can
  /// be waited for: lets it end by itself, for a second at most.
  std::string end_of_closed();

 private:
  pid_t pid_ = -1;
};

/// One worker, which judges one checkpoint after another. The kernel kills it when its parent dies,
/// for whatever reason.
class EvaluatorProcess {
 public:
  EvaluatorProcess(LineSocket socket, WorkerChild child)
      : socket_(std::move(socket)), child_(std::move(child)) {}
  ~EvaluatorProcess();
  EvaluatorProcess(const EvaluatorProcess&) = delete;
  EvaluatorProcess& operator=(const EvaluatorProcess&) = delete;

  using Environment = std::map<std::string, std::string>;  ///< variables that it has besides ours

  int descriptor() const { return socket_.descriptor(); }
  /// Sends the start message, before any other. `fresh`: a process for each job, where the
  /// evaluator is a function of Python.
  void begin(const Environment& environment, bool fresh = false);
  /// Output to stdout and stderr during the job is appended to `log`.
  void judge(const store::NewJob& job, const std::filesystem::path& log);

  struct Answer {
    enum class Kind {
      ready,   ///< the worker waits for its first checkpoint
      result,  ///< `text`: what the evaluator returned, unchecked
      error,   ///< `text` says why there is no result
      fatal,   ///< there will never be a result: the evaluator cannot be loaded
      died,    ///< the process is gone
    };
    Kind kind;
    std::string text;
  };
  /// Answers that have arrived. Never waits.
  std::vector<Answer> answers();

 private:
  LineSocket socket_;
  WorkerChild child_;  // empty where the server of Python is its parent
  pid_t pid_ = -1;     // of the worker, once it is ready
  int pidfd_ = -1;
  bool died_ = false;
  std::uint64_t job_ = 0;  // the latest; answers to others are ignored
};

/// Starts the workers of one evaluator. Python: a server imports it, and forks them.
class EvaluatorProcesses {
 public:
  explicit EvaluatorProcesses(EvaluatorSpec spec) : spec_(std::move(spec)) {}
  /// Does not wait until the evaluator is loaded: the worker says when it is ready. Throws Error if
  /// no process can be started.
  std::unique_ptr<EvaluatorProcess> start(const EvaluatorProcess::Environment& environment);

  /// Descriptor of the server's socket; -1 if there is none.
  int descriptor() const { return control_.descriptor(); }
  /// Reads messages of the server. Throws Error if the evaluator cannot be loaded.
  void hear();
  /// How the latest server that was never ready ended, in words.
  std::optional<std::string> last_end() const { return last_end_; }

 private:
  void start_server();
  void drop_server();
  EvaluatorSpec spec_;
  WorkerChild server_;
  LineSocket control_;  // to the server
  bool is_server_ready_ = false;
  std::optional<std::string> last_end_;
};

/// `flor __evaluator PARENT program|native WORDS...`: judges jobs that its parent, the process of
/// that number, sends on descriptor 3, until that is closed. Returns the exit status.
int run_evaluator_process(const std::vector<std::string>& words);

}  // namespace flor::cli
