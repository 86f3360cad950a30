// Checksums of the pages of a database. SQLite has none, and takes any page of the right kind for
// the one it asked for.
#pragma once

struct sqlite3;
struct sqlite3_vfs;

namespace flor::store {

/// Lets databases that are opened by `own` have checksums: each page of the file ends with the
/// XXH3-64 of what is before it, big-endian, seeded with the number of the page; so a page that is
/// damaged, or in the place of another, is SQLITE_CORRUPT when it is read. Pages in the write-ahead
/// log or in a rollback journal have only SQLite's own checksums. A database whose pages leave no
/// room for them is used as it is. `own` opens files as `system` does, which must outlive it.
void check_pages(sqlite3_vfs& own, sqlite3_vfs& system);

/// Lets the pages of a database have room for checksums, if it is empty.
void make_room_for_checksums(sqlite3* database);

/// True if the pages of the database have checksums. It asks the connection's own file: to open and
/// close the file a second time would release all locks that this process has on it.
bool has_checksums(sqlite3* database);

}  // namespace flor::store
