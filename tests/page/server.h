// A real `flor serve` for a test, and requests to it over a plain socket, so that a test can say
// every byte of them.
#pragma once

#include "support/process.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <nlohmann/json.hpp>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace flor::testing {

/// What came back, the names of headers in lower case.
struct HttpAnswer {
  int status = 0;
  std::map<std::string, std::string> headers;
  std::string body;

  nlohmann::ordered_json json() const {
    return nlohmann::ordered_json::parse(body, nullptr, false);
  }
};

class ServeProcess {
 public:
  explicit ServeProcess(const std::filesystem::path& home, std::vector<std::string> options = {}) {
    std::vector<std::string> words{FLOR_CLI, "--home", home.string(), "serve", "--json"};
    words.insert(words.end(), options.begin(), options.end());
    process_ = std::make_unique<Process>(std::move(words),
                                         ProcessOptions{.directory = home, .environment = {}});
    if (!process_->await([&] { return process_->out().find('\n') != std::string::npos; })) {
      throw std::runtime_error("flor serve does not begin: " + process_->err());
    }
    const auto said = nlohmann::json::parse(process_->out());
    url_ = said.at("url");
    port_ = said.at("port");
    token_ = url_.substr(url_.find('/', 8) + 1);
    token_.pop_back();
  }

  const std::string& url() const { return url_; }
  const std::string& token() const { return token_; }
  int port() const { return port_; }
  std::string host() const { return "127.0.0.1:" + std::to_string(port_); }
  Process& process() { return *process_; }

  /// Sends these bytes and reads until the server closes or has sent what it promised.
  HttpAnswer send(const std::string& bytes) const {
    const int socket = connect();
    EXPECT_EQ(::write(socket, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    HttpAnswer answer = read(socket, bytes.starts_with("HEAD"));
    ::close(socket);
    return answer;
  }

  using Headers = std::map<std::string, std::string>;
  /// A request for a whole path; the header Host is this server's unless `headers` say otherwise.
  HttpAnswer request(const std::string& method, const std::string& path,
                     Headers headers = {}) const {
    headers.try_emplace("Host", host());
    headers.try_emplace("Connection", "close");
    if (method == "POST") headers.try_emplace("Content-Length", "0");
    std::string text = method + " " + path + " HTTP/1.1\r\n";
    for (const auto& [name, value] : headers) text += name + ": " + value + "\r\n";
    return send(text + "\r\n");
  }
  /// GET of what is below the token.
  HttpAnswer get(const std::string& rest) const {
    return request("GET", "/" + token_ + "/" + rest);
  }
  nlohmann::ordered_json ask(const std::string& question) const {
    const HttpAnswer answer = get("api/" + question);
    EXPECT_EQ(answer.status, 200) << question << ": " << answer.body;
    return answer.json();
  }
  HttpAnswer post(const std::string& question) const {
    return request("POST", "/" + token_ + "/api/" + question, {{"X-Flor-Token", token_}});
  }

  /// A connection that says nothing yet.
  int connect() const {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port_));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      ::close(socket);
      throw std::runtime_error("cannot connect");
    }
    return socket;
  }

 private:
  static HttpAnswer read(int socket, bool is_head) {
    std::string text;
    char buffer[65536];
    std::size_t body = std::string::npos, length = 0;
    HttpAnswer answer;
    while (body == std::string::npos || (!is_head && text.size() < body + length)) {
      const ssize_t count = ::read(socket, buffer, sizeof buffer);
      if (count <= 0) break;
      text.append(buffer, static_cast<std::size_t>(count));
      if (body == std::string::npos && text.find("\r\n\r\n") != std::string::npos) {
        body = text.find("\r\n\r\n") + 4;
        parse_head(text.substr(0, body), answer);
        const auto found = answer.headers.find("content-length");
        length = found == answer.headers.end() ? 0 : std::stoul(found->second);
      }
    }
    if (body != std::string::npos) answer.body = text.substr(body);
    return answer;
  }

  static void parse_head(const std::string& head, HttpAnswer& answer) {
    answer.status = std::stoi(head.substr(9, 3));
    for (std::size_t at = head.find("\r\n") + 2; at < head.size() - 2;) {
      const std::size_t end = head.find("\r\n", at), colon = head.find(": ", at);
      std::string name = head.substr(at, colon - at);
      for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      answer.headers[name] = head.substr(colon + 2, end - colon - 2);
      at = end + 2;
    }
  }

  std::unique_ptr<Process> process_;
  std::string url_, token_;
  int port_ = 0;
};

}  // namespace flor::testing
