// Common parts of locks in files: flock, and files that their last holder removes.
#pragma once

namespace flor::store {

/// Calls flock with this operation; false if it is refused, or, with LOCK_NB, if the lock is held.
bool lock_file(int descriptor, int operation);
/// False if the file was removed by its last holder after it was opened.
bool is_linked(int descriptor);

}  // namespace flor::store
