// The address of the queue of evaluations, as the user writes it.
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

/// Throws UsageError, without repeating the text, which may hold a password. Characters with a
/// meaning in URLs are written like %40 in names and passwords.
QueueAddress parse_queue_address(std::string_view url);

}  // namespace flor::cli
