#include "machine/measures.h"

#include <fmt/format.h>

namespace flor::detail {

std::string_view to_string(Unit unit) {
  switch (unit) {
    case Unit::percent:
      return "%";
    case Unit::bytes:
      return "bytes";
    case Unit::bytes_a_second:
      return "bytes/s";
    case Unit::count:
      return "";
    case Unit::watts:
      return "W";
    case Unit::degrees:
      return "°C";
  }
  return "";
}

std::span<const MeasureKind> measure_kinds() {
  static const std::vector<MeasureKind> kinds = [] {
    std::vector<MeasureKind> all{{"cpu", Unit::percent},
                                 {"memory", Unit::bytes},
                                 {"threads", Unit::count},
                                 {"read", Unit::bytes_a_second},
                                 {"written", Unit::bytes_a_second},
                                 {"host_cpu", Unit::percent},
                                 {"host_memory", Unit::percent},
                                 {"cpu_pressure", Unit::percent},
                                 {"memory_pressure", Unit::percent},
                                 {"io_pressure", Unit::percent},
                                 {"received", Unit::bytes_a_second},
                                 {"sent", Unit::bytes_a_second},
                                 {"disk_free", Unit::bytes}};
    for (unsigned gpu = 0; gpu < kGpusMax; ++gpu) {
      all.push_back({fmt::format("gpu{}", gpu), Unit::percent});
      all.push_back({fmt::format("gpu{}_memory", gpu), Unit::bytes});
      all.push_back({fmt::format("gpu{}_power", gpu), Unit::watts});
      all.push_back({fmt::format("gpu{}_temperature", gpu), Unit::degrees});
    }
    return all;
  }();
  return kinds;
}

}  // namespace flor::detail
