#include "serve/http_server.h"

#include "base/late_library.h"
#include "serve/request_gate.h"
#include "serve/strangers.h"

#include <flor/store/error.h>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <poll.h>
#include <strings.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <variant>
#include <vector>

namespace flor::cli {
namespace {

using Clock = std::chrono::steady_clock;

/// Memory of a connection: for the head of a request, for parsing it, and for the head of the
/// answer. Twice the limit of the head, so that room for the answer is left.
constexpr std::size_t kPoolBytes = 2 * kHeadLimit;
/// Bytes of that memory which libmicrohttpd takes for each header and each parameter.
constexpr std::size_t kBytesOfHeader = 80;
/// Bytes read at once: libmicrohttpd serves all other connections between two such parts.
constexpr std::size_t kPartBytes = 16 << 10;
/// Seconds without a byte after which an authenticated connection (it has shown the token) is
/// closed.
constexpr unsigned kIdleSeconds = 30;
constexpr std::chrono::seconds kStrangersPatience{10};
constexpr std::size_t kStrangersMax = 256;
constexpr std::size_t kWorkers = 8;
/// Milliseconds between two checks for connections that have used up their time.
constexpr int kLook = 200;
/// Time for sending the last answers when the server ends.
constexpr std::chrono::seconds kLastWords{5};

#define FLOR_MHD_FUNCTIONS(F)     \
  F(start_daemon);                \
  F(stop_daemon);                 \
  F(add_connection);              \
  F(suspend_connection);          \
  F(resume_connection);           \
  F(get_connection_info);         \
  F(get_connection_values_n);     \
  F(create_response_from_buffer); \
  F(add_response_header);         \
  F(queue_response);              \
  F(destroy_response)

/// The functions of libmicrohttpd, loaded at run time.
struct MicroHttpd {
#define FLOR_MHD(name) library.load(name, "MHD_" #name)
  MicroHttpd() { FLOR_MHD_FUNCTIONS(FLOR_MHD); }
#undef FLOR_MHD

