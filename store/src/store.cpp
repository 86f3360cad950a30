#include "mount_locks.h"
#include "reserve.h"
#include "store_impl.h"

#include <flor/store/settings.h>
#include <flor/store/store.h>

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

Store::Impl::Impl(const std::filesystem::path& home, OpenMode open_mode, Filesystem& filesystem)
    : mode(open_mode),
      database(std::make_shared<Database>(Paths{std::filesystem::absolute(home).lexically_normal()},
                                          open_mode, filesystem)),
      catalog(database) {}

std::shared_ptr<Store> Store::Impl::open(const std::filesystem::path& home, OpenMode mode,
                                         Filesystem& filesystem) {
  const auto opened = [&] {
    return std::shared_ptr<Store>(new Store(std::make_unique<Impl>(home, mode, filesystem)));
  };
  try {
    return opened();
  } catch (const std::exception& error) {
    if (mode != OpenMode::freeing || !is_no_space(error)) throw;
  }
  const Paths paths{std::filesystem::absolute(home).lexically_normal()};
  if (!give_up_reserve(paths, filesystem)) throw_disk_is_full(paths);
  try {
    return opened();
  } catch (const std::exception& error) {
    if (!is_no_space(error)) throw;
    throw_disk_is_full(paths);
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
std::filesystem::path Store::rank_board(std::string_view key) const {
  return impl_->database->paths.rank_board(key);
}

}  // namespace flor::store
