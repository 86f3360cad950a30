// The processes in which evaluators run, as their parent sees them. They are started before there
// is work, and each evaluates many checkpoints.
#pragma once

#include "process/line_socket.h"
#include "queue/job_queue.h"
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

/// A child of this process. The destructor kills and reaps it if it still runs.
class WorkerChild {
 public:
  WorkerChild() = default;
  explicit WorkerChild(pid_t pid) : pid_(pid) {}
  ~WorkerChild();
  WorkerChild(WorkerChild&& other) noexcept;
  WorkerChild& operator=(WorkerChild&& other) noexcept;
  /// Kills the child and its process group and reaps it. Returns how it ended, in words, if it had
  /// ended by itself.
  std::string end();
  /// Like `end`, but waits up to a second for the child to end by itself. For a child that has
  /// closed its socket: the kernel closes sockets shortly before the child can be reaped.
  std::string end_of_closed();

 private:
  pid_t pid_ = -1;
};

/// One worker, which evaluates one checkpoint after another. The kernel kills it when its parent
/// dies, for whatever reason.
class EvaluatorProcess {
 public:
  EvaluatorProcess(LineSocket socket, WorkerChild child)
      : socket_(std::move(socket)), child_(std::move(child)) {}
  ~EvaluatorProcess();
  EvaluatorProcess(const EvaluatorProcess&) = delete;
  EvaluatorProcess& operator=(const EvaluatorProcess&) = delete;

  using Environment = std::map<std::string, std::string>;  ///< variables to set in addition to this
                                                           ///< process's

  int descriptor() const { return socket_.descriptor(); }
  /// Sends the start message, which must be the first. `fresh`: evaluate each job in a process of
  /// its own, if the evaluator is a Python function.
  void begin(const Environment& environment, bool fresh = false);
  /// Begins a job. What the worker writes to stdout and stderr is appended to `log`.
  void judge(const store::NewJob& job, const std::filesystem::path& log);

  struct Message {
    enum class Kind {
      ready,   ///< the worker waits for its first checkpoint
      result,  ///< `text`: what the evaluator returned, not yet checked
      error,   ///< `text` says why there is no result
      fatal,   ///< there will never be a result, because the evaluator cannot be loaded
      died,    ///< the process is gone
    };
    Kind kind;
    std::string text;
  };
  /// Returns the answers that have arrived. Never waits.
  std::vector<Message> answers();

 private:
  LineSocket socket_;
  WorkerChild child_;  // empty if a Python server is its parent
  pid_t pid_ = -1;     // of the worker; set when it is ready
  int pidfd_ = -1;
  bool died_ = false;
  std::uint64_t job_ = 0;  // the latest job; answers to earlier ones are ignored
};

/// Starts the workers of one evaluator. For Python, starts a server process that imports the
/// evaluator once and forks the workers.
class EvaluatorProcesses {
 public:
  explicit EvaluatorProcesses(EvaluatorSpec spec) : spec_(std::move(spec)) {}
  /// Starts a worker without waiting until the evaluator is loaded; the worker sends `ready` then.
  /// Throws Error if no process can be started.
  std::unique_ptr<EvaluatorProcess> start(const EvaluatorProcess::Environment& environment);

  /// Descriptor of the Python server's socket; -1 if there is no server.
  int descriptor() const { return control_.descriptor(); }
  /// Reads messages of the Python server. Throws Error if the evaluator cannot be loaded.
  void hear();
  /// The end of the latest server that was never ready, in words; nullopt if there is none.
  std::optional<std::string> last_end() const { return last_end_; }

 private:
  void start_server();
  void drop_server();
  EvaluatorSpec spec_;
  WorkerChild server_;
  LineSocket control_;  // to the Python server
  bool is_server_ready_ = false;
  std::optional<std::string> last_end_;
};

/// `flor __evaluator PARENT program|native WORDS...`: evaluates the jobs that its parent, the
/// process with id PARENT, sends on descriptor 3, until that is closed. Returns the exit status.
int run_evaluator_process(const std::vector<std::string>& words);

}  // namespace flor::cli
