// Without libtorch: the parameters are numbers, and a function takes a step with them.
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

struct Point {
  double x, y;
};

void step(double& slope, double& offset, const Point& point, double rate) {
  const double error = slope * point.x + offset - point.y;
  slope -= rate * error * point.x;
  offset -= rate * error;
}

int main() {
  std::mt19937 random(7);
  std::normal_distribution<double> noise(0, 0.1);
  std::uniform_int_distribution<int> choose(0, 99);
  std::vector<Point> points;
  for (int i = 0; i < 100; ++i) {
    const double x = i / 50.0 - 1;
    points.push_back({x, 3 * x + 1 + noise(random)});
  }

  double slope = 0, offset = 0, rate = 0.05;
  double last = 0;
  for (int epoch = 0; epoch < 5; ++epoch) {
    for (int i = 0; i < 200; ++i) {
      step(slope, offset, points[static_cast<std::size_t>(choose(random))], rate);
      // here: slope
    }
    double loss = 0;
    for (const Point& point : points) loss += std::pow(slope * point.x + offset - point.y, 2);
    rate *= 0.9;
    const double gain = last - loss;
    last = loss;
    std::printf("epoch %d: loss %.6f, gain %.6f\n", epoch, loss, gain);
  }
}
