#include "database/vfs/page_checksums.h"

#include <sqlite3.h>
#include <xxhash.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <new>
#include <string_view>

namespace flor::store {
namespace {

constexpr int kChecksum = sizeof(XXH64_canonical_t);
constexpr int kSmallestPage = 512, kLargestPage = 65'536;

/// The first bytes of a database (https://sqlite.org/fileformat2.html, 1.3).
constexpr int kHeader = 100;
constexpr std::string_view kMagic{"SQLite format 3\0", 16};
constexpr std::size_t kPageSizeAt = 16, kReservedAt = 20;

/// A question to a file: see https://sqlite.org/c3ref/c_fcntl_begin_atomic_write.html. SQLite's own
/// are below 100.
constexpr int kHasChecksums = 0x464C4F52;

bool is_header(const unsigned char* bytes) {
  return std::memcmp(bytes, kMagic.data(), kMagic.size()) == 0;
}

/// Returns the size of a page in bytes; 0 if this is no header, or if pages have no checksums.
int size_of_checked_page(const unsigned char* header) {
  if (!is_header(header) || header[kReservedAt] != kChecksum) return 0;
  const int size = header[kPageSizeAt] << 8 | header[kPageSizeAt + 1];
  return size == 1 ? kLargestPage : size;
}

XXH64_canonical_t checksum_of(const void* page, int size, sqlite3_int64 offset) {
  const auto number = static_cast<XXH64_hash_t>(offset / size);
  XXH64_canonical_t sum;
  XXH64_canonicalFromHash(
      &sum, XXH3_64bits_withSeed(page, static_cast<std::size_t>(size - kChecksum), number));
  return sum;
}

/// The file as SQLite has it. SQLite gives the memory, with room for the file of the system
/// after it.
struct CheckedFile {
  sqlite3_file base;  ///< first, for SQLite
  sqlite3_file* system;
  bool is_known;  ///< false while the file has no header
  int page_size;  ///< 0: no checksums
};
static_assert(sizeof(CheckedFile) % alignof(void*) == 0);

CheckedFile& checked(sqlite3_file* file) { return *reinterpret_cast<CheckedFile*>(file); }

void know_header(CheckedFile& file, const unsigned char* header) {
  file.is_known = is_header(header);
  file.page_size = size_of_checked_page(header);
}

/// Returns the size of a page; 0 if pages have no checksums, or if there is no header yet.
int page_size_of(CheckedFile& file) {
  std::array<unsigned char, kHeader> header;
  if (!file.is_known &&
      file.system->pMethods->xRead(file.system, header.data(), kHeader, 0) == SQLITE_OK) {
    know_header(file, header.data());
  }
  return file.page_size;
}

/// True if a page with a checksum is read from there, or written.
bool is_checked_page(CheckedFile& file, int amount, sqlite3_int64 offset) {
  if (amount < kSmallestPage) return false;  // a part of the header
  return amount == page_size_of(file) && offset % amount == 0;
}

int control_file(sqlite3_file* base, int operation, void* argument) {
  CheckedFile& file = checked(base);
  if (operation != kHasChecksums) {
    return file.system->pMethods->xFileControl(file.system, operation, argument);
  }
  *static_cast<bool*>(argument) = page_size_of(file) != 0;
  return SQLITE_OK;
}

int read_page(sqlite3_file* base, void* to, int amount, sqlite3_int64 offset) {
  CheckedFile& file = checked(base);
  const int code = file.system->pMethods->xRead(file.system, to, amount, offset);
  if (code != SQLITE_OK || !is_checked_page(file, amount, offset)) return code;
  const XXH64_canonical_t sum = checksum_of(to, amount, offset);
  const auto* const stored = static_cast<const unsigned char*>(to) + amount - kChecksum;
  return std::memcmp(stored, &sum, kChecksum) == 0 ? SQLITE_OK : SQLITE_CORRUPT;
}

int write_page(sqlite3_file* base, const void* from, int amount, sqlite3_int64 offset) {
  CheckedFile& file = checked(base);
  if (offset == 0 && amount >= kSmallestPage) {  // of a new database, whose file has no header yet
    know_header(file, static_cast<const unsigned char*>(from));
  }
  if (!is_checked_page(file, amount, offset)) {
    return file.system->pMethods->xWrite(file.system, from, amount, offset);
  }
  // SQLite goes on using its page, so the checksum goes into a copy.
  std::array<unsigned char, kLargestPage> page;
  std::memcpy(page.data(), from, static_cast<std::size_t>(amount - kChecksum));
  const XXH64_canonical_t sum = checksum_of(page.data(), amount, offset);
  std::memcpy(page.data() + amount - kChecksum, &sum, kChecksum);
  return file.system->pMethods->xWrite(file.system, page.data(), amount, offset);
}

/// A method that hands its call on to the file of the system.
template <auto kMethod>
struct HandOn;
template <typename... Arguments, int (*sqlite3_io_methods::*kMethod)(sqlite3_file*, Arguments...)>
struct HandOn<kMethod> {
  static int call(sqlite3_file* file, Arguments... arguments) {
    sqlite3_file* const system = checked(file).system;
    return (system->pMethods->*kMethod)(system, arguments...);
  }
};

void memory_barrier(sqlite3_file* file) {
  sqlite3_file* const system = checked(file).system;
  system->pMethods->xShmBarrier(system);
}

/// Version 2 has shared memory, which a write-ahead log needs. Version 3 would map pages into
/// memory, where they are not checked.
constexpr sqlite3_io_methods methods_of_version(int version) {
  using Methods = sqlite3_io_methods;
  Methods made{};
  made.iVersion = version;
  made.xClose = HandOn<&Methods::xClose>::call;
  made.xRead = read_page;
  made.xWrite = write_page;
  made.xTruncate = HandOn<&Methods::xTruncate>::call;
  made.xSync = HandOn<&Methods::xSync>::call;
  made.xFileSize = HandOn<&Methods::xFileSize>::call;
  made.xLock = HandOn<&Methods::xLock>::call;
  made.xUnlock = HandOn<&Methods::xUnlock>::call;
  made.xCheckReservedLock = HandOn<&Methods::xCheckReservedLock>::call;
  made.xFileControl = control_file;
  made.xSectorSize = HandOn<&Methods::xSectorSize>::call;
  made.xDeviceCharacteristics = HandOn<&Methods::xDeviceCharacteristics>::call;
  if (version >= 2) {
    made.xShmMap = HandOn<&Methods::xShmMap>::call;
    made.xShmLock = HandOn<&Methods::xShmLock>::call;
    made.xShmBarrier = memory_barrier;
    made.xShmUnmap = HandOn<&Methods::xShmUnmap>::call;
  }
  return made;
}
constexpr sqlite3_io_methods kWithoutLog = methods_of_version(1);
constexpr sqlite3_io_methods kWithLog = methods_of_version(2);

sqlite3_vfs* system_vfs = nullptr;

int open_file(sqlite3_vfs*, const char* name, sqlite3_file* base, int flags, int* given) {
  if ((flags & SQLITE_OPEN_MAIN_DB) == 0) {
    return system_vfs->xOpen(system_vfs, name, base, flags, given);
  }
  auto* const after = reinterpret_cast<std::byte*>(base) + sizeof(CheckedFile);
  auto* const system = reinterpret_cast<sqlite3_file*>(after);
  system->pMethods = nullptr;
  const int code = system_vfs->xOpen(system_vfs, name, system, flags, given);
  const sqlite3_io_methods* const methods = system->pMethods;
  const bool has_memory = methods && methods->iVersion >= 2 && methods->xShmMap;
  auto& made = *new (base) CheckedFile{{}, system, false, 0};
  // SQLite closes a file only if it has methods.
  if (methods) made.base.pMethods = has_memory ? &kWithLog : &kWithoutLog;
  return code;
}

}  // namespace

void check_pages(sqlite3_vfs& own, sqlite3_vfs& system) {
  system_vfs = &system;
  own.szOsFile = static_cast<int>(sizeof(CheckedFile)) + system.szOsFile;
  own.xOpen = open_file;
}

void make_room_for_checksums(sqlite3* database) {
  int bytes = kChecksum;
  sqlite3_file_control(database, "main", SQLITE_FCNTL_RESERVE_BYTES, &bytes);
}

bool has_checksums(sqlite3* database) {
  bool has = false;
  return sqlite3_file_control(database, "main", kHasChecksums, &has) == SQLITE_OK && has;
}

}  // namespace flor::store
