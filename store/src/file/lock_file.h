// Helpers for locks that are files: flock, and files that the last holder deletes.
#pragma once

namespace flor::store {

/// Calls flock with this operation. Returns false if it fails; with LOCK_NB also if another process
/// holds the lock.
bool lock_file(int descriptor, int operation);
/// False if the open file has been deleted, as the last holder of a lock does.
bool is_linked(int descriptor);

}  // namespace flor::store
