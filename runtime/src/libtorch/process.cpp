// What belongs to the process and not to an object: random generators, threads, pinned memory, and
// the facts about the machine that results depend on.
#include "tensor.h"

#include <flor/adapter.h>
#include <flor/torch.h>

#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <dlfcn.h>
#include <torch/version.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <utility>

namespace flor::libtorch {
namespace {

// Random generators -------------------------------------------------------------------------------

int cuda_devices() {
  return at::hasCUDA() ? static_cast<int>(at::detail::getCUDAHooks().getNumGPUs()) : 0;
}

at::Generator cuda_generator(int index) {
  return at::globalContext().defaultGenerator(
      at::Device(at::kCUDA, static_cast<c10::DeviceIndex>(index)));
}

void save_generator(at::Generator generator, const std::string& name, const StateWriter& writer) {
  const std::lock_guard lock(generator.mutex());
  const at::Tensor state = generator.get_state().cpu().contiguous();
  writer.bytes(name, {static_cast<const char*>(state.data_ptr()), state.nbytes()});
}

void load_generator(at::Generator generator, const std::string& name, const StateReader& reader) {
  const std::string content = reader.bytes(name);
  const at::Tensor state = at::empty({static_cast<std::int64_t>(content.size())}, at::kByte);
  std::memcpy(state.data_ptr(), content.data(), content.size());
  translated("'" + reader.full_name(name) + "'", [&] {
    const std::lock_guard lock(generator.mutex());
    generator.set_state(state);
  });
}

/// Devices that this process has not used have nothing to restore. Which ones it merely sees
/// differs between a record and the workers of a replay, which must not look like a difference in
/// state.
bool in_use(int device) {
  return at::detail::getCUDAHooks().hasPrimaryContext(static_cast<c10::DeviceIndex>(device));
}

void save_generators(const StateWriter& writer) {
  save_generator(at::globalContext().defaultGenerator(at::kCPU), "cpu", writer);
  for (int i = 0; i < cuda_devices(); ++i) {
    if (in_use(i)) save_generator(cuda_generator(i), "cuda" + std::to_string(i), writer);
  }
}

/// A device that was used when this was recorded and is not there now is not used now either: its
/// tensors could not have been restored.
void load_generators(const StateReader& reader) {
  load_generator(at::globalContext().defaultGenerator(at::kCPU), "cpu", reader);
  for (int i = 0; i < cuda_devices(); ++i) {
    const std::string name = "cuda" + std::to_string(i);
    if (reader.has(name)) load_generator(cuda_generator(i), name, reader);
  }
}

// Memory and threads ------------------------------------------------------------------------------

bool any_in_use() {
  for (int i = 0; i < cuda_devices(); ++i) {
    if (in_use(i)) return true;
  }
  return false;
}

std::shared_ptr<std::byte> allocate_pinned(std::size_t bytes) {
  if (any_in_use()) {
    const auto options = at::TensorOptions().dtype(at::kByte).pinned_memory(true);
    auto memory =
        std::make_shared<at::Tensor>(at::empty({static_cast<std::int64_t>(bytes)}, options));
    auto* content = static_cast<std::byte*>(memory->data_ptr());
    return {std::move(memory), content};
  }
  constexpr std::align_val_t kAlignment{64};
  auto* content = static_cast<std::byte*>(::operator new(bytes, kAlignment));
  return {content, [](std::byte* memory) { ::operator delete(memory, kAlignment); }};
}

#ifdef _OPENMP
void run_parallel(std::size_t count, const std::function<void(std::size_t)>& body) {
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < count; i = next++) body(i);
  };
  const auto threads =
      std::min<std::size_t>(count, static_cast<std::size_t>(at::get_num_threads()));
  if (threads <= 1) return work();
  at::parallel_for(0, static_cast<std::int64_t>(threads), 1,
                   [&](std::int64_t, std::int64_t) { work(); });
}
#endif

// Environment -------------------------------------------------------------------------------------

/// What at::show_config() says after `key`, up to the end of the item.
std::string configured(const std::string& key) {
  const std::string config = at::show_config();
  const std::size_t found = config.find(key);
  if (found == std::string::npos) return "unknown";
  const std::size_t begin = found + key.size();
  return config.substr(begin, config.find_first_of(",\n", begin) - begin);
}

