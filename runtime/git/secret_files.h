// Files that hold passwords and keys, known by their names and by their contents: recordings leave
// out those that git does not track.
#pragma once

#include <string_view>

namespace flor::git {

/// Verdict on a file by its name.
enum class SecretName {
  none,
  secret,      ///< it holds a secret, whatever its content
  in_sources,  ///< it does unless it is ordinary code, which a program cannot be built without
};

/// `path` is relative to the work tree: ".env", "deploy/.aws/config".
SecretName secret_name(std::string_view path);

/// The kind of the secret that a file holds ("private key", "GitHub token"); empty if none is
/// found. In sources and documents only keys that look real count: they show the forms of keys.
std::string_view secret_in(std::string_view path, std::string_view content);

}  // namespace flor::git
