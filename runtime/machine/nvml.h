// The GPUs that this process can see, as NVIDIA's management library tells of them. It is loaded
// where it is, and linked nowhere.
#pragma once

#include "base/late_library.h"
#include "machine/measures.h"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace flor::detail {

/// Belongs to one thread. The calls into the driver take microseconds to milliseconds.
class Nvml {
 public:
  struct Gpu {
    void* handle = nullptr;
    std::string uuid, name;  ///< "GPU-5f0c...", "NVIDIA H100 80GB HBM3"
  };

  /// Null where there is no such library, no driver, or one that lacks a function. The library is
  /// the file that FLOR_NVML names, else libnvidia-ml.so.1. CUDA_VISIBLE_DEVICES holds here, too,
  /// with numbers in the order of the PCI bus.
  static std::unique_ptr<Nvml> open();
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  /// In the order in which the process counts them; at most kGpusMax.
  const std::vector<Gpu>& gpus() const { return gpus_; }
  /// Adds what each GPU tells; what one does not tell is left out.
  void read(std::vector<Measure>& measures) const;

 private:
  struct Utilization {
    unsigned gpu = 0, memory = 0;
  };
  struct Memory {
    unsigned long long total = 0, free = 0, used = 0;
  };
  /// As nvml.h declares them; 0 is success.
  struct Functions {
    int (*init)() = nullptr;
    int (*shutdown)() = nullptr;
    int (*count)(unsigned*) = nullptr;
    int (*by_index)(unsigned, void**) = nullptr;
    int (*by_uuid)(const char*, void**) = nullptr;
    int (*uuid)(void*, char*, unsigned) = nullptr;
    int (*name)(void*, char*, unsigned) = nullptr;
    int (*utilization)(void*, Utilization*) = nullptr;
    int (*memory)(void*, Memory*) = nullptr;
    int (*power)(void*, unsigned*) = nullptr;
    int (*temperature)(void*, int, unsigned*) = nullptr;
  };

  explicit Nvml(const char* file);
  void find_visible(const char* visible);
  void add(void* handle);

  store::LateLibrary library_;
  Functions call_;
  std::vector<Gpu> gpus_;
};

}  // namespace flor::detail
