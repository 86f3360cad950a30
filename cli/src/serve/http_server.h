// The HTTP side of flor serve: a small server for one user of this machine. The answers come from
// elsewhere (page_api.h).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace flor::cli {

/// A request, without the parts that the server handles itself: the token, the host, the method.
struct Ask {
  bool changes = false;  ///< POST: asks for a change; otherwise GET: asks for information
  std::string path;      ///< below the token, without a slash in front: "api/runs"; may be empty
  std::map<std::string, std::string> parameters = {};

  /// The parameter, or nothing if it was not given.
  std::string_view operator[](const std::string& name) const {
    const auto found = parameters.find(name);
    return found == parameters.end() ? std::string_view() : std::string_view(found->second);
  }
};

struct Answer {
  int status = 200;
  std::string type = "application/json";
  std::string body = {};
  /// The Content-Security-Policy of this answer. An answer that is no page may do nothing.
  std::string policy = "default-src 'none'";
};

/// Called by any thread; an exception is answered as an error of the server.
using Handler = std::function<Answer(const Ask&)>;

/// Serves on 127.0.0.1 alone, under a path that no other user can guess.
///
/// A client without the token learns nothing, not even whether a path exists. A request whose Host
/// is not this server is refused, so that no page of another origin can reach it under a name of
/// its own (DNS rebinding); nor does any answer allow another origin to read it. A request that
/// changes something needs the token in the header X-Flor-Token as well, which a form cannot send.
/// The head of a request takes at most 32 KiB; connections that have not shown the token are
/// limited in number and in time, so that they cannot keep a user out. No request is logged.
class HttpServer {
 public:
  /// `port` 0: any free one. Throws Error if the port is taken, UsageError if it is no port.
  HttpServer(std::uint64_t port, Handler handler);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  int port() const;
  /// The address of the page, with the token.
  std::string url() const;

  /// Answers requests until `stop` is called; only once. Throws Error if it cannot begin.
  void run();
  /// Ends `run`, which was called or is about to be, after the requests that are being answered.
  /// Thread-safe.
  void stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace flor::cli
