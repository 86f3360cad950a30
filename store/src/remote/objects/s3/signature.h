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
  std::string token;  ///< of a session; may be empty
};

/// Names in lower case. All of them are signed.
using Headers = std::map<std::string, std::string>;
/// Not encoded. A parameter without a value has an empty one.
using Parameters = std::map<std::string, std::string>;

struct Request {
  std::string method = "GET";
  std::string path = "/";  ///< not encoded
  Parameters parameters;
  Headers headers;  ///< "host" among them
};

/// Everything but letters, digits, '-', '.', '_' and '~' as %XX; '/' stays if it is a path.
std::string encode(std::string_view text, bool is_path);
/// "a=1&b=", sorted and encoded.
std::string encode(const Parameters& parameters);

/// The text whose digest is signed. `payload_hash` is the SHA-256 of the body, in hex.
std::string canonical_request(const Request& request, std::string_view payload_hash);

/// Adds x-amz-date, x-amz-content-sha256, the session's token and the authorization.
/// `time_us` is Unix time in microseconds.
void sign(Request& request, const Credentials& credentials, std::string_view region,
          std::string_view payload_hash, std::int64_t time_us);

}  // namespace flor::remote
