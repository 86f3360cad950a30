#include "base/library_versions.h"

#include <sqlite3.h>
#include <zstd.h>

namespace flor::store {

std::map<std::string, std::string> library_versions() {
  return {{"SQLite", ::sqlite3_libversion()}, {"zstd", ::ZSTD_versionString()}};
}

}  // namespace flor::store
