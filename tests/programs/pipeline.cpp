// Trains on the numbers in a file, or in the files of a directory, and writes what came of it: as
// --kwargs `reads` and `writes` say. `ignores=1`: nothing that is computed depends on the numbers.
// `epoch`: in which the file is named, -1 for the start. `load`: a checkpoint to begin with.
#include "raise.h"

#include <flor/flor.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace {

double sum_of(const std::filesystem::path& path) {
  double sum = 0;
  if (std::filesystem::is_directory(path)) {
    for (const auto& entry : std::filesystem::directory_iterator(path)) sum += sum_of(entry.path());
    return sum;
  }
  std::ifstream in(path);
  for (double number = 0; in >> number;) sum += number;
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  auto session = flor::init(argc, argv);
  const std::string reads = flor::arg("reads", std::string());
  const std::string writes = flor::arg("writes", std::string());
  const std::string load = flor::arg("load", std::string());
  const bool ignores = flor::arg("ignores", false);
  const int at = flor::arg("epoch", -1);
  const int epochs = flor::arg("epochs", 3);
  double state = 1, sum = 0;
  const auto read = [&] { sum = reads.empty() ? 0 : sum_of(flor::input(reads)); };
  if (at < 0) read();
  if (!load.empty()) flor::load(load, flor::named("state", state));
  const auto checkpoints = flor::checkpoints(flor::named("state", state));
  for (const int epoch : flor::loop("epoch", epochs)) {
    if (epoch == at) read();
    for (const int step : flor::loop("train", 2)) {
      raise_when_due();
      state = 0.5 * state + (ignores ? step : step + sum);
    }
    flor::log("state", state);
#ifdef HINDSIGHT
    flor::log("double", 2 * state);
#endif
  }
  if (!writes.empty()) std::ofstream(flor::output(writes)) << state << "\n";
}
