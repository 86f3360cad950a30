#include "database/database.h"

#include "database/reserve.h"
#include "database/schema.h"
#include "file/home_files.h"

#include <flor/store/error.h>

#include <chrono>
#include <system_error>
#include <utility>

namespace flor::store {
namespace {

Paths with_directories(Paths paths, OpenMode mode) {
  if (mode != OpenMode::create) return paths;
  std::error_code error;
  make_home(paths.home, error);
  if (error) throw_system_error("create the store in", paths.home, error.value());
  for (const auto& directory : {paths.packs(), paths.locks()}) {
    make_directory_in_home(directory, error);
    if (error) throw_system_error("create the store in", directory, error.value());
  }
  return paths;
}

}  // namespace

Database::Database(const Paths& store_paths, OpenMode open_mode, Filesystem& filesystem)
    : OpenFile(with_directories(store_paths, open_mode), store_paths.catalog(), kCatalogForm,
               open_mode, filesystem) {
  connection.on_roll_back([this] { series.clear(); });
  // An index that is being rebuilt needs that space itself.
  if (mode == OpenMode::create && paths.index == Paths::kIndex) make_reserve(paths, files);
}

bool Database::may_be_replaced() const {
  // In this order: once the new file is gone from its first name, it already has its final one.
  Paths made = paths;
  made.index = Paths::kNewIndex;
  std::error_code error;
  return std::filesystem::exists(made.catalog(), error) || is_replaced();
}

std::unique_ptr<Connection> open_for_reading(const Paths& paths) {
  auto connection = open_for_reading(paths, paths.catalog());
  add_later_tables(*connection, OpenMode::read_only, kLaterTables);
  return connection;
}

std::int64_t now_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace flor::store