/// The library that computes matrix products: another one rounds differently.
std::string blas_library() {
  if (const void* symbol = ::dlsym(RTLD_DEFAULT, "sgemm_")) {
    Dl_info info{};
    std::array<char, PATH_MAX> path{};
    if (::dladdr(symbol, &info) != 0 && info.dli_fname) {
      return ::realpath(info.dli_fname, path.data()) ? path.data() : info.dli_fname;
    }
  }
  return configured("BLAS_INFO=");
}

/// By CUDA's driver where the process has it loaded, so that no header of CUDA is needed.
std::string cuda_device_name(int index) {
  using GetName = int (*)(char*, int, int);
  void* driver = ::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  const auto get_name =
      driver ? reinterpret_cast<GetName>(::dlsym(driver, "cuDeviceGetName")) : nullptr;
  std::array<char, 256> name{};
  const bool known =
      get_name && get_name(name.data(), static_cast<int>(name.size()) - 1, index) == 0;
  if (driver) ::dlclose(driver);
  return known ? name.data() : "unknown";
}

/// Of products of matrices and of convolutions. Newer libtorch throws where the older of its two
/// kinds of settings contradicts the newer.
std::string tf32() {
  const auto flag = [](bool value) { return value ? "on" : "off"; };
  const at::Context& context = at::globalContext();
  try {
    return std::string(flag(context.allowTF32CuBLAS())) + "/" + flag(context.allowTF32CuDNN());
  } catch (const c10::Error&) {
    return "mixed";
  }
}

void add_cuda(std::map<std::string, std::string>& facts) {
  const int devices = cuda_devices();
  if (devices == 0) return;
  const at::Context& context = at::globalContext();
  for (int i = 0; i < devices; ++i) facts["cuda" + std::to_string(i)] = cuda_device_name(i);
  facts["cuda"] = std::to_string(at::detail::getCUDAHooks().versionCUDART());
  if (at::detail::getCUDAHooks().hasCuDNN()) {
    facts["cudnn"] = std::to_string(at::detail::getCUDAHooks().versionCuDNN());
  }
  const auto flag = [](bool value) { return value ? "on" : "off"; };
  facts["cudnn.benchmark"] = flag(context.benchmarkCuDNN());
  facts["cudnn.deterministic"] = flag(context.deterministicCuDNN());
  facts["tf32"] = tf32();
}

std::map<std::string, std::string> environment() {
  std::map<std::string, std::string> facts;
  facts["libtorch"] = TORCH_VERSION;
  facts["blas"] = blas_library();
  facts["cpu capability"] = configured("CPU capability usage: ");
  facts["deterministic algorithms"] = at::globalContext().deterministicAlgorithms() ? "on" : "off";
#ifdef _OPENMP
  facts["openmp"] = at::get_openmp_version();
#endif
  for (const char* name : {"OMP_NUM_THREADS", "OMP_DYNAMIC", "MKL_NUM_THREADS", "MKL_CBWR",
                           "OPENBLAS_NUM_THREADS", "OPENBLAS_CORETYPE", "ATEN_CPU_CAPABILITY",
                           "DNNL_MAX_CPU_ISA", "CUBLAS_WORKSPACE_CONFIG", "NVIDIA_TF32_OVERRIDE"}) {
    if (const char* value = std::getenv(name)) facts[name] = value;
  }
  add_cuda(facts);
  return facts;
}

}  // namespace

void save(const at::Generator& generator, const StateWriter& writer) {
  save_generator(generator, "", writer);
}
void load(at::Generator& generator, const StateReader& reader) {
  load_generator(generator, "", reader);
}

bool register_with_core() {
  detail::Adapter adapter;
  adapter.ambient.push_back({"rng", "rng", save_generators, load_generators});
  adapter.threads = [] { return at::get_num_threads(); };
  adapter.set_threads = [](int threads) { at::set_num_threads(threads); };
  adapter.allocate_pinned = allocate_pinned;
  adapter.environment = environment;
#ifdef _OPENMP
  adapter.parallel = run_parallel;
#endif
  adapter.keep_gradients = keep_all_gradients;
  adapter.begin_session = reset_gradients_are_carried;
  return detail::register_adapter(std::move(adapter));
}

}  // namespace flor::libtorch
