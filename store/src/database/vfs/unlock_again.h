// A remedy for SQLite's locks when the file system fails to release them.
#pragma once

struct sqlite3_vfs;

namespace flor::store {

/// Changes this VFS so that releases of the catalog's locks that the file system refused (ENOLCK,
/// EIO) are repeated. They are repeated before the process takes or releases another lock of the
/// same file; until they succeed, no lock is taken. Without this, SQLite would consider the lock
/// held as long as any connection of the process has the file open, and these connections would
/// wait in vain for their own process. Locks of other databases are not affected. Call it once; it
/// takes effect for all connections.
void unlock_again(sqlite3_vfs& system);

}  // namespace flor::store
