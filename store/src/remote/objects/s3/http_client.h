// HTTP requests with libcurl, several at once, over connections that stay open.
#pragma once

#include "remote/objects/s3/signature.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace flor::remote {

struct Response {
  int status = 0;  ///< HTTP status; 0: there was no answer, see `failure`
  Headers headers;
  std::vector<std::byte> body;
  std::string failure;
  bool is_final = false;      ///< if there was no answer: retrying at once will not help
  bool is_passing = true;     ///< if there was no answer: retrying later may help
  bool is_untrusted = false;  ///< the server's certificate was refused
  bool is_too_long = false;   ///< the body exceeds the limit and was not received completely
  int attempts = 1;           ///< number of attempts made
  std::chrono::seconds waited{0};  ///< total time of all attempts
};

/// Sends HTTP requests. Thread-safe.
class HttpClient {
 public:
  /// `ca_bundle`: file with the trusted certificates; empty: the system's. A transfer that makes
  /// almost no progress for `silence` is given up.
  HttpClient(std::string ca_bundle, std::chrono::seconds silence);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  /// Sends one request and waits for the answer, receiving at most `most` bytes of it. `origin` is
  /// "https://host:port". Does not follow redirections.
  Response send(const std::string& origin, const Request& request, std::span<const std::byte> body,
                std::uint64_t most);

 private:
  struct Handle;
  std::unique_ptr<Handle> take();
  void give_back(std::unique_ptr<Handle> handle);

  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace flor::remote
