// A training whose losses are given, so that a test knows which checkpoints are worth keeping:
// --kwargs losses=2,4,1,3. What is computed depends on everything that was computed before.
#include "raise.h"
#include "show.h"

#include <flor/flor.h>

#include <cstdint>
#include <cstdlib>
#include <random>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

namespace {

static_assert(!std::is_constructible_v<flor::MetricScore, const char*, const char*>,
              "a text is no score");
static_assert(std::is_constructible_v<flor::MetricScore, const char*, bool>);

std::vector<double> numbers(const std::string& text) {
  std::vector<double> list;
  std::istringstream in(text);
  for (std::string word; std::getline(in, word, ',');) {
    list.push_back(std::strtod(word.c_str(), nullptr));  // "nan" and "inf", too
  }
  return list;
}

void show_checkpoint(const char* what, const std::optional<flor::Checkpoint>& checkpoint) {
  if (!checkpoint) return show(what, "none");
  show(what, checkpoint->epoch, checkpoint->name, checkpoint->score.value_or(-1));
}

}  // namespace

int main(int argc, char** argv) {
  const auto session = flor::init(argc, argv);
  const std::vector<double> losses = numbers(flor::arg("losses", "2,4,1,3"));
  const std::int64_t keep = flor::arg("keep", std::int64_t{-9});  // -9: no strategy
  const std::string attribute = flor::arg("attribute", "loss");
  const int save_every = flor::arg("save_every", 0);  // steps
  const bool ask = flor::arg("ask", false);           // for the best, after each epoch
  if (keep != -9) {
    session.keep(
        {.num_to_keep = keep, .score_attribute = attribute, .score_order = flor::ScoreOrder::min});
  }
  double value = 1;
  std::mt19937 engine{3};
  const auto state = flor::checkpoints(flor::named("value", value), flor::named("engine", engine));
  const auto next = [&] {
    raise_when_due();
    return value = 0.7 * value + static_cast<double>(engine() % 1000) / 1000;
  };
  if (save_every > 0) flor::save_checkpoint("start");
  constexpr int kSteps = 4;
  for (const int epoch : flor::loop("epoch", static_cast<int>(losses.size()))) {
    double sum = 0;
    for (const int step : flor::loop("train", kSteps, flor::with(sum))) {
      sum += flor::log("value", next());
      show("step", epoch, step, value);
      const int count = epoch * kSteps + step + 1;
      if (save_every > 0 && count % save_every == 0) {
        flor::save_checkpoint({{"value", value}, {"count", count}});
      }
    }
    flor::log("sum", sum);
    flor::log("loss", losses[static_cast<std::size_t>(epoch)]);
    show("tail", epoch, next(), sum);
    if (ask) show_checkpoint("best", flor::best_checkpoint());
  }
  if (save_every > 0) {
    const auto last = flor::save_checkpoint("end");
    flor::score_checkpoint(last, {{"value", -1.0}});
  }
  flor::log("end", value);
  if (flor::recording()) {
    show_checkpoint("best", flor::best_checkpoint());
    show_checkpoint("latest", flor::latest_checkpoint());
  }
}
