// Decides which requests flor serve answers, and refuses the others.
#pragma once

#include "serve/http_server.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace flor::cli {

/// The head of a request as it arrived. Empty members were not sent.
struct RequestHead {
  std::string method = {};
  std::string path = {};                ///< decoded, without the query
  std::vector<std::string> hosts = {};  ///< every header Host
  std::string origin = {}, accept = {};
  std::string token = {};  ///< the header X-Flor-Token
  bool has_body = false;   ///< one is announced; no request of the page has any
  std::size_t bytes = 0;   ///< the whole head, and what the library adds to each header
  std::map<std::string, std::string> parameters = {};
};

/// The largest head of a request; bytes.
inline constexpr std::size_t kHeadLimit = 32 << 10;

/// A page that tells why a request is refused; JSON for a client that accepts JSON and no HTML.
Answer refusal_page(int status, std::string_view why, std::string_view accept = {});

/// Thread-safe.
class RequestGate {
 public:
  /// Admits requests for 127.0.0.1:`port` under a new token of 128 random bits.
  explicit RequestGate(int port);

  const std::string& token() const { return token_; }
  /// The request without the parts examined here, or the refusal. Without the right token all
  /// refusals are the same, whatever the path.
  std::variant<Ask, Answer> examine(RequestHead head) const;

 private:
  bool is_here(std::string_view host) const;

  int port_;
  std::string token_;
};

}  // namespace flor::cli
