#include "index/values/machine.h"

namespace flor::store {

Value machine_value(std::string_view name, std::int64_t epoch, std::int64_t seconds, double value) {
  return {.name = std::string(kMachineSeries).append(name),
          .place = {.path = {}, .epoch = epoch, .step = seconds, .inner = {}},
          .type = ValueType::real,
          .value = value};
}

}  // namespace flor::store
