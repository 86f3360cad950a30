// A training that gets into trouble when it is replayed: the variable TROUBLE, as "EPOCH throw",
// "EPOCH kill" or "EPOCH once FILE" (killed only if FILE is not there yet), says where and how.
// Variant HINDSIGHT logs more.
#include <flor/flor.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>

namespace {

void get_into_trouble(int epoch) {
  const char* trouble = std::getenv("TROUBLE");
  if (!trouble || !flor::replaying() || flor::catching_up()) return;
  std::istringstream words(trouble);
  int where = -1;
  std::string how, file;
  words >> where >> how >> file;
  if (epoch != where) return;
  if (how == "throw") throw std::runtime_error("this epoch cannot be computed");
  if (how == "once") {
    if (std::filesystem::exists(file)) return;
    std::ofstream(file) << "\n";
  }
  std::raise(SIGKILL);
}

}  // namespace

int main(int argc, char** argv) {
  auto session = flor::init(argc, argv);
  double value = 1;
  const auto state = flor::checkpoints(flor::named("value", value));
  for (const int epoch : flor::loop("epoch", flor::arg("epochs", 6))) {
    for ([[maybe_unused]] const int step : flor::loop("train", 3)) value = 0.9 * value + step;
    get_into_trouble(epoch);
    flor::log("value", value);
#ifdef HINDSIGHT
    flor::log("found", 2 * value);
#endif
  }
}
