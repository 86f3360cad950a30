#include "secrets.h"

#include "ignore.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

namespace flor::git {
namespace {

constexpr std::array<std::string_view, 48> kSecretNames = {".env",
                                                           ".env.*",
                                                           "*.env",
                                                           ".envrc",
                                                           "*.pem",
                                                           "*.key",
                                                           "*.p12",
                                                           "*.pfx",
                                                           "*.p8",
                                                           "*.pk8",
                                                           "*.ppk",
                                                           "*.jks",
                                                           "*.keystore",
                                                           "*.kdb",
                                                           "*.kdbx",
                                                           "*.keytab",
                                                           "*.ovpn",
                                                           "id_rsa",
                                                           "id_rsa[._-]*",
                                                           "id_dsa",
                                                           "id_dsa[._-]*",
                                                           "id_ecdsa",
                                                           "id_ecdsa[._-]*",
                                                           "id_ed25519",
                                                           "id_ed25519[._-]*",
                                                           "id_xmss",
                                                           ".netrc",
                                                           "_netrc",
                                                           ".git-credentials",
                                                           ".pgpass",
                                                           ".my.cnf",
                                                           ".htpasswd",
                                                           ".pypirc",
                                                           ".npmrc",
                                                           ".dockercfg",
                                                           "kubeconfig",
                                                           "credentials",
                                                           "credentials.*",
                                                           "*credentials.json",
                                                           "client_secret*.json",
                                                           "service[-_]account*.json",
                                                           "secret",
                                                           "secrets",
                                                           "secrets.*",
                                                           "secret.*",
                                                           "*.secret",
                                                           "*.secrets",
                                                           "*.gpg"};

/// Files of these kinds show what a secret looks like, or are made to be published.
constexpr std::array<std::string_view, 10> kHarmless = {
    "*.example", "*.sample", "*.template", "*.dist", "*.tmpl",
    "*.pub",     "*.h",      "*.hpp",      "*.cpp",  "*.py"};

}  // namespace

bool looks_like_secret(std::string_view name) {
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) {
    return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  });
  const auto matches = [&](std::string_view pattern) { return wildmatch(pattern, lower); };
  return std::any_of(kSecretNames.begin(), kSecretNames.end(), matches) &&
         std::none_of(kHarmless.begin(), kHarmless.end(), matches);
}

}  // namespace flor::git
