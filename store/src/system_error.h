// What throw_system_error throws, for those who have to know the reason.
#pragma once

#include <flor/store/error.h>

namespace flor::store {

class SystemError : public Error {
 public:
  /// `code`: an errno.
  SystemError(const std::string& message, int code) : Error(message), code_(code) {}
  int code() const noexcept { return code_; }

 private:
  int code_;
};

}  // namespace flor::store