  store::LateLibrary library{
      "libmicrohttpd.so.12",
      "flor serve needs libmicrohttpd, which is not installed: install libmicrohttpd12"};
#define FLOR_MHD(name) decltype(&MHD_##name) name = nullptr
  FLOR_MHD_FUNCTIONS(FLOR_MHD);
#undef FLOR_MHD
};

const MicroHttpd& library() {
  static const MicroHttpd loaded;
  return loaded;
}

int status_of(const Error& error) {
  switch (error.status()) {
    case ExitStatus::usage:
      return 400;
    case ExitStatus::not_found:
      return 404;
    case ExitStatus::busy:
      return 503;
    default:
      return 500;
  }
}

HttpResponse answer_of(const Handler& handler, const HttpRequest& ask) {
  const bool is_question = ask.path.starts_with("api/");
  const std::string_view accept = is_question ? "application/json" : "";
  try {
    return handler(ask);
  } catch (const Error& error) {
    return refusal_page(status_of(error), error.what(), accept);
  } catch (const std::exception& error) {
    return refusal_page(500, fmt::format("unexpected error: {}", error.what()), accept);
  }
}

template <typename Visit>
void each_value(MHD_Connection* connection, MHD_ValueKind kind, Visit visit) {
  library().get_connection_values_n(
      connection, kind,
      [](void* data, MHD_ValueKind, const char* name, std::size_t name_size, const char* value,
         std::size_t value_size) {
        (*static_cast<Visit*>(data))(std::string_view(name, name_size),
                                     value ? std::string_view(value, value_size) : "");
        return MHD_YES;
      },
      &visit);
}

RequestHead head_of(MHD_Connection* connection, const char* path, const char* method) {
  RequestHead head{.method = method, .path = path};
  head.bytes = std::strlen(path);
  each_value(connection, MHD_HEADER_KIND, [&](std::string_view name, std::string_view value) {
    head.bytes += name.size() + value.size() + kBytesOfHeader;
    const auto is = [&](const char* other) {
      return name.size() == std::strlen(other) &&
             ::strncasecmp(name.data(), other, name.size()) == 0;
    };
    if (is("Host")) head.hosts.emplace_back(value);
    if (is("Origin")) head.origin = value;
    if (is("Accept")) head.accept = value;
    if (is("X-Flor-Token")) head.token = value;
    if ((is("Content-Length") && value != "0") || is("Transfer-Encoding")) head.has_body = true;
  });
  each_value(connection, MHD_GET_ARGUMENT_KIND, [&](std::string_view name, std::string_view value) {
    head.bytes += name.size() + value.size() + kBytesOfHeader;
    head.parameters.emplace(name, value);
  });
  return head;
}

/// Listens on the loopback interface. Sets `port` to the port.
int listen_at(std::uint64_t& port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  // Does not set SO_REUSEPORT, which would let another process listen on the same port.
  const int yes = 1;
  ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (::bind(socket, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::listen(socket, SOMAXCONN) != 0 ||
      ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    const int reason = errno;
    ::close(socket);
    throw Error(
        fmt::format("cannot listen at 127.0.0.1:{}: {}: leave --port out to take a free one", port,
                    std::strerror(reason)));
  }
  port = ntohs(address.sin_port);
  return socket;
}

/// The limit of connections without a token: half of the files that this process may open, within
/// bounds.
std::size_t strangers_max() {
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  return std::clamp<std::size_t>(files.rlim_cur / 2, 16, kStrangersMax);
}

/// The limit of all connections: those without a token, and half as many that have shown it or are
/// closing.
std::ptrdiff_t connections_max() {
  return static_cast<std::ptrdiff_t>(strangers_max() + strangers_max() / 2);
}

/// A request that was admitted, from its head until its answer is sent.
struct Exchange {
  MHD_Connection* connection;
  HttpRequest ask;
  HttpResponse answer = {};
  bool has_answer = false;
};

}  // namespace

struct HttpServer::Impl {
  Impl(std::uint64_t wanted_port, Handler handler_of_page)
      : port(wanted_port),
        listener(listen_at(port)),
        handler(std::move(handler_of_page)),
        gate(static_cast<int>(port)) {}
  ~Impl() { ::close(listener); }

  MHD_Daemon* start();
  MHD_Result on_request(MHD_Connection* connection, const char* path, const char* method,
                        std::unique_ptr<Exchange>& exchange);
  void on_connection(MHD_Connection* connection, MHD_ConnectionNotificationCode what);
  void on_end();
  void work();
  void drop_excess();
  void accept_waiting(MHD_Daemon* daemon);
  void count_connection(int change);
  bool ends() {
    const std::lock_guard lock(mutex);
    return is_ending;
  }

  static Strangers::Id id(MHD_Connection* connection) {
    return reinterpret_cast<std::uintptr_t>(connection);
  }
  static MHD_Result send(MHD_Connection* connection, const HttpResponse& answer, bool is_last);

  std::uint64_t port;
  int listener;
  Handler handler;
  RequestGate gate;

