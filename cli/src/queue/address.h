// Parses the address of a queue of evaluations.
#pragma once

#include <string>
#include <string_view>

namespace flor::cli {

/// Redis server of a queue: redis://[[user]:password@]host[:port][/db]
struct QueueAddress {
  std::string host;
  int port = 6379;
  int database = 0;
  std::string user, password;  ///< never printed

  /// redis://host:port/db, safe to print.
  std::string name() const;
};

/// Throws UsageError whose message does not repeat the text, which may hold a password. Characters
/// with a meaning in URLs must be escaped like %40 in names and passwords.
QueueAddress parse_queue_address(std::string_view url);

}  // namespace flor::cli
