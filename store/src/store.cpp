#include "base/settings.h"
#include "database/reserve.h"
#include "database/shared_view_mark.h"
#include "database/store_impl.h"
#include "file/mount_locks.h"
#include "file/shared_home.h"
#include "index/refresh.h"
#include "maintain/collect.h"

#include <flor/store/store.h>

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace flor::store {

std::filesystem::path home_directory(std::string_view flag) {
  const std::string home =
      Settings::read({{.name = "home", .flag = "--home", .value = std::string(flag)}})
          .get("home")
          .value;
  if (home.starts_with('~')) {
    throw Error("no home directory is known for the store: set FLOR_HOME or give --flor_home");
  }
  return std::filesystem::absolute(home).lexically_normal();
}

namespace {

/// Enters events that a process which was killed, or could not reach the index, wrote to its
/// journals alone.
void bring_up_to_date(Database& database, OpenMode mode, Filesystem& filesystem) {
  std::error_code error;
  if (std::filesystem::exists(snapshot_mark(database.paths), error)) return;
  if (!is_behind(database)) return;
  const RefreshReport report = mode == OpenMode::read_only
                                   ? refresh_if_possible(database.paths, filesystem)
                                   : refresh(database);
  for (const std::string& line : report.damage) std::fprintf(stderr, "flor: %s\n", line.c_str());
}

}  // namespace

Store::Impl::Impl(const Paths& home, OpenMode open_mode, Filesystem& filesystem,
                  const std::string& no_place)
    : mode(open_mode),
      index(require_index(home, open_mode, filesystem, no_place)),
      database(std::make_shared<Database>(index ? index->paths() : home, open_mode, filesystem)),
      catalog(database) {
  if (!index) bring_up_to_date(*database, mode, filesystem);
}
Store::Impl::~Impl() = default;

namespace {

void require_directory(const std::filesystem::path& home) {
  std::error_code error;
  const auto own = std::filesystem::symlink_status(home, error);
  if (!std::filesystem::exists(own) || std::filesystem::is_directory(home, error)) return;
  const bool leads_nowhere = std::filesystem::is_symlink(own) && !std::filesystem::exists(home, error);
  throw UsageError(fmt::format("{} is {}, and a store needs a directory: set FLOR_HOME to another one",
                               home.string(),
                               leads_nowhere ? "a link to something that is not there" : "a file"));
}

}  // namespace

std::shared_ptr<Store> Store::Impl::open(const std::filesystem::path& home, OpenMode mode,
                                         Filesystem& filesystem) {
  Paths paths{std::filesystem::absolute(home).lexically_normal()};
  require_directory(paths.home);
  std::string no_place;
  if (std::error_code error; !std::filesystem::exists(snapshot_mark(paths), error)) {
    paths = with_own_index(std::move(paths), mode == OpenMode::create, filesystem, no_place);
    if (mode != OpenMode::read_only) warn_of_local_locks(paths, filesystem);
  }
  const auto opened = [&] {
    return std::shared_ptr<Store>(
        new Store(std::make_unique<Impl>(paths, mode, filesystem, no_place)));
  };
  // Each makes room, and is tried where the one before made too little.
  std::vector<std::function<bool()>> ways;
  if (mode == OpenMode::freeing) {
    ways = {[&] { return give_up_reserve(paths, filesystem); },
            [&] { return free_without_index(paths, filesystem); }};
  }
  for (auto way = ways.begin();;) {
    try {
      return opened();
    } catch (const std::exception& error) {
      if (mode != OpenMode::freeing || !is_no_space(error)) throw;
    }
    while (way != ways.end() && !(*way)()) ++way;
    if (way == ways.end()) throw_disk_is_full(paths);
    ++way;
  }
}

std::shared_ptr<Store> Store::open(const std::filesystem::path& home, OpenMode mode) {
  return Impl::open(home, mode, Filesystem::system());
}

Store::Store(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Store::~Store() {
  // A store at rest is whole in catalog.db, also where other processes have it open.
  if (impl_->mode == OpenMode::create) impl_->database->connection.truncate_log();
}
const std::filesystem::path& Store::home() const { return impl_->database->paths.home; }
Catalog& Store::catalog() { return impl_->catalog; }
const Catalog& Store::catalog() const { return impl_->catalog; }
void Store::set_patience(std::chrono::milliseconds patience) {
  const std::lock_guard lock(impl_->database->mutex);
  impl_->database->connection.set_patience(patience);
}
std::string Store::why_locks_fail() const {
  return store::why_locks_fail(impl_->database->paths.home);
}
bool Store::is_outdated() const { return impl_->database->is_replaced(); }
std::filesystem::path Store::rank_board(std::string_view key) const {
  return impl_->database->paths.rank_board(key);
}

}  // namespace flor::store
