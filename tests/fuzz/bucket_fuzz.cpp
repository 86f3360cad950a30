// Fuzz target of fetching from a bucket that another person wrote. Input: a letter, then
//   q  SQL that changes the catalog of a small run, as its owner can write any;
//   c  pieces of five bytes, each a change to the catalog's file: u24 offset (modulo the length), a
//      byte that is put there, a byte: 0 it is put, else exclusive or;
//   z  the same to the compressed catalog;  p  to a parcel.
// Digests and names are made right afterwards, except of the parcel. Each bucket is refused by an
// error of Flor, or its run is fetched; content that can be read then is the recorded one.
#include "database/sqlite.h"
#include "remote/objects/object_keys.h"
#include "remote/objects/sha256.h"
#include "remote/remote.h"

#include <flor/store/error.h>

#include <fmt/core.h>
#include <sqlite3.h>
#include <unistd.h>
#include <zstd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

namespace flor::fuzz::bucket_target {
namespace {

namespace fs = std::filesystem;
using namespace flor::remote;
using namespace flor::store;
using ByteList = std::vector<std::byte>;

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

/// Objects in memory.
class Bucket final : public ObjectStore {
 public:
  std::map<std::string, ByteList> objects;

  const std::string& url() const override { return url_; }
  bool put_if_absent(const std::string& key, std::span<const std::byte> content) override {
    const std::lock_guard lock(mutex_);
    return objects.try_emplace(key, content.begin(), content.end()).second;
  }
  bool makes_exclusively() override { return true; }
  void put(const std::string& key, std::span<const std::byte> content) override {
    const std::lock_guard lock(mutex_);
    objects[key].assign(content.begin(), content.end());
  }
  ByteList get(const std::string& key, std::uint64_t most) override {
    const ByteList content = find(key);
    if (content.size() > most) throw flor::Damaged(key + " is too long");
    return content;
  }
  ByteList get_range(const std::string& key, std::uint64_t offset, std::uint64_t size) override {
    const ByteList content = find(key);
    if (offset > content.size() || size > content.size() - offset) {
      throw flor::Damaged(key + " is too short");
    }
    const auto begin = content.begin() + static_cast<std::ptrdiff_t>(offset);
    return {begin, begin + static_cast<std::ptrdiff_t>(size)};
  }
  std::optional<ObjectInfo> head(const std::string& key) override {
    const std::lock_guard lock(mutex_);
    const auto found = objects.find(key);
    if (found == objects.end()) return std::nullopt;
    return ObjectInfo{key, found->second.size(), 0};
  }
  std::vector<ObjectInfo> list(const std::string& prefix) override {
    const std::lock_guard lock(mutex_);
    std::vector<ObjectInfo> found;
    for (const auto& [key, content] : objects) {
      if (key.starts_with(prefix)) found.push_back({key, content.size(), 0});
    }
    return found;
  }
  void remove(const std::string& key) override {
    const std::lock_guard lock(mutex_);
    objects.erase(key);
  }
  std::int64_t remove_unfinished(std::int64_t, bool) override { return 0; }

 private:
  ByteList find(const std::string& key) {
    const std::lock_guard lock(mutex_);
    const auto found = objects.find(key);
    if (found == objects.end()) throw flor::NotFound(key + " is not there");
    return found->second;
  }

  std::string url_ = "memory://";
  std::mutex mutex_;
};

constexpr int kEpochs = 3;

ByteList content_of(int epoch) {
  ByteList content(256);
  for (std::size_t i = 0; i < content.size(); ++i) {
    content[i] = static_cast<std::byte>(i * 7 + static_cast<std::size_t>(epoch) * (i % 5 == 0));
  }
  return content;
}

Snapshot snapshot_of(int epoch) {
  const ByteList content = content_of(epoch);
  auto memory = std::shared_ptr<std::byte[]>(new std::byte[content.size()]);
  std::ranges::copy(content, memory.get());
  Snapshot snapshot;
  snapshot.items.push_back(
      {{"weight", ElementType::f32, {64}, 256}, Content(memory, memory.get())});
  return snapshot;
}

/// A directory that is gone when the target ends.
class Place {
 public:
  Place() {
    const bool has_memory = ::access("/dev/shm", W_OK) == 0;
    std::string pattern = has_memory ? "/dev/shm/flor-fuzz-XXXXXX" : "/tmp/flor-fuzz-XXXXXX";
    require(::mkdtemp(pattern.data()) != nullptr, "no directory");
    path = pattern;
    ::setenv("TMPDIR", pattern.c_str(), 1);
  }
  ~Place() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  fs::path path;
};

/// A run that was spooled, and its catalog as a file.
class Spooled {
 public:
  Spooled() {
    const auto store = Store::open(place.path / "home", OpenMode::create);
    NewRun start;
    start.experiment = "fuzz";
    start.started_us = 1'700'000'000'000'000;
    const Run run = store->catalog().add_run(start);
    {
      CheckpointWriter writer(*store, run.id);
      for (int epoch = 0; epoch < kEpochs; ++epoch) {
        writer.write({CheckpointKind::boundary, 0, epoch, ""}, snapshot_of(epoch));
      }
    }
    store->catalog().put_main_loop(run.id, {0, "epoch", 0, kEpochs - 1, false, false});
    store->catalog().finish_run(run.id, start.started_us + 100, false, "");
    spool(*store, *store->catalog().run(run.id), original, {});
    manifest = list_runs(original).runs.at(0);
    manifest_key = original.list(kRuns).at(0).key;
    parcel_key = original.list(kParcels).at(0).key;
    const ByteList packed = original.objects.at(catalog_key(manifest.catalog));
    catalog.resize(ZSTD_getFrameContentSize(packed.data(), packed.size()));
    ZSTD_decompress(catalog.data(), catalog.size(), packed.data(), packed.size());
  }

