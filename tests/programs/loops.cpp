// Loops of every shape, one a scenario: --kwargs scenario=NAME. What is computed in each iteration
// depends on everything that was computed before, so that a replay from a wrong state shows.
#include "raise.h"
#include "show.h"

#include <flor/flor.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <list>
#include <map>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

struct Chain {
  double value = 1;
  std::mt19937 engine{3};

  double next() {
    raise_when_due();
    value = 0.7 * value + static_cast<double>(engine() % 1000) / 1000;
    return value;
  }
};

constexpr int kEpochs = 5;
constexpr int kSteps = 3;

double step(Chain& chain, int epoch, int step, std::string_view name = "step_value") {
  const double value = flor::log(name, chain.next());
  show("step", epoch, step, value);
  return value;
}
void tail(Chain& chain, int epoch) { show("tail", epoch, flor::log("tail_value", chain.next())); }

void plain(Chain& chain) {
  for (const int epoch : flor::loop("epoch", kEpochs)) {
    for (const int i : flor::loop("train", kSteps)) step(chain, epoch, i);
    tail(chain, epoch);
  }
}

void without_nested(Chain& chain) {
  for (const int epoch : flor::loop("epoch", kEpochs)) tail(chain, epoch);
}

void break_nested(Chain& chain) {
  for (const int epoch : flor::loop("epoch", kEpochs)) {
    for (const int i : flor::loop("train", 10)) {
      step(chain, epoch, i);
      if (i == epoch % 3) break;
    }
    tail(chain, epoch);
  }
}

void break_main(Chain& chain) {
  for (const int epoch : flor::loop("epoch", 100)) {
    for (const int i : flor::loop("train", kSteps)) step(chain, epoch, i);
    tail(chain, epoch);
    if (epoch == kEpochs - 1) break;
  }
  flor::log("after", chain.next());
}

void return_nested(Chain& chain) {
  for (const int epoch : flor::loop("epoch", 100)) {
    for (const int i : flor::loop("train", kSteps)) {
      step(chain, epoch, i);
      if (epoch == kEpochs - 1 && i == 1) return;
    }
    tail(chain, epoch);
  }
}

void continue_both(Chain& chain) {
  for (const int epoch : flor::loop("epoch", kEpochs)) {
    for (const int i : flor::loop("train", kSteps)) {
      if (i == 1) continue;
      step(chain, epoch, i);
    }
    if (epoch % 2 == 0) continue;
    tail(chain, epoch);
  }
}

/// Stops when the value has not improved for two epochs.
void early_stopping(Chain& chain) {
  double best = 1e9;
  int worse = 0;
  const auto state = flor::checkpoints(flor::named("best", best), flor::named("worse", worse));
  for (const int epoch : flor::loop("epoch", 100)) {
    for (const int i : flor::loop("train", kSteps)) step(chain, epoch, i);
    tail(chain, epoch);
    worse = chain.value < best ? 0 : worse + 1;
    best = std::min(best, chain.value);
    if (worse == 2) break;
  }
  flor::log("best", best);
}

void thrown_and_caught(Chain& chain) {
  for (const int epoch : flor::loop("epoch", kEpochs)) {
    try {
      for (const int i : flor::loop("train", kSteps)) {
        step(chain, epoch, i);
        if (epoch % 2 == 1 && i == 1) throw std::runtime_error("a bad batch");
      }
    } catch (const std::runtime_error&) {
      chain.next();
    }
    tail(chain, epoch);
  }
}

void thrown_out_of_main(Chain& chain) {
  try {
    for (const int epoch : flor::loop("epoch", kEpochs)) {
      for (const int i : flor::loop("train", kSteps)) step(chain, epoch, i);
      if (epoch == 3) throw std::runtime_error("not this epoch");
      tail(chain, epoch);
    }
  } catch (const std::runtime_error&) {
  }
  for (const int epoch : flor::loop("again", 2)) {
    for (const int i : flor::loop("train", kSteps)) step(chain, 10 + epoch, i);
    tail(chain, 10 + epoch);
  }
}

/// A second part of the training with an optimizer of its own.
void two_mains(Chain& chain) {
  {
    double velocity = 0;
    const auto state = flor::checkpoints(flor::named("velocity", velocity));
    for (const int epoch : flor::loop("warmup", 2)) {
      for (const int i : flor::loop("train", kSteps)) velocity += step(chain, epoch, i);
      chain.value += 0.1 * velocity;
      tail(chain, epoch);
    }
  }
  flor::log("between", chain.next());
  std::vector<double> moments{0, chain.value};
  const auto state = flor::checkpoints(flor::named("moments", moments));
  for (const int epoch : flor::loop("epoch", 3)) {
    for (const int i : flor::loop("train", kSteps)) moments[0] += step(chain, 10 + epoch, i);
    chain.value += 0.1 * moments[0] + moments[1];
    tail(chain, 10 + epoch);
  }
  flor::log("after", chain.next());
}

