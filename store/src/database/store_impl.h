// Members of a Store. Private: the seam at which tests put another file system below it.
#pragma once

#include "database/database.h"

#include <flor/store/store.h>

#include <filesystem>
#include <memory>

namespace flor::store {

class IndexElsewhere;

struct Store::Impl {
  /// `no_place`: see require_index.
  Impl(const Paths& home, OpenMode mode, Filesystem& filesystem, const std::string& no_place);
  ~Impl();

  static std::shared_ptr<Store> open(const std::filesystem::path& home, OpenMode mode,
                                     Filesystem& filesystem);

  OpenMode mode;
  /// An index outside the home, for reading a home that cannot take one.
  std::unique_ptr<IndexElsewhere> index;
  std::shared_ptr<Database> database;
  Catalog catalog;
};

}  // namespace flor::store