  Place place;
  Bucket original;
  RemoteRun manifest;
  std::string manifest_key, parcel_key;
  ByteList catalog;
};

void change(ByteList& bytes, std::string_view pieces) {
  for (; pieces.size() >= 5 && !bytes.empty(); pieces.remove_prefix(5)) {
    const auto at = [&](std::size_t i) { return static_cast<unsigned char>(pieces[i]); };
    std::byte& place = bytes[(at(0) + 256u * at(1) + 65536u * at(2)) % bytes.size()];
    const auto value = static_cast<std::byte>(at(3));
    place = at(4) == 0 ? value : place ^ value;
  }
}

/// The catalog after these statements, as far as they can be carried out.
ByteList changed_by_sql(const Spooled& spooled, const std::string& sql) {
  const fs::path file = spooled.place.path / "changed.db";
  std::ofstream(file, std::ios::binary)
      .write(reinterpret_cast<const char*>(spooled.catalog.data()),
             static_cast<std::streamsize>(spooled.catalog.size()));
  sqlite3* database = nullptr;
  // Its pages have checksums: with wrong ones nothing but these would be tried.
  require(sqlite3_open_v2(file.c_str(), &database, SQLITE_OPEN_READWRITE, own_vfs()) == SQLITE_OK,
          "the copy cannot be opened");
  constexpr int kInstructions = 200'000;
  sqlite3_progress_handler(
      database, kInstructions, [](void*) { return 1; }, nullptr);
  sqlite3_limit(database, SQLITE_LIMIT_LENGTH, 1 << 20);
  sqlite3_limit(database, SQLITE_LIMIT_ATTACHED, 0);
  sqlite3_exec(database, "PRAGMA journal_mode=OFF", nullptr, nullptr, nullptr);
  sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr);
  sqlite3_close(database);
  std::ifstream in(file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  const auto bytes = std::as_bytes(std::span<const char>(text));
  return {bytes.begin(), bytes.end()};
}

ByteList packed(const ByteList& file) {
  ByteList object(ZSTD_compressBound(file.size()));
  object.resize(ZSTD_compress(object.data(), object.size(), file.data(), file.size(), 1));
  return object;
}

/// Puts this catalog into the bucket, under its name, and the manifest that names it.
void put_catalog(Bucket& bucket, const Spooled& spooled, const ByteList& object) {
  RemoteRun run = spooled.manifest;
  run.catalog = sha256_hex(object);
  run.catalog_bytes = object.size();
  bucket.objects[catalog_key(run.catalog)] = object;
  const std::string manifest = print_manifest(run);
  bucket.put(spooled.manifest_key, std::as_bytes(std::span<const char>(manifest)));
}

void read_what_came(const Store& store, const std::string& key) {
  const Run run = store.catalog().resolve(key);
  for (const auto& checkpoint : store.catalog().checkpoints(run.id)) {
    try {
      const CheckpointReader reader(store, checkpoint.id);
      if (reader.items().size() != 1 || reader.items()[0].bytes != content_of(0).size()) continue;
      const ByteList content = reader.read(std::size_t{0});
      bool known = false;
      for (int epoch = 0; epoch < kEpochs; ++epoch) known = known || content == content_of(epoch);
      require(known, "a content that was never recorded was believed");
    } catch (const flor::Error&) {
    }
  }
}

void fetch_from(Bucket& bucket, const Spooled& spooled) {
  const fs::path home = spooled.place.path / "elsewhere";
  fs::remove_all(home);
  try {
    const RemoteRun run = choose_run(bucket, spooled.manifest.key);
    verify(bucket, {run}, true, {.threads = 1});
    const auto store = Store::open(home, OpenMode::create);
    FetchOptions options;
    options.threads = 1;
    fetch(*store, bucket, run, options);
    read_what_came(*store, run.key);
  } catch (const flor::Error&) {
  }
}

}  // namespace

int run(const std::uint8_t* data, std::size_t size) {
  static const Spooled spooled;
  if (size == 0) return 0;
  Bucket bucket;
  bucket.objects = spooled.original.objects;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0]) {
    case 'q':
      put_catalog(bucket, spooled, packed(changed_by_sql(spooled, std::string(rest))));
      break;
    case 'c': {
      ByteList catalog = spooled.catalog;
      change(catalog, rest);
      put_catalog(bucket, spooled, packed(catalog));
      break;
    }
    case 'z': {
      ByteList object = spooled.original.objects.at(catalog_key(spooled.manifest.catalog));
      change(object, rest);
      put_catalog(bucket, spooled, object);
      break;
    }
    case 'p':
      change(bucket.objects.at(spooled.parcel_key), rest);
      break;
    default:
      return 0;
  }
  fetch_from(bucket, spooled);
  return 0;
}

}  // namespace flor::fuzz::bucket_target
