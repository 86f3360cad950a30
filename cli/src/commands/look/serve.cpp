// flor serve: shows the runs of the store in a browser on this machine.
#include "base/late_library.h"
#include "commands/commands.h"
#include "output/json.h"
#include "output/terminal_text.h"
#include "serve/http_server.h"
#include "serve/page_api.h"
#include "serve/page_file.h"
#include "shell/context.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <pthread.h>
#include <unistd.h>

#include <csignal>
#include <exception>
#include <thread>

namespace flor::cli {
namespace {

/// Blocks the signals that end the server, so that only `wait` receives them. Must be made before
/// other threads are started, because they inherit the block.
class EndSignals {
 public:
  EndSignals() {
    sigemptyset(&set_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set_, signal);
    pthread_sigmask(SIG_BLOCK, &set_, nullptr);
  }
  void wait() const {
    int signal = 0;
    sigwait(&set_, &signal);
  }

 private:
  sigset_t set_;
};

class Serve final : public Command {
 public:
  std::string_view name() const override { return "serve"; }
  std::string_view summary() const override { return "look at runs in a browser"; }
  std::string_view lesson() const override {
    return R"(Serves one page on 127.0.0.1: runs, their metrics while they go on, comparisons, checkpoints,
pictures and tables that were logged, replays, evaluations. It prints the page's address, which
holds a token: anyone with this address can see your runs. It reads the store; only
evaluations can be tried again or cancelled. Ctrl-C ends it.

Examples:
  flor serve                   then open what it prints
  flor serve --port 8080       at this port
  ssh -L 8080:127.0.0.1:8080 HOST flor serve --port 8080
                               the runs of another machine, here
)";
  }
  void setup(Syntax& syntax) override {
    syntax.option("--port", "PORT", port_, "listen at this port (default: a free one)");
    syntax.option("--queue", "URL", queue_, "read the queue that flor watch --queue was given");
    syntax.other_name("-p", "use --port PORT");
  }

  int run(Context& context) override {
#ifdef FLOR_HAS_SERVE
    return serve(context);
#else
    (void)context;
    store::throw_left_out("flor serve", "libmicrohttpd-dev and npm");
#endif
  }

 private:
  int serve(Context& context) const {
    if (!has_page()) page_with(Json());  // throws, with instructions to get a flor that has one
    const EndSignals signals;
    make_store(context);
    PageApi api(context.store().home(), queue_);
    HttpServer server(port_.value_or(0), [&](const HttpRequest& ask) { return api.answer(ask); });
    std::exception_ptr failure;
    std::thread serving([&] {
      try {
        server.run();
      } catch (...) {
        failure = std::current_exception();
        ::kill(::getpid(), SIGTERM);
      }
    });
    announce(context, server);
    api.warm_up();
    signals.wait();
    server.stop();
    serving.join();
    if (failure) std::rethrow_exception(failure);
    return static_cast<int>(ExitStatus::done);
  }

  /// Makes a store if there is none, so that the page can be opened before the first recording.
  static void make_store(Context& context) {
    try {
      context.store();
    } catch (const NotFound&) {
      const store::Store& made = context.store_to_change(store::OpenMode::create);
      context.note(
          fmt::format("no runs in {} yet: the first one that a program records with --flor "
                      "NAME appears on the page",
                      printable(made.home().string())));
    }
  }

  static void announce(Context& context, const HttpServer& server) {
    if (context.json()) {
      Json result = document("serve");
      result["url"] = server.url();
      result["port"] = server.port();
      context.out().write(compact(result) + "\n");
    } else {
      context.out().write(server.url() + "\n");
      context.note("press Ctrl-C to stop; anyone with this address can see your runs");
    }
    context.out().flush();
  }

  std::optional<std::uint64_t> port_;
  std::string queue_;
};

}  // namespace

std::unique_ptr<Command> make_serve() { return std::make_unique<Serve>(); }

}  // namespace flor::cli
