// Server, region and credentials: from the variables and files that all tools for S3 read.
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
  std::string endpoint;     ///< "https://s3.eu-west-1.amazonaws.com", without a '/' at its end
  std::string ca_bundle;    ///< a file; empty: the system's
  bool path_style = false;  ///< endpoint/bucket/key instead of bucket.endpoint/key
  int attempts = 8;         ///< of a request that fails for a reason that may pass
};

/// Environment variables, by name.
using Variables = std::function<std::optional<std::string>(const std::string&)>;
Variables process_environment();

/// Reads AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION
/// (AWS_DEFAULT_REGION), AWS_ENDPOINT_URL_S3 (AWS_ENDPOINT_URL), AWS_CA_BUNDLE, AWS_MAX_ATTEMPTS;
/// takes what they leave out from the profile AWS_PROFILE (default) in ~/.aws/credentials and
/// ~/.aws/config, or in the files that AWS_SHARED_CREDENTIALS_FILE and AWS_CONFIG_FILE name. Throws
/// Error where there are no credentials, or no such profile, UsageError for impossible settings.
S3Settings find_settings(const Variables& variables, std::string_view bucket);

/// "[name]" sections of "key = value" lines; '#' and ';' begin comments. An indented line belongs
/// to the key above, as "key.name".
using Sections = std::map<std::string, std::map<std::string, std::string>>;
Sections parse_profiles(std::string_view text);

}  // namespace flor::remote
