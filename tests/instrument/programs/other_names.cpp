// Without libtorch: state that an epoch changes under other names than its own, and values whose
// new ones other names read the old ones for.
#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <map>
#include <random>
#include <utility>
#include <vector>

#define SLOWLY(value) (0.95 * slow + 0.05 * (value))

static double pull(double from, double to) { return from + 0.3 * (to - from); }

int main() {
  std::minstd_rand random(7);
  std::vector<double> weights(4, 1.0), speeds(4, 0.0);
  std::map<int, double> sums{{0, 0.0}, {1, 0.0}};
  std::pair<double, int> seen{0.0, 0};
  double smooth = 0, slow = 0, low = 9, high = -9;
  auto averaged = [&](double value) { return 0.9 * smooth + 0.1 * value; };
  double& total = seen.first;
  for (int epoch = 0; epoch < 8; ++epoch) {
    double error = 0;
    for (double& weight : weights) {
      const double target = static_cast<double>(random() % 1000) / 1000.0;
      error += (weight - target) * (weight - target);
      weight = pull(weight, target);
    }
    std::for_each(speeds.begin(), speeds.end(), [&](double& speed) { speed += 0.1 * error; });
    for (auto& [key, sum] : sums) sum += error * (key + 1);
    auto found = sums.find(epoch % 2);
    found->second *= 0.5;
    auto& [ignored, count] = seen;
    ++count;
    total += error;
    smooth = averaged(error);
    slow = SLOWLY(error);
    double& bound = epoch % 3 == 0 ? low : high;
    bound = 0.5 * bound + error;
    // here: smooth + slow + speeds[1] + sums[0] + total
    std::printf("epoch %d: error %.6f, smooth %.6f, slow %.6f\n", epoch, error, smooth, slow);
    std::printf("%.6f %.6f %.6f\n", low, high, sums[0]);
  }
  std::printf("%.6f %.6f %.6f %d\n", weights[0], speeds[3], seen.first, seen.second);
}
