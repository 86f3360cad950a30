// Signature Version 4: how a request to S3 proves its sender's identity. Pure functions.
// https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace flor::remote {

struct Credentials {
  std::string key, secret;
  std::string token;  ///< token of a temporary session; may be empty
};

/// Names are in lower case. All headers are signed.
using Headers = std::map<std::string, std::string>;
/// Query parameters, not percent-encoded. The value may be empty.
using Parameters = std::map<std::string, std::string>;

struct Request {
  std::string method = "GET";
  std::string path = "/";  ///< not percent-encoded
  Parameters parameters;
  Headers headers;  ///< must include "host"
};

/// Percent-encodes everything except letters, digits, '-', '.', '_' and '~'; in a path also except
/// '/'.
std::string encode(std::string_view text, bool is_path);
/// Returns "a=1&b=", sorted and encoded.
std::string encode(const Parameters& parameters);

/// Returns the text whose digest is signed. `payload_hash` is the SHA-256 of the body, in hex.
std::string canonical_request(const Request& request, std::string_view payload_hash);

/// Adds the headers x-amz-date, x-amz-content-sha256, authorization, and the session's token.
/// `time_us` is Unix time in microseconds.
void sign(Request& request, const Credentials& credentials, std::string_view region,
          std::string_view payload_hash, std::int64_t time_us);

}  // namespace flor::remote
