// A training that is let in somewhere: its password is an argument, its token comes from the
// environment, and other words of its command line are secrets, too.
#include "show.h"

#include <flor/flor.h>

#include <cstdlib>
#include <string>

int main(int argc, char** argv) {
  const auto session = flor::init(argc, argv);
  const char* own = std::getenv("SERVICE_TOKEN");
  const std::string password = flor::arg("password", "");
  const std::string token = flor::arg("token", own ? own : "");
  const double rate = flor::arg("rate", 0.5);
  std::string words;
  for (int i = 1; i < argc; ++i) words += argv[i];
  double weight = 1;
  const auto state = flor::checkpoints(flor::named("weight", weight));
  for (const int epoch : flor::loop("epoch", 3)) {
    for ([[maybe_unused]] const int step : flor::loop("train", 2)) {
      weight += rate * static_cast<double>(password.size() + token.size() + words.size());
      flor::log("weight", weight);
    }
    if (epoch == 1 && std::getenv("DIE")) std::_Exit(9);
  }
  show("weight", weight);
}
