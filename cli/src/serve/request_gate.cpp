#include "serve/request_gate.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace flor::cli {
namespace {

/// A new token: 128 random bits in hexadecimal.
std::string random_token() {
  std::array<unsigned char, 16> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    throw Error(fmt::format("no random numbers for the token: {}", std::strerror(errno)));
  }
  std::string text;
  for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

/// Compares tokens in constant time, so that the time does not reveal how much of a token is right.
bool is_same_token(std::string_view given, std::string_view token) {
  unsigned difference = given.size() == token.size() ? 0 : 1;
  for (std::size_t i = 0; i < token.size(); ++i) {
    const char other = i < given.size() ? given[i] : '\0';
    difference |= static_cast<unsigned>(other ^ token[i]);
  }
  return difference == 0;
}

std::string escaped(std::string_view text) {
  std::string html;
  for (const char c : text) {
    if (c == '&') {
      html += "&amp;";
    } else if (c == '<') {
      html += "&lt;";
    } else {
      html += c;
    }
  }
  return html;
}

}  // namespace

HttpResponse refusal_page(int status, std::string_view why, std::string_view accept) {
  if (accept.find("json") != accept.npos && accept.find("html") == accept.npos) {
    const nlohmann::json body = {{"error", why}};
    return {.status = status,
            .body = body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)};
  }
  return {.status = status,
          .type = "text/html; charset=utf-8",
          .body = fmt::format("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
                              "<title>flor serve: {0}</title></head>\n"
                              "<body><h1>{0}</h1><p>{1}</p></body></html>\n",
                              status, escaped(why))};
}

RequestGate::RequestGate(int port) : port_(port), token_(random_token()) {}

/// Whether the host is this server, under one of the names that a browser on this machine uses.
bool RequestGate::is_here(std::string_view host) const {
  return host == fmt::format("127.0.0.1:{}", port_) || host == fmt::format("localhost:{}", port_);
}

std::variant<HttpRequest, HttpResponse> RequestGate::examine(RequestHead head) const {
  const auto refused = [&](int status, std::string_view why) {
    return refusal_page(status, why, head.accept);
  };
  if (head.bytes > kHeadLimit) return refused(431, "the head of the request is too large");
  if (head.hosts.size() > 1)
    return refused(400, "a request names one host: this one named several");
  if (head.hosts.empty() || !is_here(head.hosts.front())) {
    return refused(421, "this server answers for 127.0.0.1 only");
  }
  const std::string_view origin = head.origin;
  if (!origin.empty() && (!origin.starts_with("http://") || !is_here(origin.substr(7)))) {
    return refused(403, "this server answers its own page only");
  }
  const bool is_post = head.method == "POST";
  if (!is_post && head.method != "GET" && head.method != "HEAD") {
    return refused(405, "only GET, and POST where something is to be done");
  }
  if (head.has_body) return refused(413, "requests to this server must not have a body");
  // the path is "/TOKEN/rest"
  const std::string_view path = head.path;
  const std::size_t end = std::min(path.find('/', 1), path.size());
  if (path.empty() || !is_same_token(path.substr(1, end - 1), token_)) {
    return refused(404,
                   "there is nothing at this address: open the one that flor serve printed when it "
                   "was last started, which has a token in it");
  }
  if (is_post && !is_same_token(head.token, token_)) {
    return refused(403, "the header X-Flor-Token is missing or wrong");
  }
  if (end == path.size())
    return refused(404, "the address that flor serve printed ends with a slash");
  return HttpRequest{.changes = is_post,
                     .path = std::string(path.substr(end + 1)),
                     .parameters = std::move(head.parameters)};
}

}  // namespace flor::cli