void same_main_twice(Chain& chain) {
  for (int round = 0; round < 2; ++round) {
    for (const int epoch : flor::loop("epoch", 3)) {
      for (const int i : flor::loop("train", kSteps)) step(chain, 10 * round + epoch, i);
      tail(chain, 10 * round + epoch);
    }
  }
}

void unnamed(Chain& chain) {
  for (const int epoch : flor::loop(kEpochs)) {
    for (const int i : flor::loop(kSteps)) step(chain, epoch, i);
    chain.next();
    for (const int i : flor::loop({5, 6})) step(chain, epoch, i, "second");
    tail(chain, epoch);
  }
}

void two_nested(Chain& chain) {
  for (const int epoch : flor::loop("epoch", kEpochs)) {
    for (const int i : flor::loop("train", kSteps)) step(chain, epoch, i);
    chain.next();
    for (const int i : flor::loop("test", 2)) step(chain, epoch, i, "test_value");
    tail(chain, epoch);
  }
}

void same_nested_twice(Chain& chain) {
  for (const int epoch : flor::loop("epoch", kEpochs)) {
    for (int part = 0; part < 2; ++part) {
      for (const int i : flor::loop("train", kSteps)) step(chain, epoch, 10 * part + i);
      chain.next();
    }
    tail(chain, epoch);
  }
}

void three_deep(Chain& chain) {
  for (const int epoch : flor::loop("epoch", kEpochs)) {
    for (const int i : flor::loop("train", kSteps)) {
      for (const int micro : flor::loop("micro", 2)) {
        for (const int part : flor::loop("part", 2)) {
          step(chain, epoch, 100 * i + 10 * micro + part);
        }
      }
      step(chain, epoch, i, "after_micro");
    }
    tail(chain, epoch);
  }
}

void nested_now_and_then(Chain& chain) {
  for (const int epoch : flor::loop("epoch", kEpochs)) {
    for (const int i : flor::loop("train", kSteps)) step(chain, epoch, i);
    if (epoch % 2 == 1) {
      for (const int i : flor::loop("test", 2)) step(chain, epoch, i, "test_value");
    }
    tail(chain, epoch);
  }
}

void nested_of_nothing(Chain& chain) {
  const std::vector<int> nothing;
  for (const int epoch : flor::loop("epoch", kEpochs)) {
    for (const int i : flor::loop("train", nothing)) step(chain, epoch, i);
    tail(chain, epoch);
  }
}

/// Elements that are no numbers from zero, in a container that cannot be stepped over.
void words_in_a_list(Chain& chain) {
  const std::list<std::string> words{"5", "7.5", "0.30000000000000004", "0.3", "a b"};
  int epoch = 0;
  for (const std::string& word : flor::loop("word", words)) {
    epoch = static_cast<int>(word.size());
    for (const int i : flor::loop("train", kSteps)) step(chain, epoch, i);
    flor::log("word", word);
    tail(chain, epoch);
  }
}

/// Like a data loader: begin() draws a permutation from the engine, and there is no post-increment.
class Shuffled {
 public:
  struct Sentinel {};
  class Iterator {
   public:
    explicit Iterator(std::vector<int> order) : order_(std::move(order)) {}
    int operator*() const { return order_[at_]; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    bool operator!=(Sentinel) const { return at_ < order_.size(); }

   private:
    std::vector<int> order_;
    std::size_t at_ = 0;
  };

  Shuffled(std::mt19937& engine, int count) : engine_(engine), count_(count) {}
  Iterator begin() {
    std::vector<int> order(static_cast<std::size_t>(count_));
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), engine_);
    return Iterator(std::move(order));
  }
  Sentinel end() { return {}; }

 private:
  std::mt19937& engine_;
  int count_;
};

void shuffled_main(Chain& chain) {
  Shuffled order(chain.engine, kEpochs);
  for (const int chosen : flor::loop("epoch", order)) {
    for (const int i : flor::loop("train", kSteps)) step(chain, chosen, i);
    tail(chain, chosen);
  }
}

void shuffled_nested(Chain& chain) {
  Shuffled order(chain.engine, 4);
  for (const int epoch : flor::loop("epoch", kEpochs)) {
    for (const int i : flor::loop("train", order)) step(chain, epoch, i);
    tail(chain, epoch);
  }
}

/// Locals that live for one iteration, attached to the loop that changes them.
void attached_locals(Chain& chain) {
  for (const int epoch : flor::loop("epoch", kEpochs)) {
    double sum = 0;
    std::vector<int> counts;
    for (const int i :
         flor::loop("train", kSteps, flor::with(sum, flor::named("counts", counts)))) {
      sum += step(chain, epoch, i);
      counts.push_back(static_cast<int>(sum));
    }
    flor::log("sum", sum);
    show("tail", epoch, sum, counts.size(), counts.back());
    tail(chain, epoch);
  }
}

/// A local that lives through the main loop and is changed by the nested loops only.
void attached_best(Chain& chain) {
  double best = 1e9;
  for (const int epoch : flor::loop("epoch", kEpochs)) {
    for (const int i : flor::loop("train", kSteps, flor::with(best))) {
      best = std::min(best, step(chain, epoch, i));
    }
    flor::log("best", best);
    show("tail", epoch, best);
    tail(chain, epoch);
  }
}

