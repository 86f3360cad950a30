// Where the queue of evaluations is, as people write it.
#pragma once

#include <string>
#include <string_view>

namespace flor::cli {

/// redis://[[user]:password@]host[:port][/db]
struct QueueAddress {
  std::string host;
  int port = 6379;
  int database = 0;
  std::string user, password;  ///< never printed

  /// redis://host:port/db
  std::string name() const;
};

/// Throws UsageError, without repeating the text, which may hold a password. Signs that mean
/// something in URLs are written as %40 in names and passwords.
QueueAddress parse_queue_address(std::string_view url);

}  // namespace flor::cli
