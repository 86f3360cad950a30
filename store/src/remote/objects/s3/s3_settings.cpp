#include "remote/objects/s3/s3_settings.h"

#include <flor/store/error.h>

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace flor::remote {
namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  const std::size_t begin = text.find_first_not_of(kBlank);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

std::string content_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  if (in) text << in.rdbuf();
  return text.str();
}

/// The settings of one profile, from both files.
class Profile {
 public:
  explicit Profile(const Variables& variables) : variables_(variables) {
    const std::string asked = variables("AWS_PROFILE").value_or("");
    name_ = asked.empty() ? "default" : asked;
    const std::string home = variables("HOME").value_or("");
    const auto file = [&](const char* variable, const char* name) {
      std::string path = variables(variable).value_or("");
      if (path.empty()) path = home + "/.aws/" + name;
      if (path.starts_with("~/")) path.replace(0, 1, home);
      return parse_profiles(content_of(path));
    };
    const Sections credentials = file("AWS_SHARED_CREDENTIALS_FILE", "credentials");
    const Sections config = file("AWS_CONFIG_FILE", "config");
    bool found = take(credentials, name_);
    found = take(config, "profile " + name_) || found;
    if (name_ == "default") found = take(config, name_) || found;
    if (!asked.empty() && !found) {
      throw Error(fmt::format("there is no profile '{}' (AWS_PROFILE) in ~/.aws", name_));
    }
  }

  /// Returns the first of these variables that is set, otherwise the profile's value.
  std::string operator()(std::initializer_list<const char*> names, const std::string& key) const {
    for (const char* name : names) {
      if (const auto value = variables_(name); value && !value->empty()) return *value;
    }
    return (*this)(key);
  }
  std::string operator()(const std::string& key) const {
    const auto found = values_.find(key);
    return found == values_.end() ? "" : found->second;
  }
  const std::string& name() const { return name_; }

 private:
  bool take(const Sections& sections, const std::string& name) {
    const auto found = sections.find(name);
    if (found == sections.end()) return false;
    for (const auto& [key, value] : found->second) values_.emplace(key, value);
    return true;
  }

  const Variables& variables_;
  std::string name_;
  std::map<std::string, std::string> values_;
};

/// Checks a value that will be part of a header. Does not print it, because it may be a secret.
void check_word(const std::string& value, const char* what) {
  const bool plain =
      std::ranges::all_of(value, [](unsigned char c) { return c > ' ' && c < 0x7F; });
  if (plain) return;
  throw UsageError(fmt::format(
      "the {} has a blank, a line break or another character that none can have", what));
}

/// Throws Error. If settings for credentials exist that Flor does not support, the message names
/// them.
[[noreturn]] void throw_no_credentials(const Variables& variables, const Profile& profile) {
  for (const auto& [one, other] : {std::pair("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"),
                                   std::pair("AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID")}) {
    if (!variables(one).value_or("").empty() && variables(other).value_or("").empty()) {
      throw Error(fmt::format("{} is set, and {} is not: set both", one, other));
    }
  }
  for (const char* other : {"credential_process", "role_arn", "sso_session", "sso_start_url",
                            "web_identity_token_file", "login_session"}) {
    if (profile(other).empty()) continue;
    throw Error(fmt::format(
        "the profile '{0}' has its credentials from {1}, which Flor does not ask: put them into "
        "the environment (eval \"$(aws configure export-credentials --profile {0} --format env)\")",
        profile.name(), other));
  }
  throw Error(
      "there are no credentials for S3: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or make "
      "a profile in ~/.aws/credentials (AWS_PROFILE names it)");
}

