#include "libtorch/device_copy.h"

#include "libtorch/tensor.h"

#include <ATen/core/grad_mode.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <dlfcn.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <thread>
#include <utility>

namespace flor::libtorch {
namespace {

using Clock = std::chrono::steady_clock;

/// Waits by polling. The driver's own wait spins on a core that the training may need.
void await(const c10::Event& event) {
  while (!event.query()) std::this_thread::sleep_for(std::chrono::microseconds(50));
}

c10::Stream current_stream(const at::Device& device) {
  return c10::impl::VirtualGuardImpl(device.type()).getStream(device);
}

/// A copy that was enqueued on a stream. Keeps its source alive until it is done.
class StreamCopy final : public PendingCopy {
 public:
  StreamCopy(at::Tensor source, const c10::Stream& stream)
      : source_(std::move(source)), event_(stream.device_type()) {
    event_.record(stream);
  }
  void wait() override {
    await(event_);
    source_.reset();
  }

 private:
  at::Tensor source_;
  c10::Event event_;
};

/// The elements as integers of the same size, so that NaNs are compared by their bits.
at::Tensor bits_of(const at::Tensor& tensor) {
  switch (tensor.element_size()) {
    case 1:
      return tensor.view(at::kByte);
    case 2:
      return tensor.view(at::kShort);
    case 4:
      return tensor.view(at::kInt);
    default:
      return tensor.is_complex() ? at::view_as_real(tensor).view(at::kLong) : tensor.view(at::kLong);
  }
}

/// The stream on which copies leave a device: one per device and thread, from libtorch's pool.
c10::Stream way_out(const at::Device& device) {
  thread_local std::map<at::Device, c10::Stream, bool (*)(const at::Device&, const at::Device&)>
      streams([](const at::Device& a, const at::Device& b) { return a.str() < b.str(); });
  const auto found = streams.find(device);
  if (found != streams.end()) return found->second;
  const c10::Stream stream =
      c10::impl::VirtualGuardImpl(device.type()).getStreamFromGlobalPool(device, false);
  return streams.emplace(device, stream).first->second;
}

class StagedTensor final : public StagedCopy {
 public:
  StagedTensor(const at::Tensor& tensor, const StagedTensor* last)
      : content_(tensor.clone(at::MemoryFormat::Contiguous)), ready_(tensor.device().type()) {
    if (last && last->is_like(content_)) {
      const at::Tensor same = bits_of(content_).eq(bits_of(last->content_)).all();
      same_ = at::empty({}, at::TensorOptions().dtype(at::kBool).pinned_memory(true));
      same_.copy_(same, /*non_blocking=*/true);
    }
    ready_.record(current_stream(tensor.device()));
  }

  bool unchanged() override {
    if (!same_.defined()) return false;
    await(ready_);
    return *same_.data_ptr<bool>();
  }

  void copy(std::byte* into) override {
    const at::NoGradGuard no_grad;
    const c10::Stream stream = way_out(content_.device());
    const c10::StreamGuard guard(stream);
    ready_.block(stream);
    wrap(into, content_.sizes(), content_.scalar_type()).copy_(content_, /*non_blocking=*/true);
    c10::Event arrived(stream.device_type());
    arrived.record(stream);
    await(arrived);
  }

 private:
  bool is_like(const at::Tensor& other) const {
    return content_.device() == other.device() && content_.sizes() == other.sizes() &&
           content_.scalar_type() == other.scalar_type();
  }

  at::Tensor content_;
  at::Tensor same_;  ///< on the host; undefined if there was nothing to compare with
  c10::Event ready_;
};

struct Memory {
  std::size_t free = 0, total = 0;
};

/// The memory of the current device, from CUDA's driver if the process has loaded it. Nothing on
/// other devices.
std::optional<Memory> ask_driver() {
  using GetInfo = int (*)(std::size_t*, std::size_t*);
  static const auto get_info = [] {
    void* driver = ::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    return driver ? reinterpret_cast<GetInfo>(::dlsym(driver, "cuMemGetInfo_v2")) : nullptr;
  }();
  Memory memory;
  if (!get_info || get_info(&memory.free, &memory.total) != 0) return std::nullopt;
  return memory;
}

/// The driver's last answer, minus the memory staged since then. It is reused, since asking takes
/// as long as a copy.
class Room {
 public:
  bool has(const at::Device& device, std::size_t bytes, bool first) {
    if (device != device_ || Clock::now() - asked_ > std::chrono::milliseconds(10)) {
      const c10::DeviceGuard guard(device);
      memory_ = ask_driver().value_or(Memory());
      asked_ = Clock::now();
      device_ = device;
    }
    if (memory_.free < bytes + memory_.total / (first ? 4 : 8) || memory_.total == 0) return false;
    if (first) memory_.free -= bytes;
    return true;
  }

 private:
  std::optional<at::Device> device_;
  Memory memory_;
  Clock::time_point asked_{};
};

}  // namespace

std::shared_ptr<PendingCopy> copy_from_device(const at::Tensor& tensor, std::byte* into) {
  const at::NoGradGuard no_grad;
  const c10::Stream stream = current_stream(tensor.device());
  const at::Tensor source = tensor.contiguous();
  wrap(into, source.sizes(), source.scalar_type()).copy_(source, /*non_blocking=*/true);
  return std::make_shared<StreamCopy>(source, stream);
}

bool is_worth_staging(const at::Tensor& tensor) {
  constexpr std::size_t kLarge = std::size_t{256} << 10;
  return tensor.device().is_cuda() && tensor.nbytes() >= kLarge && !tensor.is_conj() &&
         !tensor.is_neg();
}

std::shared_ptr<StagedCopy> stage_on_device(const at::Tensor& tensor,
                                            const std::shared_ptr<StagedCopy>& last) {
  thread_local Room room;
  if (!room.has(tensor.device(), tensor.nbytes(), last == nullptr)) return nullptr;
  const at::NoGradGuard no_grad;
  try {
    return std::make_shared<StagedTensor>(tensor, dynamic_cast<const StagedTensor*>(last.get()));
  // Not enough memory after all: the content is copied to the host at once.
  } catch (const c10::Error&) {
    return nullptr;
  }
}

}  // namespace flor::libtorch
