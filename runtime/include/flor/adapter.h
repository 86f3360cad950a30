// The functions that a tensor library provides to the core of Flor, as a table of functions.
// <flor/torch.h> registers the table of libtorch.
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
  /// State that belongs to no object of the program, such as the default random generators; it is
  /// part of every checkpoint without being registered. Called at each checkpoint, since a device
  /// may come into use at any time.
  std::vector<Slot> ambient;
  /// Reads the number of threads that computations use. Results depend on it.
  std::function<int()> threads;
  std::function<void(int)> set_threads;
  /// Allocates host memory that devices can copy to asynchronously (pinned memory); ordinary memory
  /// where no device is in use.
  std::function<std::shared_ptr<std::byte>(std::size_t bytes)> allocate_pinned;
  /// Facts that an exact replay depends on: {"libtorch": "1.13.1", "blas": "...", "cuda": "..."}.
  std::function<std::map<std::string, std::string>()> environment;
  /// Reads the state of all generators that a program can draw from without having made them, also
  /// of devices that are not in use yet; `set_generators` restores it. It is text because the state
  /// at flor::init is recorded as one of the facts of `environment`, under "generators".
  std::function<std::string()> generators;
  std::function<void(const std::string&)> set_generators;
  /// Calls `body(0)` to `body(count - 1)` on the library's compute threads, which are idle while
  /// the program is inside Flor, and returns when all calls have. `body` does not throw. May be
  /// empty.
  std::function<void(std::size_t count, const std::function<void(std::size_t)>& body)> parallel;
};

/// Called once per process, before or after flor::init.
bool register_adapter(Adapter adapter);
/// The registered table. All its functions are empty where none is registered.
const Adapter& adapter();

}  // namespace flor::detail