/// Checks "https://host:port/path", which will be connected to and printed.
void check_endpoint(const std::string& endpoint) {
  const std::size_t scheme = endpoint.find("://");
  const bool known = endpoint.starts_with("http://") || endpoint.starts_with("https://");
  if (!known) {
    throw UsageError(
        fmt::format("the endpoint '{}' begins with neither http:// nor https://", endpoint));
  }
  const std::string_view rest = std::string_view(endpoint).substr(scheme + 3);
  const std::string_view host = rest.substr(0, rest.find('/'));
  // A user and password before the host would be printed as well.
  const bool plain = !host.empty() && rest.find_first_of("@?#\\") == rest.npos &&
                     std::ranges::all_of(rest, [](unsigned char c) { return c > ' ' && c < 0x7F; });
  if (!plain) throw UsageError("the endpoint is not of the form https://host:port");
}

int attempts_of(const std::string& text) {
  if (text.empty()) return S3Settings().attempts;
  int attempts = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), attempts);
  if (error != std::errc() || end != text.data() + text.size() || attempts < 1) {
    throw UsageError(
        "AWS_MAX_ATTEMPTS (max_attempts in the profile) must be a whole number, at least 1");
  }
  return attempts;
}

/// Takes all credentials from the variables, or all from the profile, never a mixture.
Credentials find_credentials(const Variables& variables, const Profile& profile) {
  const auto key = variables("AWS_ACCESS_KEY_ID"), secret = variables("AWS_SECRET_ACCESS_KEY");
  if (key && secret && !key->empty() && !secret->empty()) {
    return {*key, *secret, variables("AWS_SESSION_TOKEN").value_or("")};
  }
  return {profile("aws_access_key_id"), profile("aws_secret_access_key"),
          profile("aws_session_token")};
}

}  // namespace

Variables process_environment() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    if (!value) return std::nullopt;
    return value;
  };
}

Sections parse_profiles(std::string_view text) {
  Sections sections;
  std::string section, above;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::string_view words = trimmed(line);
    if (words.empty() || words.front() == '#' || words.front() == ';') continue;
    if (words.front() == '[' && words.back() == ']') {
      section = trimmed(words.substr(1, words.size() - 2));
      above.clear();
      sections[section];
      continue;
    }
    const std::size_t equals = words.find('=');
    if (equals == words.npos) continue;
    const std::string key(trimmed(words.substr(0, equals)));
    const std::string value(trimmed(words.substr(equals + 1)));
    const bool indented = line.front() == ' ' || line.front() == '\t';
    if (!indented) above = key;
    sections[section][indented && !above.empty() ? above + "." + key : key] = value;
  }
  return sections;
}

S3Settings find_settings(const Variables& variables, std::string_view bucket) {
  const Profile profile(variables);
  S3Settings settings;
  settings.credentials = find_credentials(variables, profile);
  if (settings.credentials.key.empty() || settings.credentials.secret.empty()) {
    throw_no_credentials(variables, profile);
  }
  check_word(settings.credentials.key, "access key (AWS_ACCESS_KEY_ID)");
  check_word(settings.credentials.secret, "secret (AWS_SECRET_ACCESS_KEY)");
  check_word(settings.credentials.token, "session's token (AWS_SESSION_TOKEN)");
  settings.region = profile({"AWS_REGION", "AWS_DEFAULT_REGION"}, "region");
  if (settings.region.empty()) settings.region = "us-east-1";
  check_word(settings.region, "region (AWS_REGION)");
  settings.attempts = attempts_of(profile({"AWS_MAX_ATTEMPTS"}, "max_attempts"));
  settings.ca_bundle = profile({"AWS_CA_BUNDLE"}, "ca_bundle");
  settings.endpoint = profile({"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"}, "endpoint_url");
  const bool is_amazon = settings.endpoint.empty();
  if (is_amazon) settings.endpoint = fmt::format("https://s3.{}.amazonaws.com", settings.region);
  while (settings.endpoint.ends_with('/')) settings.endpoint.pop_back();
  check_endpoint(settings.endpoint);
  // Amazon's certificate for *.s3.REGION does not cover bucket names with dots.
  const std::string style = profile("s3.addressing_style");
  settings.path_style =
      style == "path" || (style != "virtual" && (!is_amazon || bucket.find('.') != bucket.npos));
  return settings;
}

}  // namespace flor::remote
