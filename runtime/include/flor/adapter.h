// The interface of a tensor library to the core of Flor. <flor/torch.h> registers libtorch's.
#pragma once

#include <flor/state.h>

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace flor::detail {

struct Adapter {
  /// Generators and other global state, present in every checkpoint without being asked for. Called
  /// at each checkpoint, since devices may come into use late.
  std::vector<Slot> ambient;
  /// Number of threads that computations use; results depend on it.
  std::function<int()> threads;
  std::function<void(int)> set_threads;
  /// Host memory that devices copy to asynchronously; plain memory where no device is in use.
  std::function<std::shared_ptr<std::byte>(std::size_t bytes)> allocate_pinned;
  /// Facts that an exact replay depends on: {"libtorch": "1.13.1", "blas": "...", "cuda": "..."}.
  std::function<std::map<std::string, std::string>()> environment;
  /// The state of all generators that a program can draw from without having made them, also of
  /// devices that are not in use yet; and the reverse. As text, since it is one of those facts
  /// ("generators") as it is in flor::init.
  std::function<std::string()> generators;
  std::function<void(const std::string&)> set_generators;
  /// Calls `body(0) .. body(count - 1)` on the threads that computations use (which sleep while the
  /// program is inside Flor), and returns when all are done. Bodies do not throw. May be empty.
  std::function<void(std::size_t count, const std::function<void(std::size_t)>& body)> parallel;
};

/// Once per process; before or after flor::init.
bool register_adapter(Adapter adapter);
const Adapter& adapter();  ///< all functions empty where none is registered

}  // namespace flor::detail
