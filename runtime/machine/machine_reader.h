// Facts that this process and its machine tell of themselves at one moment: from /proc, the file
// system of the store, and the GPUs.
#pragma once

#include "machine/measures.h"
#include "machine/nvml.h"

#include <filesystem>
#include <memory>
#include <vector>

namespace flor::detail {

/// Belongs to one thread.
class MachineReader {
 public:
  /// `home`: of the store. `proc`: where Linux shows processes; another directory in tests.
  explicit MachineReader(std::filesystem::path home, std::filesystem::path proc = "/proc")
      : home_(std::move(home)), proc_(std::move(proc)) {}

  /// Leaves out what is not told here, as pressure by older kernels. Never throws for that. The
  /// first call looks for GPUs.
  std::vector<Measure> read();

 private:
  void read_process(std::vector<Measure>& measures, unsigned cores) const;
  void read_host(std::vector<Measure>& measures) const;
  unsigned read_cores(std::vector<Measure>& measures) const;

  std::filesystem::path home_, proc_;
  bool has_looked_ = false;
  std::unique_ptr<Nvml> gpus_;  // null where there are none
};

}  // namespace flor::detail
