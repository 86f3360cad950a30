#include "machine/nvml.h"

#include <flor/store/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <string_view>

namespace flor::detail {

std::unique_ptr<Nvml> Nvml::open() {
  const char* const own = std::getenv("FLOR_NVML");
  try {
    return std::unique_ptr<Nvml>(new Nvml(own && *own ? own : "libnvidia-ml.so.1"));
  } catch (const Error&) {  // a machine without NVIDIA's GPUs, as most are
    return nullptr;
  }
}

Nvml::Nvml(const char* file) : library_(file, "there is no NVML here") {
  library_.load(call_.init, "nvmlInit_v2");
  library_.load(call_.shutdown, "nvmlShutdown");
  library_.load(call_.count, "nvmlDeviceGetCount_v2");
  library_.load(call_.by_index, "nvmlDeviceGetHandleByIndex_v2");
  library_.load(call_.by_uuid, "nvmlDeviceGetHandleByUUID");
  library_.load(call_.uuid, "nvmlDeviceGetUUID");
  library_.load(call_.name, "nvmlDeviceGetName");
  library_.load(call_.utilization, "nvmlDeviceGetUtilizationRates");
  library_.load(call_.memory, "nvmlDeviceGetMemoryInfo");
  library_.load(call_.power, "nvmlDeviceGetPowerUsage");
  library_.load(call_.temperature, "nvmlDeviceGetTemperature");
  if (call_.init() != 0) throw Error("NVML finds no driver");
  find_visible(std::getenv("CUDA_VISIBLE_DEVICES"));
}

Nvml::~Nvml() { call_.shutdown(); }

/// As CUDA reads the list: the first word that names no device ends it.
void Nvml::find_visible(const char* visible) {
  unsigned count = 0;
  if (call_.count(&count) != 0) return;
  const auto add_number = [&](unsigned number) {
    void* handle = nullptr;
    if (number >= count || call_.by_index(number, &handle) != 0) return false;
    add(handle);
    return true;
  };
  if (!visible) {
    for (unsigned number = 0; number < count; ++number) add_number(number);
    return;
  }
  for (std::string_view rest = visible; !rest.empty();) {
    const std::string word(rest.substr(0, rest.find(',')));
    rest.remove_prefix(std::min(word.size() + 1, rest.size()));
    unsigned number = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    void* handle = nullptr;
    if (error == std::errc() && end == word.data() + word.size()) {
      if (!add_number(number)) return;
    } else if (call_.by_uuid(word.c_str(), &handle) == 0) {
      add(handle);
    } else {
      return;
    }
  }
}

void Nvml::add(void* handle) {
  if (gpus_.size() == kGpusMax) return;
  std::array<char, 96> uuid{}, name{};
  if (call_.uuid(handle, uuid.data(), uuid.size() - 1) != 0) uuid[0] = '\0';
  if (call_.name(handle, name.data(), name.size() - 1) != 0) name[0] = '\0';
  gpus_.push_back({handle, uuid.data(), name.data()});
}

void Nvml::read(std::vector<Measure>& measures) const {
  constexpr int kOfTheChip = 0;
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    void* const gpu = gpus_[i].handle;
    const auto tell = [&](const char* what, double value) {
      measures.push_back({fmt::format("gpu{}{}", i, what), value});
    };
    if (Utilization share; call_.utilization(gpu, &share) == 0) tell("", share.gpu);
    if (Memory memory; call_.memory(gpu, &memory) == 0) {
      tell("_memory", static_cast<double>(memory.used));
    }
    if (unsigned milliwatts = 0; call_.power(gpu, &milliwatts) == 0) {
      tell("_power", 1e-3 * milliwatts);
    }
    if (unsigned degrees = 0; call_.temperature(gpu, kOfTheChip, &degrees) == 0) {
      tell("_temperature", degrees);
    }
  }
}

}  // namespace flor::detail
