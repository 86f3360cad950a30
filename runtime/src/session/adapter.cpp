#include <flor/adapter.h>

#include <utility>

namespace flor::detail {
namespace {

Adapter& instance() {
  static Adapter adapter;  // local, since it may be used before main
  return adapter;
}

}  // namespace

bool register_adapter(Adapter adapter) {
  instance() = std::move(adapter);
  return true;
}

const Adapter& adapter() { return instance(); }

}  // namespace flor::detail
