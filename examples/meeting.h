// Connects processes that train together (ranks), by c10d and gloo of any version of libtorch.
#pragma once

#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace examples {

struct Meeting {
  int rank = 0, world = 1;
  int port = 29500;                ///< of rank 0, which listens on it
  std::string host = "127.0.0.1";  ///< address of rank 0
  std::string own = "127.0.0.1";   ///< address on which this process listens for other ranks
  std::chrono::seconds patience{60};
};

/// Disables libuv, which newer versions of c10d use unless told otherwise, although not every build
/// has it.
template <typename Options>
void leave_libuv_out(Options& options) {
  if constexpr (requires { options.useLibUV; }) options.useLibUV = false;
}

/// Returns the group of all ranks. Throws an error of c10d if some do not come within `patience`.
inline c10::intrusive_ptr<c10d::ProcessGroupGloo> meet(const Meeting& meeting) {
  c10d::TCPStoreOptions where;
  where.port = static_cast<std::uint16_t>(meeting.port);
  where.isServer = meeting.rank == 0;
  where.numWorkers = static_cast<std::size_t>(meeting.world);
  leave_libuv_out(where);
  const auto store = c10::make_intrusive<c10d::TCPStore>(meeting.host, where);
  const auto options = c10d::ProcessGroupGloo::Options::create(meeting.patience);
  options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname(meeting.own));
  return c10::make_intrusive<c10d::ProcessGroupGloo>(store, meeting.rank, meeting.world, options);
}

}  // namespace examples
