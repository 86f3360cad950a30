// What throw_system_error throws, for those who have to know the reason.
#pragma once

#include <flor/store/error.h>

#include <cerrno>
#include <exception>

namespace flor::store {

class SystemError : public Error {
 public:
  /// `code`: an errno.
  SystemError(const std::string& message, int code) : Error(message), code_(code) {}
  int code() const noexcept { return code_; }

 private:
  int code_;
};

/// The disk, or what the user may have of it, is full.
inline bool is_no_space(const std::exception& error) {
  const auto* reason = dynamic_cast<const SystemError*>(&error);
  return reason && (reason->code() == ENOSPC || reason->code() == EDQUOT);
}

}  // namespace flor::store
