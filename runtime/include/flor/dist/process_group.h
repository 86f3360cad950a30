// A flor::Group on top of a c10d process group (gloo, NCCL, MPI). Available where libtorch is
// built with c10d.
#pragma once

#include <flor/dist/group.h>

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/Work.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace flor {

/// Exchanges numbers through a process group of the program. The program may keep using that group,
/// as long as all ranks make all their calls in the same order.
class ProcessGroup final : public Group {
 public:
  using Group::all_gather;
  /// `group` is a c10d::ProcessGroup or one of its backends, such as a c10d::ProcessGroupNCCL;
  /// since libtorch 2 a backend is not a process group itself. If a rank does not come within
  /// `deadline`, calls throw. `device` is where the backend needs its tensors, e.g. a GPU for NCCL.
  template <typename Ranks>
  explicit ProcessGroup(c10::intrusive_ptr<Ranks> group,
                        std::chrono::milliseconds deadline = std::chrono::minutes(5),
                        at::Device device = at::kCPU)
      : ProcessGroup(
            group ? group->getRank() : -1, group ? group->getSize() : 0,
            [group](Gathered& all, std::vector<at::Tensor>& mine) {
              return group->allgather(all, mine);
            },
            deadline, device) {}
  int rank() const override { return rank_; }  ///< of the backend
  int size() const override { return size_; }  ///< of the backend
  /// Throws flor::Error if a rank does not come before the deadline.
  std::vector<std::int64_t> all_gather(std::span<const std::int64_t> mine) override;

 private:
  using Gathered = std::vector<std::vector<at::Tensor>>;
  using Gather = std::function<c10::intrusive_ptr<c10d::Work>(Gathered&, std::vector<at::Tensor>&)>;
  ProcessGroup(int rank, int size, Gather gather, std::chrono::milliseconds deadline,
               at::Device device);

  int rank_, size_;
  Gather gather_;
  std::chrono::milliseconds deadline_;
  at::Device device_;
};

}  // namespace flor