  std::mutex mutex;
  std::condition_variable changed;
  bool is_ending = false;
  std::deque<Exchange*> waiting;
  std::size_t exchanges = 0;       // admitted, answer not sent yet
  std::ptrdiff_t connections = 0;  // not closed yet
  Strangers strangers{strangers_max(), kStrangersPatience};
  std::unordered_map<Strangers::Id, int> sockets;
};

/// Sends an answer. `is_last`: closes the connection afterwards. Otherwise `answer` must live until
/// it is sent.
MHD_Result HttpServer::Impl::send(MHD_Connection* connection, const HttpResponse& answer,
                                  bool is_last) {
  const auto mode = is_last ? MHD_RESPMEM_MUST_COPY : MHD_RESPMEM_PERSISTENT;
  MHD_Response* response = library().create_response_from_buffer(
      answer.body.size(), const_cast<char*>(answer.body.data()), mode);
  if (!response) return MHD_NO;
  const auto add = [&](const char* name, const std::string& value) {
    library().add_response_header(response, name, value.c_str());
  };
  add("Content-Type", answer.type);
  add("Content-Security-Policy", answer.policy);
  add("X-Content-Type-Options", "nosniff");
  add("X-Frame-Options", "DENY");
  add("Referrer-Policy", "no-referrer");
  add("Cross-Origin-Resource-Policy", "same-origin");
  add("Cross-Origin-Opener-Policy", "same-origin");
  add("Cache-Control", "no-store");
  if (is_last) add("Connection", "close");
  const MHD_Result result =
      library().queue_response(connection, static_cast<unsigned>(answer.status), response);
  library().destroy_response(response);
  return result;
}

/// Called by libmicrohttpd when the head has arrived, when the request is complete, and when the
/// request is resumed because its answer is ready.
MHD_Result HttpServer::Impl::on_request(MHD_Connection* connection, const char* path,
                                        const char* method, std::unique_ptr<Exchange>& exchange) {
  if (!exchange) {
    auto verdict = gate.examine(head_of(connection, path, method));
    if (const HttpResponse* refusal = std::get_if<HttpResponse>(&verdict)) {
      return send(connection, *refusal, true);
    }
    exchange.reset(new Exchange{connection, std::get<HttpRequest>(std::move(verdict))});
    const std::lock_guard lock(mutex);
    ++exchanges;
    strangers.forget(id(connection));
    return MHD_YES;
  }
  if (exchange->has_answer) return send(connection, exchange->answer, false);
  const std::lock_guard lock(mutex);
  if (is_ending) return send(connection, refusal_page(503, "flor serve is ending"), true);
  library().suspend_connection(connection);
  waiting.push_back(exchange.get());
  changed.notify_all();
  return MHD_YES;
}

void HttpServer::Impl::on_connection(MHD_Connection* connection,
                                     MHD_ConnectionNotificationCode what) {
  {
    const std::lock_guard lock(mutex);
    strangers.forget(id(connection));
    if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
      sockets.erase(id(connection));
      --connections;
      changed.notify_all();
      return;
    }
    const auto* info = library().get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    sockets[id(connection)] = info->connect_fd;
    strangers.add(id(connection), Clock::now());
  }
  drop_excess();
}

void HttpServer::Impl::on_end() {
  const std::lock_guard lock(mutex);
  --exchanges;
  changed.notify_all();
}

/// Shuts down the connections to drop; libmicrohttpd notices that and closes them.
void HttpServer::Impl::drop_excess() {
  const std::lock_guard lock(mutex);
  for (const Strangers::Id stranger : strangers.take_excess(Clock::now())) {
    ::shutdown(sockets.at(stranger), SHUT_RDWR);
  }
}

/// Accepts all waiting connections at once. libmicrohttpd itself would accept one per round over
/// all others, so that the user would wait behind a thousand strangers. At the limit, waits until
/// dropped connections are closed.
void HttpServer::Impl::accept_waiting(MHD_Daemon* daemon) {
  while (true) {
    {
      std::unique_lock lock(mutex);
      const auto is_room = [&] { return connections < connections_max() || is_ending; };
      if (!changed.wait_for(lock, std::chrono::milliseconds(kLook), is_room)) return;
    }
    sockaddr_in address{};
    socklen_t size = sizeof address;
    const int socket = ::accept4(listener, reinterpret_cast<sockaddr*>(&address), &size,
                                 SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (socket < 0) return;
    count_connection(1);
    if (library().add_connection(daemon, socket, reinterpret_cast<sockaddr*>(&address), size) !=
        MHD_YES) {
      count_connection(-1);
    }
  }
}

void HttpServer::Impl::count_connection(int change) {
  const std::lock_guard lock(mutex);
  connections += change;
}

/// Computes answers of waiting requests in a worker thread, until the server ends and no request is
/// left.
void HttpServer::Impl::work() {
  while (true) {
    Exchange* exchange = nullptr;
    {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return !waiting.empty() || is_ending; });
      if (waiting.empty()) return;
      exchange = waiting.front();
      waiting.pop_front();
    }
    exchange->answer = answer_of(handler, exchange->ask);
    exchange->has_answer = true;
    library().resume_connection(exchange->connection);
  }
}

