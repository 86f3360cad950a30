// A flor::Group made of a c10d process group: gloo, NCCL, MPI. There where libtorch has c10d.
#pragma once

#include <flor/group.h>

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

namespace flor {

/// Exchanges numbers through a process group that the program made. The program may go on using it,
/// as long as all ranks make all of their calls in the same order.
class ProcessGroup final : public Group {
 public:
  using Group::all_gather;
  /// A rank that does not come within `deadline` is an error. `device`: where the tensors of the
  /// backend have to be, e.g. a GPU for NCCL.
  explicit ProcessGroup(c10::intrusive_ptr<c10d::ProcessGroup> group,
                        std::chrono::milliseconds deadline = std::chrono::minutes(5),
                        at::Device device = at::kCPU);
  int rank() const override;
  int size() const override;
  std::vector<std::int64_t> all_gather(std::span<const std::int64_t> mine) override;

 private:
  c10::intrusive_ptr<c10d::ProcessGroup> group_;
  std::chrono::milliseconds deadline_;
  at::Device device_;
};

}  // namespace flor
