#include "store_impl.h"

#include <flor/store/overview.h>
#include <flor/store/store.h>

#include <mutex>

namespace flor::store {
namespace {

using Lock = std::lock_guard<std::recursive_mutex>;

}  // namespace

std::int64_t change_mark(const Store& store) {
  Database& database = *store.impl().database;
  const Lock lock(database.mutex);
  const auto row = database.connection("PRAGMA data_version");
  row->step();
  return row->integer(0);
}

std::unordered_map<std::int64_t, std::vector<Argument>> all_arguments(const Store& store) {
  Database& database = *store.impl().database;
  const Lock lock(database.mutex);
  std::unordered_map<std::int64_t, std::vector<Argument>> arguments;
  const auto rows =
      database.connection("SELECT run, name, type, value FROM argument ORDER BY run, ordinal");
  while (rows->step()) {
    arguments[rows->integer(0)].push_back({rows->text(1), rows->text(2), rows->text(3)});
  }
  return arguments;
}

}  // namespace flor::store
