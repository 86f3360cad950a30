// A training program of several files, as people write them, that the tests edit.
#pragma once

#include <map>
#include <string>

namespace flor::testing {

inline const std::map<std::string, std::string>& training_program() {
  static const std::map<std::string, std::string> files = {
      {"train.cpp", R"code(// Trains a classifier; see "model.h" for { the network }.
#include "metrics.h"
#include "model.h"

#include <flor/flor.h>
#include <flor/torch.h>

#include <cstdio>
#include <vector>

#define CHECKED(x) check((x), __LINE__)
#define UPDATE(optimizer) \
  optimizer.step();       \
  optimizer.zero_grad()

namespace {

constexpr double kClip = 1.0;
constexpr int kReport = 10;
const char* const kBanner = R"(
  for (auto x : flor::loop("fake", 3)) { "not code" }
)";
double decay = 0.5;

struct Options {
  int epochs = 8;
  double rate = 0.1;
};

void check(bool good, int line) {
  if (!good) std::printf("line %d\n", line);
}

template <typename Parameters>
double clip(Parameters& parameters, double limit = kClip) {
  double norm = 0;
  for (auto& p : parameters) norm += p * p;
  if (norm > limit) {
    for (auto& p : parameters) p /= norm;
  }
  return norm;
}

double learn(Net& net, const Batch& batch) {
  const double loss = net.forward(batch.data) - batch.target;
  clip(net.parameters(), 2.0);
  return loss;
}

void report(double loss, int step) {
  if (step % kReport == 0) std::printf("%d: %f\n", step, loss);
}

double validate(Net& net, const Data& data) {
  double sum = 0;
  for (const auto& batch : flor::loop("validate", data, flor::with(sum))) {
    sum += error_of(net.forward(batch.data), batch.target);
  }
  return sum;
}

void pretrain(Net& net, const Data& data) {
  for (const auto& batch : flor::loop("warm", data)) {
    net.forward(batch.data);
  }
}

}  // namespace

int main(int argc, char** argv) {
  auto session = flor::init(argc, argv);
  Options options;
  Net net(flor::arg("hidden", 16));
  Sgd optimizer(net.parameters(), options.rate);
  Data data = load_data("train.bin"), test = load_data("test.bin");
  auto state = flor::checkpoints(net, optimizer);
  std::vector<double> history;
  const auto smooth = [&](double value) { return decay * value; };
  std::printf("%s", kBanner);
  for (int epoch : flor::loop("epoch", options.epochs)) {
    double running = 0;
    pretrain(net, data);
    for (const auto& batch : flor::loop("train", data, flor::with(running))) {
      const double loss = learn(net, batch);
      running += smooth(loss);
      CHECKED(loss < 1e6);
      UPDATE(optimizer);
      for (int k : flor::loop("inner", 2)) net.nudge(k);
      report(loss, epoch);
    }
    for (int i : flor::loop("tune", 3)) optimizer.tune(i); for (int j : flor::loop("swap", 3)) net.exchange(j);
    for (const auto& batch : flor::loop("test", test))
      history.push_back(error_of(net.forward(batch.data), batch.target));
    const double error = validate(net, test);
    flor::log("error", error);
    optimizer.rate *= 0.9;
  }
  summarize(history);
}
)code"},
      {"model.h", R"code(#ifndef MODEL_H
#define MODEL_H
#include <vector>

struct Batch {
  double data, target;
};
using Data = std::vector<Batch>;

class Net {
 public:
  explicit Net(int hidden) : weights_(hidden, 0.5), scale_{1.0} {}
  double forward(double x) const {
    double y = 0;
    for (double w : weights_) y += w * x;
    return y * scale_;
  }
  void nudge(int k) { weights_[0] += 1e-3 * k; }
  void exchange(int k) { std::swap(weights_[0], weights_[k]); }
  std::vector<double>& parameters() { return weights_; }
  void save(const flor::StateWriter& writer) const {
    writer.value("weights", weights_);
    writer.value("scale", scale_);
  }

 private:
  std::vector<double> weights_;
  double scale_;
};

struct Sgd {
  Sgd(std::vector<double>& p, double r) : parameters(p), rate(r) {}
  ~Sgd() { rate = 0; }
  void step();
  void zero_grad() { gradient = 0; }
  void tune(int i) { rate *= 1 - 0.01 * i; }
  Sgd& operator+=(double x) {
    gradient += x;
    return *this;
  }
  void save(const flor::StateWriter& writer) const {
    writer.value("rate", rate);
    writer.value("gradient", gradient);
  }
  std::vector<double>& parameters;
  double rate, gradient = 0;
};

Data load_data(const char* path);
#endif
)code"},
      {"model.cpp", R"code(#include "model.h"

#include <fstream>

void Sgd::step() {
  for (double& p : parameters) p -= rate * gradient;
}

Data load_data(const char* path) {
  std::ifstream in(path);
  Data data;
  for (Batch b; in >> b.data >> b.target;) data.push_back(b);
  return data;
}
)code"},
      {"metrics.h", R"code(#pragma once
#include <vector>

inline double square(double x) { return x * x; }

namespace metrics {
double absolute(double x);
}

double error_of(double y, double target);
void summarize(const std::vector<double>& history);
)code"},
      {"metrics.cpp", R"code(#include "metrics.h"

#include <cstdio>

double metrics::absolute(double x) { return x < 0 ? -x : x; }

double error_of(double y, double target) {
#ifdef SQUARED
  return square(y - target);
#else
  return metrics::absolute(y - target);
#endif
}

void summarize(const std::vector<double>& history) {
  double total = 0;
  for (double h : history) total += h;
  std::printf("%f\n", total);
}
)code"},
      {"convert.cpp", R"code(#include "model.h"

int main() {
  for (int i : flor::loop("train", 3)) load_data("x");
}
)code"},
  };
  return files;
}

}  // namespace flor::testing
