// For scale.sh: a program with many small things, such as short epochs, registered objects or
// entries of a map. Prints the processor time of registering, and the final state.
//
//   epochs --flor NAME --flor_no_git --kwargs epochs=100000 objects=0 entries=0 steps=0
//   DIE_IN_EPOCH=N epochs ...   is killed there
//   ASK=yes epochs ...          logs what it did not log before
#include <flor/flor.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <vector>

int main(int argc, char** argv) {
  auto session = flor::init(argc, argv);
  const int epochs = flor::arg("epochs", 3), steps = flor::arg("steps", 0);
  std::vector<double> objects(static_cast<std::size_t>(flor::arg("objects", 0)), 1.0);
  std::map<int, double> map;
  const int entries = flor::arg("entries", 0);
  for (int i = 0; i < entries; ++i) map[i] = i;
  const char* die = std::getenv("DIE_IN_EPOCH");
  const bool asks = std::getenv("ASK");
  const int last = die ? std::atoi(die) : -1;
  double sum = 0;

  const std::clock_t began = std::clock();
  auto state = flor::checkpoints(sum, map);
  std::vector<decltype(flor::checkpoints(sum))> registered;
  registered.reserve(objects.size());
  for (double& object : objects) registered.push_back(flor::checkpoints(object));
  std::fprintf(stderr, "registered in %.3f s\n",
               static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC);

  for (const int epoch : flor::loop("epoch", epochs)) {
    for (const int step : flor::loop("train", steps)) sum += 1e-3 * step;
    if (entries > 0) map[epoch % entries] += 1;
    if (!objects.empty()) objects[static_cast<std::size_t>(epoch) % objects.size()] += 1;
    sum = 0.5 * sum + epoch;
    flor::log("loss", sum);
    if (asks) flor::log("half", sum / 2);
    if (epoch == last) std::raise(SIGKILL);
  }
  for (const double object : objects) sum += object;
  for (const auto& [key, value] : map) sum += value;
  std::printf("%.17g\n", sum);
}
