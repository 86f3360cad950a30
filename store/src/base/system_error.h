// An Error that carries the `errno` of the system call that failed; thrown by throw_system_error.
#pragma once

#include <flor/store/error.h>

#include <cerrno>
#include <exception>

namespace flor::store {

class SystemError : public Error {
 public:
  /// `code` is a value of errno.
  SystemError(const std::string& message, int code) : Error(message), code_(code) {}
  int code() const noexcept { return code_; }

 private:
  int code_;
};

/// True if the error is that the disk, or the user's quota on it, is full.
inline bool is_no_space(const std::exception& error) {
  const auto* reason = dynamic_cast<const SystemError*>(&error);
  return reason && (reason->code() == ENOSPC || reason->code() == EDQUOT);
}

}  // namespace flor::store
