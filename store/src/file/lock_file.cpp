#include "file/lock_file.h"

#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>

namespace flor::store {

bool lock_file(int descriptor, int operation) {
  int result = 0;
  do {
    result = ::flock(descriptor, operation);
  } while (result != 0 && errno == EINTR);
  return result == 0;
}

bool is_linked(int descriptor) {
  struct stat status{};
  return ::fstat(descriptor, &status) == 0 && status.st_nlink > 0;
}

}  // namespace flor::store
