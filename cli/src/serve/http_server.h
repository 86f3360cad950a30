// The HTTP server of flor serve, for one user of this machine. page_api.h computes the answers.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace flor::cli {

/// A request without the parts that the server itself checks: token, host and method.
struct HttpRequest {
  bool changes = false;  ///< true for POST, which asks for a change; false for GET, which asks for
                         ///< information
  std::string path;      ///< after the token, without a leading slash: "api/runs"; may be empty
  std::map<std::string, std::string> parameters = {};

  /// The value of a parameter; empty if it was not given.
  std::string_view operator[](const std::string& name) const {
    const auto found = parameters.find(name);
    return found == parameters.end() ? std::string_view() : std::string_view(found->second);
  }
};

struct HttpResponse {
  int status = 200;
  std::string type = "application/json";
  std::string body = {};
  /// The Content-Security-Policy header. The default, for answers other than pages, allows nothing.
  std::string policy = "default-src 'none'";
};

/// Called by any thread. An exception becomes an answer with status 500.
using Handler = std::function<HttpResponse(const HttpRequest&)>;

/// Serves on 127.0.0.1 alone, under a path that no other user can guess.
///
/// A client without the token learns nothing, not even whether a path exists. A request whose Host
/// header names another server is refused, so that a page of another origin cannot reach this
/// server under a name of its own (DNS rebinding). No answer allows another origin to read it. A
/// request that changes something must also send the token in the header X-Flor-Token, which an
/// HTML form cannot do. The head of a request may have at most 32 KiB. Connections that have not
/// shown the token are limited in number and time, so that they cannot keep the user out. Requests
/// are not logged.
class HttpServer {
 public:
  /// `port` 0: any free port. Throws Error if the port is taken, UsageError if the number is not a
  /// port.
  HttpServer(std::uint64_t port, Handler handler);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  int port() const;
  /// The URL of the page, which contains the token.
  std::string url() const;

  /// Answers requests until `stop` is called. May be called once. Throws Error if it cannot begin.
  void run();
  /// Makes `run` return after the requests that are being answered; may be called before `run`.
  /// Thread-safe.
  void stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace flor::cli
