#include "shell/refusals.h"

#include "remote/objects/object_store.h"
#include "shell/context.h"

#include <fmt/format.h>

namespace flor::cli {

std::string Refusals::attempt(std::size_t count, std::string_view what,
                              const std::function<void()>& work) {
  try {
    work();
    was_unreachable_ = false;
    return {};
  } catch (const Error& error) {
    const bool is_unreachable = dynamic_cast<const remote::Unreachable*>(&error) != nullptr;
    if (count == 1 || (is_unreachable && was_unreachable_)) throw;
    was_unreachable_ = is_unreachable;
    context_.note(fmt::format("{}: {}", what, error.what()));
    add(error.status());
    return error.what();
  }
}

void Refusals::add(ExitStatus status) {
  if (status_ == ExitStatus::done || status == ExitStatus::damaged) status_ = status;
}

}  // namespace flor::cli
