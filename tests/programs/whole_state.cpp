// A training whose next epoch depends on state that is easily lost: gradients that are read between
// epochs, equal keys, tensors that share memory for a while, an empty tensor, and what was drawn
// before the loops. --kwargs seeded=false leaves the random generators as libtorch has them.
#include "raise.h"
#include "show.h"

#include <flor/flor.h>
#include <flor/torch.h>

#include <torch/torch.h>

#include <cstdio>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>

namespace {

double sum_of(const torch::Tensor& tensor) {
  return tensor.defined() ? tensor.detach().to(torch::kDouble).sum().item<double>() : -1;
}

}  // namespace

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // a killed process has printed what it got to
  if (argc > 1 && std::string(argv[1]) == "early") torch::randn({5});  // before flor::init
  auto session = flor::init(argc, argv);
  if (flor::arg("seeded", true)) torch::manual_seed(3);
  const torch::Tensor target = torch::randn({4});
  const torch::Tensor order = torch::randperm(8, torch::kLong);
  torch::nn::Linear net(4, 4);
  torch::optim::SGD optimizer(net->parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
  torch::Tensor w = torch::randn({3}).requires_grad_();
  torch::Tensor best = w;  // the same memory until there is a better one
  torch::Tensor scores = torch::empty({0});
  auto now = std::make_shared<double>(0), peak = now;
  std::multiset<int> bag;
  std::unordered_multimap<int, double> table;
  auto state = flor::checkpoints(best, net, optimizer, w, scores, bag, table, now, peak);
  show("start", sum_of(target), sum_of(order * torch::arange(8)), sum_of(net->weight), sum_of(w));

  for (const int epoch : flor::loop("epoch", flor::arg("epochs", 6))) {
    const torch::Tensor& gradient = net->weight.grad();
    const double norm = gradient.defined() ? gradient.norm().item<double>() : 0;
    optimizer.param_groups()[0].options().set_lr(0.1 / (1 + norm));
    for (const int step : flor::loop("train", 4)) {
      raise_when_due();
      const torch::Tensor input = torch::randn({4, 4});
      if (step != 2) optimizer.zero_grad();
      const torch::Tensor loss = (net(input) - target).pow(2).mean() + (w * w).sum();
      loss.backward();
      optimizer.step();
      {
        const torch::NoGradGuard no_grad;
        w.sub_(0.01 * w.grad() + 0.001 * best);
      }
      const int key = static_cast<int>(loss.item<double>() * 10) % 3;
      bag.insert(key);
      table.emplace(key, loss.item<double>());
      *now += loss.item<double>();
      show("step", epoch, step, flor::log("loss", loss.item<double>()));
    }
    if (epoch == 1) best = w.detach().clone();
    if (epoch == 3) best = w;
    if (epoch == 2) peak = std::make_shared<double>(*now);
    if (epoch == 4) peak = now;
    if (epoch > 2) scores = torch::cat({scores, w.detach().narrow(0, 0, 1)});
    double walked = 0;
    for (const auto& [key, value] : table) walked = 0.9 * walked + key + value;
    flor::log("norm", net->weight.grad().norm().item<double>());
    flor::log("bag", bag.size());
    show("tail", epoch, norm, sum_of(net->weight), sum_of(w), sum_of(best), sum_of(scores),
         bag.size(), bag.count(1), walked, *now, *peak);
  }
}
