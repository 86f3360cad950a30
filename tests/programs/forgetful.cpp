// A training whose result hangs on one number that it may have forgotten to register, changed and
// used in every way: --kwargs change=... use=... registered=true. DIE=EPOCH:STEP:SIGNAL sends it
// that signal there; 0: an exception leaves the loop. AWAIT=1 waits every three steps until the
// checkpoint that is due there is stored, and ends with status 99 where the one before it was still
// on its way, so that none is taken there.
#include <flor/flor.h>
#include <flor/store/store.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <list>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

void await_step(int epoch, int step) {
  const auto store =
      flor::store::Store::open(flor::store::home_directory({}), flor::store::OpenMode::existing);
  const flor::store::Catalog& catalog = store->catalog();
  const std::string name = "train@" + std::to_string(step);
  const auto is_it = [&](const flor::store::CheckpointInfo& info) {
    return info.key.iteration == epoch && info.key.loop == name;
  };
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(3);
  while (std::ranges::none_of(catalog.checkpoints(catalog.runs().at(0).id), is_it)) {
    if (std::chrono::steady_clock::now() > end) std::_Exit(99);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    store->catalog().follow();
  }
}

struct Training {
  std::vector<double> weights = std::vector<double>(4, 1.0);
  double state = 0;  // what may be forgotten
  std::string change = flor::arg("change", "epoch_begin"), use = flor::arg("use", "in_loop");
  int steps = 0;  // of this epoch
  int die_epoch = -1, die_step = -1, die_signal = 0;

  Training() {
    if (const char* die = std::getenv("DIE")) {
      std::sscanf(die, "%d:%d:%d", &die_epoch, &die_step, &die_signal);
    }
  }

  void changes(const std::string& when, int epoch) {
    if (change == when) state += when == "step" ? 1 : 10;
    if (change == "once" && when == "epoch_end" && epoch == 1) state = 50;
    if (change == "every_other" && when == "epoch_end" && epoch % 2 == 1) state += 20;
  }
  void step(int epoch, int item) {
    if (steps > 0 && steps % 3 == 0 && std::getenv("AWAIT")) await_step(epoch, steps);
    ++steps;
    if (epoch == die_epoch && item == die_step) {
      if (die_signal == 0) throw std::runtime_error("the machine failed");
      std::raise(die_signal);
    }
    changes("step", epoch);
    const double by = use == "in_loop" || (use == "late" && item >= 8) ? state : 0;
    for (double& w : weights) w = 0.5 * w + 0.1 * item + 0.01 * by;
    if (use == "logged_in_loop") flor::log("seen", state);
    flor::log("loss", weights[0]);
  }
  std::vector<int> items() const {
    std::vector<int> items(11);
    std::iota(items.begin(), items.end(), 0);
    if (use == "order") std::rotate(items.begin(), items.begin() + int(state) % 9, items.end());
    return items;
  }
  void epoch(int epoch) {
    changes("epoch_begin", epoch);
    steps = 0;
    if (use == "whether_entered" && state > 15) {
      weights[1] += 1;
    } else {
      for (const int item : flor::loop("train", items())) {
        if (use == "steps" && item > int(state / 4) % 9) break;
        step(epoch, item);
      }
    }
    if (use == "after_loop") weights[2] += 0.1 * state;
    if (use == "logged") flor::log("state", state);
    if (use != "whether_logged" || state > 15) flor::log("sum", weights[2]);
    flor::log("last", weights[3]);
    changes("epoch_end", epoch);
  }
};

}  // namespace

int main(int argc, char** argv) {
  auto session = flor::init(argc, argv);
  Training training;
  std::vector<decltype(flor::checkpoints(training.state))> kept;
  auto weights = flor::checkpoints(training.weights);
  if (flor::arg("registered", false)) kept.push_back(flor::checkpoints(training.state));
  const int epochs = flor::arg("epochs", 7);
  if (flor::arg("list", false)) {  // a range that cannot go back
    std::list<int> list(static_cast<std::size_t>(epochs));
    std::iota(list.begin(), list.end(), 0);
    for (const int epoch : flor::loop("epoch", list)) training.epoch(epoch);
  } else {
    for (const int epoch : flor::loop("epoch", epochs)) training.epoch(epoch);
  }
  std::printf("%a %a %a %a\n", training.weights[0], training.weights[1], training.weights[2],
              training.weights[3]);
}
