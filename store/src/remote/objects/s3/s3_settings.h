// Server, region and credentials, read from the variables and files that all S3 tools use.
#pragma once

#include "remote/objects/s3/signature.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace flor::remote {

struct S3Settings {
  Credentials credentials;
  std::string region;
  std::string endpoint;     ///< as "https://s3.eu-west-1.amazonaws.com", without a '/' at the end
  std::string ca_bundle;    ///< file with trusted certificates; empty: the system's
  bool path_style = false;  ///< URLs are endpoint/bucket/key, not bucket.endpoint/key
  int attempts = 8;         ///< attempts at a request whose failure may be temporary
};

/// Looks up an environment variable by name.
using Variables = std::function<std::optional<std::string>(const std::string&)>;
Variables process_environment();

/// Reads AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION
/// (AWS_DEFAULT_REGION), AWS_ENDPOINT_URL_S3 (AWS_ENDPOINT_URL), AWS_CA_BUNDLE and
/// AWS_MAX_ATTEMPTS. What these do not set is taken from the profile AWS_PROFILE ("default") in
/// ~/.aws/credentials and ~/.aws/config, or in the files named by AWS_SHARED_CREDENTIALS_FILE and
/// AWS_CONFIG_FILE. Throws Error if there are no credentials or no such profile, UsageError for
/// invalid settings.
S3Settings find_settings(const Variables& variables, std::string_view bucket);

/// Parses sections "[name]" with lines "key = value". '#' and ';' begin comments. An indented line
/// is returned as "key.name", where `key` is that of the line above.
using Sections = std::map<std::string, std::map<std::string, std::string>>;
Sections parse_profiles(std::string_view text);

}  // namespace flor::remote
