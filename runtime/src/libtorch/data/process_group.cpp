#include <flor/dist/process_group.h>

#include <flor/store/error.h>

#include <ATen/ATen.h>

#include <algorithm>
#include <exception>
#include <string>
#include <thread>
#include <utility>

namespace flor {
namespace {

/// Waits until `work` is done. Throws if it failed or the deadline has passed. On a GPU `work.wait`
/// only queues, so a later copy to the host would wait for ever if a rank is dead.
void await(c10d::Work& work, std::chrono::milliseconds deadline) {
  const auto end = std::chrono::steady_clock::now() + deadline;
  if (!work.wait(deadline)) throw Error("it was aborted");
  while (!work.isCompleted()) {
    if (std::chrono::steady_clock::now() > end) throw Error("it was not finished");
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  if (const auto error = work.exception()) std::rethrow_exception(error);
}

}  // namespace

ProcessGroup::ProcessGroup(int rank, int size, Gather gather, std::chrono::milliseconds deadline,
                           at::Device device)
    : rank_(rank), size_(size), gather_(std::move(gather)), deadline_(deadline), device_(device) {
  if (rank_ < 0) throw Error("flor::ProcessGroup needs a process group, but the pointer is null");
}

std::vector<std::int64_t> ProcessGroup::all_gather(std::span<const std::int64_t> mine) {
  // Backends do not accept tensors without elements, so there is at least one.
  const auto count = std::max<std::int64_t>(std::ssize(mine), 1);
  at::Tensor own = at::zeros({count}, at::kLong);
  std::ranges::copy(mine, own.data_ptr<std::int64_t>());
  std::vector<at::Tensor> input{own.to(device_)};
  std::vector<std::vector<at::Tensor>> output(1);
  for (int i = 0; i < size(); ++i) output[0].push_back(at::empty_like(input[0]));
  try {
    await(*gather_(output, input), deadline_);
  } catch (const std::exception& error) {
    std::string reason = error.what();
    reason.resize(std::min(reason.find('\n'), reason.size()));
    throw Error("rank " + std::to_string(rank()) + " of " + std::to_string(size()) +
                ": the other ranks did not answer within " +
                std::to_string(std::chrono::duration<double>(deadline_).count()) + " s, or died (" +
                reason + ")");
  }
  std::vector<std::int64_t> all;
  for (const at::Tensor& tensor : output[0]) {
    const at::Tensor host = tensor.cpu();
    const auto* numbers = host.data_ptr<std::int64_t>();
    all.insert(all.end(), numbers, numbers + mine.size());
  }
  return all;
}

}  // namespace flor
