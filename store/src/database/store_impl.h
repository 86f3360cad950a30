// What a Store holds. Private: the seam by which tests put another file system below it.
#pragma once

#include "database/database.h"

#include <flor/store/store.h>

#include <filesystem>
#include <memory>

namespace flor::store {

struct Store::Impl {
  Impl(const std::filesystem::path& home, OpenMode mode, Filesystem& filesystem);

  static std::shared_ptr<Store> open(const std::filesystem::path& home, OpenMode mode,
                                     Filesystem& filesystem);

  OpenMode mode;
  std::shared_ptr<Database> database;
  Catalog catalog;
};

}  // namespace flor::store
