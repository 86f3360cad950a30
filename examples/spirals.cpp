// A first program with Flor, without libtorch: a small network learns on which of three spiral arms
// a point lies. It compiles in seconds and trains in seconds; docs/tutorial.md walks through it.
//
//   spirals --flor spirals                 (train and record)
//   spirals --replay_flor                  (after adding a log statement and rebuilding)
#include <flor/flor.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <random>
#include <vector>

constexpr std::size_t arms = 3;

struct Point {
  double x, y;
  std::size_t arm;
};

std::vector<Point> draw_points(std::size_t count, double noise, std::mt19937_64& random) {
  std::normal_distribution<double> blur(0, noise);
  std::vector<Point> points;
  for (std::size_t i = 0; i < count; ++i) {
    const double along = static_cast<double>(i) / static_cast<double>(count);
    const double angle = 2.1 * static_cast<double>(i % arms) + 5 * along + blur(random);
    points.push_back({along * std::sin(angle), along * std::cos(angle), i % arms});
  }
  return points;
}

// The network: a neuron has weights for x and y, a bias, and a weight for the score of each arm.
constexpr std::size_t per_neuron = 3 + arms;

double activity(const double* neuron, const Point& point) {
  return std::tanh(neuron[0] * point.x + neuron[1] * point.y + neuron[2]);
}

/// The probability of each arm, as the network sees it.
std::array<double, arms> look(const std::vector<double>& net, const Point& point) {
  std::array<double, arms> likely{};
  for (std::size_t i = 0; i < net.size(); i += per_neuron) {
    const double active = activity(&net[i], point);
    for (std::size_t arm = 0; arm < arms; ++arm) likely[arm] += net[i + 3 + arm] * active;
  }
  double sum = 0;
  for (std::size_t arm = 0; arm < arms; ++arm) sum += likely[arm] = std::exp(likely[arm]);
  for (std::size_t arm = 0; arm < arms; ++arm) likely[arm] /= sum;
  return likely;
}

/// The arm that the network finds most probable.
std::size_t predict(const std::vector<double>& net, const Point& point) {
  const std::array<double, arms> likely = look(net, point);
  std::size_t best = 0;
  for (std::size_t arm = 1; arm < arms; ++arm) {
    if (likely[arm] > likely[best]) best = arm;
  }
  return best;
}

/// Makes a step of stochastic gradient descent. Returns the loss at this point.
double learn(std::vector<double>& net, const Point& point, double lr) {
  const std::array<double, arms> likely = look(net, point);
  for (std::size_t i = 0; i < net.size(); i += per_neuron) {
    const double active = activity(&net[i], point);
    double back = 0;
    for (std::size_t arm = 0; arm < arms; ++arm) {
      const double error = likely[arm] - (arm == point.arm ? 1.0 : 0.0);
      back += error * net[i + 3 + arm];
      net[i + 3 + arm] -= lr * error * active;
    }
    back *= lr * (1 - active * active);
    net[i] -= back * point.x;
    net[i + 1] -= back * point.y;
    net[i + 2] -= back;
  }
  return -std::log(likely[point.arm]);
}

int main(int argc, char** argv) {
  const auto session = flor::init(argc, argv);  // takes Flor's flags out of argv
  const auto epochs = flor::arg("epochs", 16);
  const auto lr = flor::arg("lr", 0.003);
  const auto neurons = flor::arg("neurons", 64);

  std::mt19937_64 random(7);
  const std::vector<Point> train = draw_points(9'000, 0.2, random);
  const std::vector<Point> test = draw_points(900, 0.2, random);
  std::normal_distribution<double> normal(0, 1);
  std::vector<double> net(static_cast<std::size_t>(neurons) * per_neuron);
  for (double& weight : net) weight = normal(random);
  const auto state = flor::checkpoints(net, random);  // what training changes

  for (int epoch : flor::loop("epoch", epochs)) {
    for ([[maybe_unused]] int step : flor::loop("train", 90)) {
      double loss = 0;
      for (int i = 0; i < 300; ++i) loss += learn(net, train[random() % train.size()], lr);
      flor::log("loss", loss / 300);
    }
    int correct = 0;
    for (const Point& point : test) correct += predict(net, point) == point.arm ? 1 : 0;
    const double accuracy = correct / static_cast<double>(test.size());
    std::printf("epoch %2d: accuracy %.3f\n", epoch, flor::log("accuracy", accuracy));
  }
}
