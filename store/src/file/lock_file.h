// What the locks in files have in common: flock, and files that their last holder removes.
#pragma once

namespace flor::store {

/// flock with this operation; false if it is refused, or held by somebody with LOCK_NB.
bool lock_file(int descriptor, int operation);
/// False if the file was removed by its last holder after it was opened.
bool is_linked(int descriptor);

}  // namespace flor::store
