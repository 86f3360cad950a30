#include "remote/facts/run_catalog.h"

#include "base/unpack.h"
#include "database/database.h"
#include "database/open_file.h"
#include "database/schema.h"
#include "file/file_age.h"
#include "file/home_files.h"
#include "file/new_file.h"
#include "index/copies/foreign_rows.h"
#include "remote/contents.h"
#include "remote/facts/evaluation_rows.h"
#include "remote/objects/object_keys.h"
#include "remote/objects/parcels.h"
#include "remote/objects/sha256.h"

#include <flor/store/error.h>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <string_view>
#include <system_error>
#include <tuple>

namespace flor::remote {
namespace {

namespace fs = std::filesystem;
using store::Connection;

constexpr int kLevel = 3;

/// Upper limit of a compressed catalog in bytes. Those of real runs take some MiB for millions of
/// values.
constexpr std::uint64_t kCatalogBytesMax = std::uint64_t{1} << 30;

constexpr std::string_view kMagic{"SQLite format 3\0", 16};

/// Limit of one step of a query on a catalog, which an attacker may have written.
constexpr std::chrono::seconds kStepMax{5};

/// The most bytes that a store caches of catalogs from object stores.
constexpr std::uint64_t kCacheBytesMax = std::uint64_t{256} << 20;

bool is_database(std::span<const std::byte> bytes) {
  return bytes.size() >= kMagic.size() &&
         std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) == 0;
}

std::vector<std::byte> read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::vector<std::byte> content(fs::file_size(path));
  in.read(reinterpret_cast<char*>(content.data()), static_cast<std::streamsize>(content.size()));
  if (!in) throw Error(fmt::format("cannot read {}", path.string()));
  return content;
}

std::int64_t number(Connection& connection, const char* sql) {
  const auto row = connection(sql);
  return row->step() ? row->integer(0) : 0;
}

/// Deletes the least recently used files until `bytes` more fit into the cache.
void make_room(const fs::path& cache, std::uint64_t bytes) {
  std::error_code error;
  std::vector<std::tuple<fs::file_time_type, std::uint64_t, fs::path>> files;
  for (const auto& entry : fs::directory_iterator(cache, error)) {
    std::error_code gone;
    const auto used = entry.last_write_time(gone);
    const std::uint64_t size = gone ? 0 : entry.file_size(gone);
    if (gone) continue;
    files.emplace_back(used, size, entry.path());
    bytes += size;
  }
  std::ranges::sort(files);
  for (const auto& [used, size, path] : files) {
    if (bytes <= kCacheBytesMax) return;
    if (fs::remove(path, error)) bytes -= size;
  }
}

[[noreturn]] void refuse(const Connection& connection, std::string_view why) {
  const store::Naming& naming = connection.naming();
  throw Damaged(fmt::format("{} is damaged ({}): {}", naming.name, why, naming.remedy));
}

/// Checks the schema before any table is read. SQLite would execute views, triggers and generated
/// columns, and with pages that are used twice it might return rows without end.
void check_form(Connection& connection) {
  if (number(connection, "PRAGMA application_id") != store::kApplicationId) {
    refuse(connection, "it is no catalog of Flor");
  }
  const std::string foreign = store::foreign_schema(connection, std::span(&kPrunedTable, 1));
  if (!foreign.empty()) refuse(connection, foreign);
  const auto row = connection("PRAGMA integrity_check(1)");
  if (!row->step() || row->text_view(0) == "ok") return;
  // The lines before the last one name the database.
  const std::string_view found = row->text_view(0);
  refuse(connection, found.substr(found.rfind('\n') + 1));
}

/// Checks the rows about content in one pass, because names of parcels will be used as keys, places
/// will be read, and chains of bases will be followed.
void check_content(Connection& connection) {
  if (connection("SELECT 1 FROM block LIMIT 1")->step()) {
    refuse(connection, "it has values in blocks, which no spooled run has");
  }
  const auto wrong = connection(
      "SELECT 1 FROM chunk LEFT JOIN pack ON pack.id = chunk.pack LEFT JOIN chunk base ON base.id "
      "= chunk.base WHERE pack.id IS NULL OR typeof(chunk.digest) <> 'blob' OR "
      "length(chunk.digest) <> 16 OR typeof(chunk.offset) <> 'integer' OR chunk.offset < 0 OR "
      "chunk.offset > pack.bytes OR typeof(chunk.stored_bytes) <> 'integer' OR chunk.stored_bytes "
      "NOT BETWEEN 0 AND ?1 OR typeof(chunk.raw_bytes) <> 'integer' OR chunk.raw_bytes NOT BETWEEN "
      "0 AND ?2 OR chunk.offset + chunk.stored_bytes + ?3 > pack.bytes OR chunk.codec NOT BETWEEN "
      "0 AND 255 OR chunk.type NOT BETWEEN 0 AND 255 OR chunk.depth NOT BETWEEN 0 AND ?4 OR "
      "(chunk.depth > 0) <> (chunk.base IS NOT NULL) OR (chunk.depth > 0 AND (base.id IS NULL OR "
      "base.depth >= chunk.depth OR base.raw_bytes <> chunk.raw_bytes)) LIMIT 1",
      std::int64_t{store::kPayloadBytesMax}, std::int64_t{store::kChunkBytes},
      std::int64_t{store::kRecordHeaderBytes}, std::int64_t{kDepthMax});
  if (wrong->step()) refuse(connection, "it describes a chunk that cannot be");
  const auto packs = connection("SELECT name, bytes FROM pack");
  while (packs->step()) {
    const std::int64_t bytes = packs->integer(1);
    if (!is_content_name(packs->text_view(0)) || bytes < 0 || bytes > kParcelBytesMax) {
      refuse(connection, "it names a parcel that cannot be");
    }
  }
}

}  // namespace

