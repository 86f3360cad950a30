// The members of a Store. Private; tests use it to put another file system below the store.
#pragma once

#include "database/database.h"

#include <flor/store/store.h>

#include <filesystem>
#include <memory>

namespace flor::store {

class IndexElsewhere;

struct Store::Impl {
  /// `no_place`: why there is no place for the index; see require_index.
  Impl(const Paths& home, OpenMode mode, Filesystem& filesystem, const std::string& no_place);
  ~Impl();

  static std::shared_ptr<Store> open(const std::filesystem::path& home, OpenMode mode,
                                     Filesystem& filesystem);

  OpenMode mode;
  /// The index outside the home, if the home is read but cannot hold one.
  std::unique_ptr<IndexElsewhere> index;
  std::shared_ptr<Database> database;
  Catalog catalog;
};

}  // namespace flor::store