MHD_Daemon* HttpServer::Impl::start() {
  const auto on_request_of = [](void* self, MHD_Connection* connection, const char* path,
                                const char* method, const char*, const char*, std::size_t* size,
                                void** data) {
    std::unique_ptr<Exchange> exchange(static_cast<Exchange*>(*data));
    MHD_Result result = MHD_NO;
    try {
      if (*size == 0) {
        result = static_cast<Impl*>(self)->on_request(connection, path, method, exchange);
      }
    } catch (const std::exception&) {  // out of memory: the connection is closed
    }
    *data = exchange.release();
    return result;
  };
  const auto on_end_of = [](void* self, MHD_Connection*, void** data, MHD_RequestTerminationCode) {
    if (!*data) return;
    delete static_cast<Exchange*>(*data);
    static_cast<Impl*>(self)->on_end();
  };
  const auto on_connection_of = [](void* self, MHD_Connection* connection, void**,
                                   MHD_ConnectionNotificationCode what) {
    static_cast<Impl*>(self)->on_connection(connection, what);
  };
  // Polls instead of using epoll, with which libmicrohttpd 0.9.75 sometimes misses the end of a
  // connection.
  return library().start_daemon(
      MHD_USE_POLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_NO_LISTEN_SOCKET, 0,
      nullptr, nullptr, static_cast<MHD_AccessHandlerCallback>(on_request_of), this,  //
      MHD_OPTION_CONNECTION_LIMIT, 2 * static_cast<unsigned>(connections_max()),      //
      MHD_OPTION_CONNECTION_MEMORY_LIMIT, kPoolBytes,                                 //
      MHD_OPTION_CONNECTION_MEMORY_INCREMENT, kPartBytes,                             //
      MHD_OPTION_CONNECTION_TIMEOUT, kIdleSeconds,                                    //
      MHD_OPTION_STRICT_FOR_CLIENT, 1,                                                //
      MHD_OPTION_NOTIFY_COMPLETED, static_cast<MHD_RequestCompletedCallback>(on_end_of), this,
      MHD_OPTION_NOTIFY_CONNECTION, static_cast<MHD_NotifyConnectionCallback>(on_connection_of),
      this, MHD_OPTION_END);
}

HttpServer::HttpServer(std::uint64_t port, Handler handler) {
  if (port > 65535) throw UsageError(fmt::format("--port {}: it is 0 to 65535", port));
  library();
  impl_ = std::make_unique<Impl>(port, std::move(handler));
}

HttpServer::~HttpServer() = default;

int HttpServer::port() const { return static_cast<int>(impl_->port); }

std::string HttpServer::url() const {
  return fmt::format("http://127.0.0.1:{}/{}/", impl_->port, impl_->gate.token());
}

void HttpServer::run() {
  MHD_Daemon* daemon = impl_->start();
  if (!daemon) throw Error("the server cannot begin: is there memory, and may it start threads?");
  {
    std::vector<std::jthread> workers;
    for (std::size_t i = 0; i < kWorkers; ++i) workers.emplace_back([this] { impl_->work(); });
    while (!impl_->ends()) {
      pollfd news{impl_->listener, POLLIN, 0};
      ::poll(&news, 1, kLook);
      impl_->accept_waiting(daemon);
      impl_->drop_excess();
    }
  }
  {
    std::unique_lock lock(impl_->mutex);
    impl_->changed.wait_for(lock, kLastWords, [&] { return impl_->exchanges == 0; });
  }
  library().stop_daemon(daemon);
}

void HttpServer::stop() {
  const std::lock_guard lock(impl_->mutex);
  impl_->is_ending = true;
  impl_->changed.notify_all();
}

}  // namespace flor::cli
