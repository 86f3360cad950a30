// Requests over HTTP, by libcurl: several at once, on connections that are kept.
#pragma once

#include "s3/signature.h"

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
  bool is_final = false;  ///< without an answer: trying again will not help
};

/// Thread-safe.
class HttpClient {
 public:
  /// `ca_bundle`: a file with the certificates that are trusted; empty: the system's.
  explicit HttpClient(std::string ca_bundle);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  /// Sends one request and waits for its answer. `origin` is "https://host:port".
  Response send(const std::string& origin, const Request& request, std::span<const std::byte> body);

 private:
  struct Handle;
  std::unique_ptr<Handle> take();
  void give_back(std::unique_ptr<Handle> handle);

  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace flor::remote
