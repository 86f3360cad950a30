#include "serve/http.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <httplib.h>
#include <nlohmann/json.hpp>
#include <sys/random.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <thread>

namespace flor::cli {
namespace {

constexpr const char* kAddress = "127.0.0.1";
/// Enough for the connections of several browsers that are held open without a request.
constexpr std::size_t kThreads = 32;
constexpr std::time_t kIdleSeconds = 3, kReadSeconds = 5;
constexpr std::size_t kBodyMax = 64 << 10;

/// 128 random bits, in hex.
std::string random_token() {
  std::array<unsigned char, 16> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    throw Error(fmt::format("no random numbers for the token: {}", std::strerror(errno)));
  }
  std::string text;
  for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

/// Takes as long for a wrong token as for the right one.
bool is_same_token(std::string_view given, std::string_view token) {
  unsigned difference = given.size() == token.size() ? 0 : 1;
  for (std::size_t i = 0; i < token.size(); ++i) {
    const char other = i < given.size() ? given[i] : '\0';
    difference |= static_cast<unsigned>(other ^ token[i]);
  }
  return difference == 0;
}

Answer refusal(int status, std::string_view what) {
  const nlohmann::json body = {{"error", what}};
  return {.status = status,
          .body = body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)};
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

Answer answer_of(const Handler& handler, const Ask& ask) {
  try {
    return handler(ask);
  } catch (const Error& error) {
    return refusal(status_of(error), error.what());
  } catch (const std::exception& error) {
    return refusal(500, fmt::format("unexpected error: {}", error.what()));
  }
}

void send(httplib::Response& response, Answer answer) {
  response.status = answer.status;
  response.set_header("Content-Security-Policy", answer.policy);
  if (answer.body.empty()) return;
  // A body with a known length is sent as it is: nobody gains by compressing it on one machine.
  const auto body = std::make_shared<std::string>(std::move(answer.body));
  response.set_content_provider(
      body->size(), answer.type.c_str(),
      [body](std::size_t offset, std::size_t length, httplib::DataSink& sink) {
        return sink.write(body->data() + offset, length);
      });
}

}  // namespace

std::string_view Ask::operator[](const std::string& name) const {
  const auto found = parameters.find(name);
  return found == parameters.end() ? std::string_view() : std::string_view(found->second);
}

struct HttpServer::Impl {
  explicit Impl(Handler handler_of_page) : handler(std::move(handler_of_page)) {}

  Handler handler;
  std::string token = random_token();
  httplib::Server server;
  int port = 0;
  std::atomic<bool> has_ended = false;

  /// This server, by the names that a browser on this machine knows it by.
  bool is_here(const std::string& host) const {
    return host == fmt::format("{}:{}", kAddress, port) ||
           host == fmt::format("localhost:{}", port);
  }

  Answer answer(const httplib::Request& request) const;
  void set_up();
};

Answer HttpServer::Impl::answer(const httplib::Request& request) const {
  if (!is_here(request.get_header_value("Host"))) {
    return refusal(421, "this server answers for 127.0.0.1 only");
  }
  const std::string origin = request.get_header_value("Origin");
  if (!origin.empty() && (!origin.starts_with("http://") || !is_here(origin.substr(7)))) {
    return refusal(403, "this server answers its own page only");
  }
  const bool is_post = request.method == "POST";
  if (!is_post && request.method != "GET" && request.method != "HEAD") {
    return refusal(405, "only GET, and POST where something is to be done");
  }
  // "/TOKEN/rest"
  const std::string_view path = request.path;
  const std::size_t end = std::min(path.find('/', 1), path.size());
  if (path.empty() || !is_same_token(path.substr(1, end - 1), token)) {
    return refusal(404, "not found: the address that flor serve printed has a token in it");
  }
  if (is_post && !is_same_token(request.get_header_value("X-Flor-Token"), token)) {
    return refusal(403, "the header X-Flor-Token is missing or wrong");
  }
  if (end == path.size()) return refusal(404, "not found: the address ends with a slash");
  Ask ask{.changes = is_post, .path = std::string(path.substr(end + 1))};
  for (const auto& [name, value] : request.params) ask.parameters.emplace(name, value);
  return answer_of(handler, ask);
}

void HttpServer::Impl::set_up() {
  server.new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
  server.set_keep_alive_timeout(kIdleSeconds);
  server.set_read_timeout(kReadSeconds);
  server.set_payload_max_length(kBodyMax);
  server.set_tcp_nodelay(true);
  // Not SO_REUSEPORT, which would let another process listen at the same port.
  server.set_socket_options([](int socket) {
    const int yes = 1;
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  server.set_default_headers({{"X-Content-Type-Options", "nosniff"},
                              {"X-Frame-Options", "DENY"},
                              {"Referrer-Policy", "no-referrer"},
                              {"Cross-Origin-Resource-Policy", "same-origin"},
                              {"Cross-Origin-Opener-Policy", "same-origin"},
                              {"Cache-Control", "no-store"}});
  server.set_pre_routing_handler([this](const auto& request, auto& response) {
    send(response, answer(request));
    return httplib::Server::HandlerResponse::Handled;
  });
}

HttpServer::HttpServer(std::uint64_t port, Handler handler)
    : impl_(std::make_unique<Impl>(std::move(handler))) {
  if (port > 65535) throw UsageError(fmt::format("--port {}: it is 0 to 65535", port));
  impl_->set_up();
  if (port == 0) {
    impl_->port = impl_->server.bind_to_any_port(kAddress);
  } else if (impl_->server.bind_to_port(kAddress, static_cast<int>(port))) {
    impl_->port = static_cast<int>(port);
  }
  if (impl_->port <= 0) {
    throw Error(fmt::format("cannot listen at {}:{}: {}: leave --port out to take a free one",
                            kAddress, port, std::strerror(errno)));
  }
}

HttpServer::~HttpServer() = default;

int HttpServer::port() const { return impl_->port; }

std::string HttpServer::url() const {
  return fmt::format("http://{}:{}/{}/", kAddress, impl_->port, impl_->token);
}

void HttpServer::run() {
  const bool well = impl_->server.listen_after_bind();
  impl_->has_ended = true;
  if (!well) throw Error("the server ended by itself");
}

void HttpServer::stop() {
  while (!impl_->server.is_running() && !impl_->has_ended) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  impl_->server.stop();
}

}  // namespace flor::cli
