// A store with one run in it, and its catalog as SQL shows it.
#pragma once

#include "database/sqlite.h"
#include "store_fixture.h"

namespace flor::store {

class RunTest : public StoreTest {
 protected:
  RunTest() : store_(open()), run_(store_->catalog().add_run(new_run())) {}

  /// The first number that `sql` finds; -1 if it finds nothing.
  std::int64_t query(const std::string& sql) {
    Connection connection(home() / "catalog.db", Connection::Mode::read_only);
    const auto row = connection(sql);
    return row->step() ? row->integer(0) : -1;
  }

  std::shared_ptr<Store> store_;
  Run run_;
};

}  // namespace flor::store
