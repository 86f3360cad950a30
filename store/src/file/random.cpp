#include "file/random.h"

#include "file/filesystem.h"

#include <sys/random.h>

#include <cerrno>

namespace flor::store {

std::uint64_t random_bits() {
  std::uint64_t bits = 0;
  if (::getrandom(&bits, sizeof(bits), 0) != sizeof(bits)) {
    throw_system_error("read", "/dev/urandom", errno);
  }
  return bits;
}

}  // namespace flor::store
