// The program of all fuzz targets, since linking one takes longer than compiling it.
// FLOR_FUZZ_TARGET names the target that runs.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#define FLOR_FOR_EACH_TARGET(VISIT)                                                 \
  VISIT(blob) VISIT(bucket) VISIT(codec) VISIT(csv) VISIT(events) VISIT(frames)     \
  VISIT(journal) VISIT(pack) VISIT(printed) VISIT(remote) VISIT(safetensors)        \
  VISIT(serve) VISIT(sources) VISIT(store) VISIT(tfevents)

#define FLOR_DECLARE(name)                             \
  namespace flor::fuzz::name##_target {                \
  int run(const std::uint8_t* data, std::size_t size); \
  }
FLOR_FOR_EACH_TARGET(FLOR_DECLARE)

namespace {

using Target = int (*)(const std::uint8_t*, std::size_t);

Target chosen() {
  const char* const name = std::getenv("FLOR_FUZZ_TARGET");
#define FLOR_COMPARE(each) \
  if (name && std::string_view(name) == #each) return flor::fuzz::each##_target::run;
  FLOR_FOR_EACH_TARGET(FLOR_COMPARE)
  std::fprintf(stderr, "FLOR_FUZZ_TARGET names no target: see tests/fuzz\n");
  std::exit(2);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Target target = chosen();
  return target(data, size);
}
