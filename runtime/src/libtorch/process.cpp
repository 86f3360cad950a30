// State that belongs to the process and not to an object: random generators, number of threads,
// pinned memory; and the facts about the machine on which results depend.
#include "libtorch/tensor.h"

#include <flor/adapter.h>
#include <flor/torch.h>

#include <ATen/CPUGeneratorImpl.h>
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
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

namespace flor::libtorch {
namespace {

// Random generators -------------------------------------------------------------------------------

int cuda_devices() {
  return at::hasCUDA() ? static_cast<int>(at::detail::getCUDAHooks().getNumGPUs()) : 0;
}

/// Asks the hooks, since asking the context would set up the devices. The function has
/// another name in newer libtorch.
template <typename Hooks>
at::Generator generator_of(const Hooks& hooks, int index) {
  const auto device = static_cast<c10::DeviceIndex>(index);
  if constexpr (requires { hooks.getDefaultCUDAGenerator(device); }) {
    return hooks.getDefaultCUDAGenerator(device);
  } else {
    return hooks.getDefaultGenerator(device);
  }
}
at::Generator cuda_generator(int index) { return generator_of(at::detail::getCUDAHooks(), index); }

std::string state_of(at::Generator generator) {
  const std::lock_guard lock(generator.mutex());
  const at::Tensor state = generator.get_state().cpu().contiguous();
  return {static_cast<const char*>(state.data_ptr()), state.nbytes()};
}

void set_state(at::Generator generator, const std::string& content) {
  const at::Tensor state = at::empty({static_cast<std::int64_t>(content.size())}, at::kByte);
  std::memcpy(state.data_ptr(), content.data(), content.size());
  const std::lock_guard lock(generator.mutex());
  generator.set_state(state);
}

void save_generator(at::Generator generator, const std::string& name, const StateWriter& writer) {
  writer.bytes(name, state_of(std::move(generator)));
}

void load_generator(at::Generator generator, const std::string& name, const StateReader& reader) {
  translated("'" + reader.full_name(name) + "'",
             [&] { set_state(std::move(generator), reader.bytes(name)); });
}

/// Whether this process has used the device. One that it has not used has nothing to restore. Which
/// devices a process merely sees differs between a recording and a replay's workers, and must not
/// count as a difference.
bool in_use(int device) {
  return at::detail::getCUDAHooks().hasPrimaryContext(static_cast<c10::DeviceIndex>(device));
}

void save_generators(const StateWriter& writer) {
  save_generator(at::globalContext().defaultGenerator(at::kCPU), "cpu", writer);
  for (int i = 0; i < cuda_devices(); ++i) {
    if (in_use(i)) save_generator(cuda_generator(i), "cuda" + std::to_string(i), writer);
  }
}

/// Restores the generators. If a device that the recording used is not here, the program does not
/// use it here either, since its tensors could not have been restored.
void load_generators(const StateReader& reader) {
  load_generator(at::globalContext().defaultGenerator(at::kCPU), "cpu", reader);
  for (int i = 0; i < cuda_devices(); ++i) {
    const std::string name = "cuda" + std::to_string(i);
    if (reader.has(name)) load_generator(cuda_generator(i), name, reader);
  }
}

std::string hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char byte : bytes) {
    text += kDigits[static_cast<unsigned char>(byte) >> 4U];
    text += kDigits[static_cast<unsigned char>(byte) & 15U];
  }
  return text;
}

std::string unhex(std::string_view text) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(std::string(text.substr(i, 2)), nullptr, 16));
  }
  return bytes;
}

/// For example "cpu seed 5, cuda0 state 00ff...". For a generator that was only seeded, the seed is
/// enough.
std::string generators_text() {
  const at::Generator cpu = at::globalContext().defaultGenerator(at::kCPU);
  const std::uint64_t seed = cpu.current_seed();
  const std::string state = state_of(cpu);
  std::string text = state == state_of(at::detail::createCPUGenerator(seed))
                         ? "cpu seed " + std::to_string(seed)
                         : "cpu state " + hex(state);
  for (int i = 0; i < cuda_devices(); ++i) {
    text += ", cuda" + std::to_string(i) + " state " + hex(state_of(cuda_generator(i)));
  }
  return text;
}

/// Restores generators from their text. Devices that do not exist here are skipped, since nothing
/// can draw from their generators.
void set_generators(const std::string& text) {
  std::istringstream parts(text);
  for (std::string device, kind, value; parts >> device >> kind >> value;) {
    if (value.ends_with(',')) value.pop_back();
    translated("the random generator of " + device, [&] {
      if (device == "cpu") {
        const std::uint64_t seed = kind == "seed" ? std::stoull(value) : 0;
        set_state(at::globalContext().defaultGenerator(at::kCPU),
                  kind == "seed" ? state_of(at::detail::createCPUGenerator(seed)) : unhex(value));
        return;
      }
      const int index = std::stoi(device.substr(std::string_view("cuda").size()));
      if (index < cuda_devices()) set_state(cuda_generator(index), unhex(value));
    });
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

/// The value of `key` in at::show_config(); "unknown" if it has none.
std::string configured(const std::string& key) {
  const std::string config = at::show_config();
  const std::size_t found = config.find(key);
  if (found == std::string::npos) return "unknown";
  const std::size_t begin = found + key.size();
  return config.substr(begin, config.find_first_of(",\n", begin) - begin);
}

/// The library that computes matrix products, since another library may round differently.
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

/// Asks CUDA's driver, if the process has loaded it. So no header of CUDA is needed.
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

/// The TF32 settings for matrix products and for convolutions. Newer libtorch has two kinds of
/// these settings, and throws if they contradict each other.
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
  adapter.generators = generators_text;
  adapter.set_generators = set_generators;
#ifdef _OPENMP
  adapter.parallel = run_parallel;
#endif
  return detail::register_adapter(std::move(adapter));
}

}  // namespace flor::libtorch
