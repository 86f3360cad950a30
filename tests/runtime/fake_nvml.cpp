// A library with the functions of NVML that Flor calls, and two GPUs. The second one tells neither
// its power nor its temperature.
#include <cstdio>
#include <cstring>

namespace {

char gpus[2];

bool is_second(const void* gpu) { return gpu == &gpus[1]; }
constexpr int kNotSupported = 3, kNotFound = 6;

}  // namespace

extern "C" {
int nvmlInit_v2() { return 0; }
int nvmlShutdown() { return 0; }
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 2;
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** gpu) {
  if (index > 1) return kNotFound;
  *gpu = &gpus[index];
  return 0;
}
int nvmlDeviceGetHandleByUUID(const char* uuid, void** gpu) {
  if (std::strcmp(uuid, "GPU-one") != 0) return kNotFound;
  *gpu = &gpus[1];
  return 0;
}
int nvmlDeviceGetUUID(void* gpu, char* text, unsigned size) {
  std::snprintf(text, size, "GPU-%s", is_second(gpu) ? "one" : "zero");
  return 0;
}
int nvmlDeviceGetName(void*, char* text, unsigned size) {
  std::snprintf(text, size, "NVIDIA Test");
  return 0;
}
int nvmlDeviceGetUtilizationRates(void* gpu, unsigned* shares) {
  shares[0] = is_second(gpu) ? 25 : 75;
  shares[1] = 1;
  return 0;
}
int nvmlDeviceGetMemoryInfo(void* gpu, unsigned long long* memory) {
  memory[0] = 80ULL << 30;
  memory[2] = (is_second(gpu) ? 2ULL : 1ULL) << 30;
  memory[1] = memory[0] - memory[2];
  return 0;
}
int nvmlDeviceGetPowerUsage(void* gpu, unsigned* milliwatts) {
  *milliwatts = 350'000;
  return is_second(gpu) ? kNotSupported : 0;
}
int nvmlDeviceGetTemperature(void* gpu, int, unsigned* degrees) {
  *degrees = 64;
  return is_second(gpu) ? kNotSupported : 0;
}
}
