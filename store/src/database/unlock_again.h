// Locks of SQLite that could not be released.
#pragma once

struct sqlite3_vfs;

namespace flor::store {

/// From now on, if the file system refuses to release a lock of the catalog (ENOLCK, EIO), the
/// release is tried again before the process takes or releases another lock of the same file, and
/// until it succeeds none is taken. SQLite alone would count the lock as held as long as any
/// connection of the process has the file open, and each would wait in vain for its own process.
/// Other databases are left alone. Call it once; it takes effect for all connections.
void unlock_again(sqlite3_vfs& system);

}  // namespace flor::store
