// Stands in for the core of Flor: keeps what the adapter registers, logs and reports.
#pragma once

#include <flor/adapter.h>
#include <flor/log.h>

#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace flor::testing {

struct LoggedContent {
  bool image = false;
  store::Item item;
  std::vector<std::byte> content;
};
struct LoggedHistogram {
  std::vector<double> values;
  int bins = 0;
};
using Logged =
    std::variant<bool, std::int64_t, double, std::string, LoggedContent, LoggedHistogram, Table>;

struct CoreDouble {
  bool logging = true;
  std::vector<std::pair<std::string, Logged>> logged;
  std::vector<std::string> refused;      ///< "name: reason"
};

CoreDouble& core();

}  // namespace flor::testing
