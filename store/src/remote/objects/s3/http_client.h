// Requests over HTTP, by libcurl: several at once, on connections that are kept.
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
  int status = 0;  ///< 0: there was no answer, and `failure` says why
  Headers headers;
  std::vector<std::byte> body;
  std::string failure;
  bool is_final = false;      ///< without an answer: trying again at once will not help
  bool is_passing = true;     ///< but later it may
  bool is_untrusted = false;  ///< its certificate was refused
  bool is_too_long = false;   ///< longer than was allowed: it was not received to its end
  int attempts = 1;           ///< that it took
  std::chrono::seconds waited{0};  ///< for all of them
};

/// Thread-safe.
class HttpClient {
 public:
  /// `ca_bundle`: a file with the certificates that are trusted; empty: the system's. A transfer
  /// that moves next to nothing for `silence` is given up.
  HttpClient(std::string ca_bundle, std::chrono::seconds silence);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  /// Sends one request and waits for its answer, of which at most `most` bytes are received.
  /// `origin` is "https://host:port". Does not follow redirections.
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
