// Locks of SQLite that could not be given back.
#pragma once

struct sqlite3_vfs;

namespace flor::store {

/// From now on a lock of the catalog whose release the file system refuses (ENOLCK, EIO) is
/// released before the process takes or releases another one of the same file, and until then none
/// is taken. SQLite alone would count it as held for as long as any connection of the process has
/// the file open, and each of them would wait in vain for its own process. Other databases of the
/// process are left as they are. Call it once; it takes effect for all connections.
void unlock_again(sqlite3_vfs& system);

}  // namespace flor::store