/// Each main loop has a local attached to it that its epochs change, and that is used behind it.
void attached_to_main(Chain& chain) {
  for (int fold = 0; fold < 3; ++fold) {
    double best = 1e9;
    for (const int epoch : flor::loop("epoch", 3, flor::with(best))) {
      double sum = 0;
      for (const int i : flor::loop("train", kSteps, flor::with(sum))) sum += step(chain, epoch, i);
      best = std::min(best, sum + chain.next());
      flor::log("best_until_now", best);
      tail(chain, 3 * fold + epoch);
    }
    flor::log("best", best);
  }
}

/// What is registered grows while it trains, like a network that gets more layers.
void grows(Chain& chain) {
  std::list<double> layers;
  std::vector<flor::Checkpoints> more;
  for (const int epoch : flor::loop("epoch", kEpochs)) {
    if (epoch == 1 || epoch == 3) more.push_back(flor::checkpoints(layers.emplace_back(epoch)));
    for (const int i : flor::loop("train", kSteps)) {
      for (double& layer : layers) layer = 0.5 * layer + chain.next();
      step(chain, epoch, i);
    }
    const double sum = std::accumulate(layers.begin(), layers.end(), 0.0);
    show("sum", epoch, flor::log("sum", sum));
    tail(chain, epoch);
  }
}

/// Values of the elements and the place of a value are two things.
void from_five(Chain& chain) {
  for (const int epoch : flor::loop("epoch", {5, 6, 7, 8, 9})) {
    for (const double rate : flor::loop("rate", {0.1, 0.10000000000000001, 0.30000000000000004})) {
      flor::log("rate_value", rate);
      step(chain, epoch, static_cast<int>(100 * rate));
    }
    tail(chain, epoch);
  }
}

/// The same name several times at one place.
void repeated_names(Chain& chain) {
  flor::log("x", chain.next());
  flor::log("x", chain.next());
  for (const int epoch : flor::loop("epoch", kEpochs)) {
    for (const int i : flor::loop("train", kSteps)) {
      step(chain, epoch, i, "x");
      step(chain, epoch, i, "x");
    }
    flor::log("x", chain.next());
    show("tail", epoch, flor::log("x", chain.next()));
  }
  flor::log("x", chain.next());
}

bool linger = false;  // the program's own argument "linger": stays at one place for ever

void linger_if_told() {
  if (!linger) return;
  std::printf("lingering\n");
  std::fflush(stdout);
  std::this_thread::sleep_for(std::chrono::hours(1));
}

void slow_prologue(Chain& chain) {
  flor::log("before", chain.next());
  linger_if_told();
  plain(chain);
}

void slow_epilogue(Chain& chain) {
  plain(chain);
  flor::log("after", chain.next());
  linger_if_told();
}

void stuck(Chain& chain) {
  for (const int epoch : flor::loop("epoch", kEpochs)) {
    for (const int i : flor::loop("train", kSteps)) step(chain, epoch, i);
    if (epoch == 2) linger_if_told();
    tail(chain, epoch);
  }
}

const std::map<std::string, void (*)(Chain&), std::less<>> kScenarios{
    {"plain", plain},
    {"without_nested", without_nested},
    {"break_nested", break_nested},
    {"break_main", break_main},
    {"return_nested", return_nested},
    {"continue_both", continue_both},
    {"early_stopping", early_stopping},
    {"thrown_and_caught", thrown_and_caught},
    {"thrown_out_of_main", thrown_out_of_main},
    {"two_mains", two_mains},
    {"same_main_twice", same_main_twice},
    {"unnamed", unnamed},
    {"two_nested", two_nested},
    {"same_nested_twice", same_nested_twice},
    {"three_deep", three_deep},
    {"nested_now_and_then", nested_now_and_then},
    {"nested_of_nothing", nested_of_nothing},
    {"words_in_a_list", words_in_a_list},
    {"shuffled_main", shuffled_main},
    {"shuffled_nested", shuffled_nested},
    {"attached_locals", attached_locals},
    {"attached_best", attached_best},
    {"attached_to_main", attached_to_main},
    {"grows", grows},
    {"from_five", from_five},
    {"repeated_names", repeated_names},
    {"slow_prologue", slow_prologue},
    {"slow_epilogue", slow_epilogue},
    {"stuck", stuck},
};

}  // namespace

int main(int argc, char** argv) {
  auto session = flor::init(argc, argv);
  linger = argc > 1 && std::string_view(argv[1]) == "linger";
  const auto scenario = kScenarios.find(flor::arg("scenario", "plain"));
  if (scenario == kScenarios.end()) {
    std::fprintf(stderr, "no such scenario\n");
    return 99;
  }
  Chain chain;
  const auto state =
      flor::checkpoints(flor::named("value", chain.value), flor::named("engine", chain.engine));
  scenario->second(chain);
  flor::log("end", chain.next());
}
