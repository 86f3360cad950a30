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
  return std::shared_ptr<Store>(new Store(std::make_unique<Impl>(home, mode, filesystem)));
}

std::shared_ptr<Store> Store::open(const std::filesystem::path& home, OpenMode mode) {
  return Impl::open(home, mode, Filesystem::system());
}

Store::Store(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Store::~Store() = default;
const std::filesystem::path& Store::home() const { return impl_->database->paths.home; }
Catalog& Store::catalog() { return impl_->catalog; }
const Catalog& Store::catalog() const { return impl_->catalog; }
std::filesystem::path Store::rank_board(std::string_view key) const {
  return impl_->database->paths.rank_board(key);
}

}  // namespace flor::store
