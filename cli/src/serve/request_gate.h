// Decides which requests flor serve answers, and refuses all others.
#pragma once

#include "serve/http_server.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace flor::cli {

/// The head of a request as it arrived; an empty member means that it was not sent.
struct RequestHead {
  std::string method = {};
  std::string path = {};                ///< decoded, without query parameters
  std::vector<std::string> hosts = {};  ///< values of all Host headers
  std::string origin = {}, accept = {};
  std::string token = {};  ///< value of the header X-Flor-Token
  bool has_body = false;   ///< whether the request announces a body, which no request of the page
                           ///< does
  std::size_t bytes = 0;   ///< the whole head, with what the HTTP library adds to each header
  std::map<std::string, std::string> parameters = {};
};

/// The largest head of a request that is accepted, in bytes.
inline constexpr std::size_t kHeadLimit = 32 << 10;

/// A page that tells why a request is refused; as JSON if the client accepts JSON and not HTML.
HttpResponse refusal_page(int status, std::string_view why, std::string_view accept = {});

/// Checks requests. Thread-safe.
class RequestGate {
 public:
  /// Admits requests to 127.0.0.1:`port`, with a new token of 128 random bits.
  explicit RequestGate(int port);

  const std::string& token() const { return token_; }
  /// Returns the request without the parts that were checked, or a refusal. Without the right token
  /// all refusals are the same, whatever the path.
  std::variant<HttpRequest, HttpResponse> examine(RequestHead head) const;

 private:
  bool is_here(std::string_view host) const;

  int port_;
  std::string token_;
};

}  // namespace flor::cli