void unpack_catalog(ObjectStore& objects, const RemoteRun& run,
                    const std::function<void(std::span<const std::byte>)>& sink) {
  const std::string key = catalog_key(run.catalog);
  const auto damaged = [&](std::string_view what) {
    return Damaged(fmt::format("{}/{} {}: spool the run again from where it was recorded",
                               objects.url(), key, what));
  };
  const std::vector<std::byte> content =
      objects.get(key, std::min(run.catalog_bytes, kCatalogBytesMax));
  if (sha256_hex(content) != run.catalog) throw damaged("is not what its digest says");
  if (content.size() != run.catalog_bytes) throw damaged("is not as long as its manifest says");
  std::uint64_t bytes = 0;
  const std::string_view wrong = store::unpack(content, [&](std::span<const std::byte> unpacked) {
    if (bytes == 0 && !unpacked.empty() && !is_database(unpacked)) {
      throw damaged("is no catalog");
    }
    bytes += unpacked.size();
    sink(unpacked);
  });
  if (!wrong.empty()) throw damaged(wrong);
  if (bytes == 0) throw damaged("is no catalog");
}

RunCatalog::RunCatalog(ObjectStore& objects, const RemoteRun& run, const fs::path& cache) {
  if (cache.empty()) {
    const fs::path file = work_.emplace().path() / "catalog.db";
    std::ofstream out(file, std::ios::binary);
    unpack_catalog(objects, run, [&](std::span<const std::byte> bytes) {
      out.write(reinterpret_cast<const char*>(bytes.data()),
                static_cast<std::streamsize>(bytes.size()));
    });
    out.close();
    if (!out) throw Error(fmt::format("cannot write {}: is the disk full?", file.string()));
    open(file, run, objects.url());
    return;
  }
  const fs::path file = cache / (run.catalog + ".db");
  std::error_code error;
  if (fs::exists(file, error)) {
    fs::last_write_time(file, store::file_time_ago(std::chrono::seconds(0)), error);
    try {
      open(file, run, objects.url());
      return;
    } catch (const NewerFormat&) {
      throw;
    } catch (const Error&) {
      // It was deleted by another process to make room, or is damaged, so it is downloaded again.
    }
  }
  {
    store::NewFile out(store::Filesystem::system(), file, store::kInHome);
    unpack_catalog(objects, run, [&](std::span<const std::byte> bytes) { out.append(bytes); });
    make_room(cache, out.bytes());
    out.finish();
  }
  try {
    open(file, run, objects.url());
  } catch (...) {
    connection_.reset();
    fs::remove(file, error);
    throw;
  }
}

void RunCatalog::open(const fs::path& file, const RemoteRun& run, const std::string& url) {
  store::Naming naming{fmt::format("the catalog of run {} in {}", run.key, url),
                       "spool the run again from where it was recorded"};
  connection_ = std::make_unique<Connection>(file, Connection::Mode::immutable, std::move(naming));
  connection_->distrust(kStepMax);
  if (number(*connection_, "PRAGMA user_version") > store::kFormat) {
    throw NewerFormat(
        fmt::format("the run {} in {} was spooled by a newer Flor: upgrade flor", run.key, url));
  }
  try {
    check(run);
  } catch (const Busy&) {
    throw;
  } catch (const Damaged&) {
    throw;
  } catch (const Error& error) {
    refuse(*connection_, error.what());
  }
}

void RunCatalog::check(const RemoteRun& run) {
  check_form(*connection_);
  store::add_later_tables(*connection_, store::OpenMode::read_only, store::kLaterTables);
  const auto row = (*connection_)("SELECT id FROM run WHERE key = ?1", run.key);
  if (!row->step()) refuse(*connection_, "it does not have it");
  run_ = row->integer(0);
  check_content(*connection_);
  std::string flaw =
      store::flaw_of_rows(*connection_, std::min(run.catalog_bytes, kCatalogBytesMax));
  if (flaw.empty()) {
    Evaluations evaluations;
    add_evaluations(*connection_, run_, evaluations);
    flaw = flaw_of(evaluations);
  }
  if (!flaw.empty()) refuse(*connection_, flaw);
}

NewCatalog::NewCatalog() {
  const std::filesystem::path file = work_.path() / "catalog.db";
  store::OpenFile(store::Paths{work_.path()}, file, store::kRunCatalogForm, store::OpenMode::create,
                  store::Filesystem::system());
  connection_ = std::make_unique<Connection>(file, Connection::Mode::existing);
  // Fast settings: no other process uses this file, and it is made again if it is lost.
  connection_->execute("PRAGMA journal_mode=DELETE; PRAGMA synchronous=OFF");
}

void NewCatalog::write(const std::function<void(Connection&)>& body) {
  store::Transaction transaction(*connection_);
  body(*connection_);
  transaction.commit();
}

std::vector<std::byte> NewCatalog::seal() {
  connection_.reset();
  const std::vector<std::byte> file = read_file(work_.path() / "catalog.db");
  std::vector<std::byte> object(ZSTD_compressBound(file.size()));
  const std::size_t size =
      ZSTD_compress(object.data(), object.size(), file.data(), file.size(), kLevel);
  if (ZSTD_isError(size)) throw Error("cannot compress a catalog");
  object.resize(size);
  return object;
}

fs::path catalog_cache(const fs::path& home) {
  const fs::path cache = home / "cache" / "remote";
  std::error_code error;
  store::make_directory_in_home(cache, error);
  return error || ::access(cache.c_str(), W_OK) != 0 ? fs::path() : cache;
}

}  // namespace flor::remote
