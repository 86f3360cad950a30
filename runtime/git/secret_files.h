// Recognizes files that hold passwords and keys, by name and by content. Recordings leave out such
// files unless git tracks them.
#pragma once

#include <string_view>

namespace flor::git {

/// The likelihood of secrets in a file, judged by its name.
enum class SecretName {
  none,
  secret,      ///< taken for secret, whatever its content
  /// Taken for secret unless it is ordinary code, which the program could not be built without.
  in_sources,
};

/// Judges a file by its name. `path` is relative to the work tree, such as ".env" or
/// "deploy/.aws/config".
SecretName secret_name(std::string_view path);

/// The kind of secret that the content holds, such as "private key" or "GitHub token"; empty if
/// none is found. Sources and documents often show the form of keys, so in them only keys that look
/// real count.
std::string_view secret_in(std::string_view path, std::string_view content);

}  // namespace flor::git
