#include "remote/objects/s3/signature.h"

#include "remote/objects/sha256.h"

#include <fmt/core.h>

#include <array>
#include <ctime>

namespace flor::remote {
namespace {

constexpr std::string_view kAlgorithm = "AWS4-HMAC-SHA256";
constexpr std::string_view kService = "s3";
constexpr std::string_view kEnd = "aws4_request";

bool is_unreserved(char c) {
  const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return letter || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' || c == '~';
}

/// Returns "20130524T000000Z".
std::string time_text(std::int64_t time_us) {
  const std::time_t seconds = time_us / 1'000'000;
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 20> text{};
  const std::size_t size = std::strftime(text.data(), text.size(), "%Y%m%dT%H%M%SZ", &parts);
  return {text.data(), size};
}

std::string signed_names(const Headers& headers) {
  std::string names;
  for (const auto& [name, value] : headers)
    names += fmt::format("{}{}", names.empty() ? "" : ";", name);
  return names;
}

std::string signing_of(std::string_view secret, std::string_view date, std::string_view region,
                       std::string_view text) {
  const std::string first = "AWS4" + std::string(secret);
  Sha256 key = hmac_sha256(std::as_bytes(std::span(first)), date);
  for (const std::string_view part : {region, kService, kEnd}) key = hmac_sha256(key, part);
  return hex(hmac_sha256(key, text));
}

}  // namespace

std::string encode(std::string_view text, bool is_path) {
  std::string encoded;
  for (const char c : text) {
    if (is_unreserved(c) || (is_path && c == '/')) {
      encoded += c;
    } else {
      encoded += fmt::format("%{:02X}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    }
  }
  return encoded;
}

std::string encode(const Parameters& parameters) {
  // Must be sorted by encoded name, which for names of letters is the order of the map.
  std::string query;
  for (const auto& [name, value] : parameters) {
    query +=
        fmt::format("{}{}={}", query.empty() ? "" : "&", encode(name, false), encode(value, false));
  }
  return query;
}

std::string canonical_request(const Request& request, std::string_view payload_hash) {
  std::string headers;
  for (const auto& [name, value] : request.headers) headers += name + ":" + value + "\n";
  return fmt::format("{}\n{}\n{}\n{}\n{}\n{}", request.method, encode(request.path, true),
                     encode(request.parameters), headers, signed_names(request.headers),
                     payload_hash);
}

void sign(Request& request, const Credentials& credentials, std::string_view region,
          std::string_view payload_hash, std::int64_t time_us) {
  const std::string time = time_text(time_us);
  const std::string date = time.substr(0, 8);
  request.headers.erase("authorization");
  request.headers["x-amz-date"] = time;
  request.headers["x-amz-content-sha256"] = payload_hash;
  if (!credentials.token.empty()) request.headers["x-amz-security-token"] = credentials.token;
  const std::string scope = fmt::format("{}/{}/{}/{}", date, region, kService, kEnd);
  const std::string text = fmt::format("{}\n{}\n{}\n{}", kAlgorithm, time, scope,
                                       sha256_hex(canonical_request(request, payload_hash)));
  const std::string names = signed_names(request.headers);
  request.headers["authorization"] =
      fmt::format("{} Credential={}/{},SignedHeaders={},Signature={}", kAlgorithm, credentials.key,
                  scope, names, signing_of(credentials.secret, date, region, text));
}

}  // namespace flor::remote
