// Without libtorch: centres move until none does any more.
#include <array>
#include <cstddef>
#include <cstdio>
#include <random>
#include <vector>

namespace {

constexpr std::size_t kCentres = 3;

std::vector<double> make_points() {
  std::minstd_rand random(5);
  std::vector<double> points;
  for (int i = 0; i < 240; ++i) points.push_back(static_cast<double>(random() % 1000) / 100.0);
  return points;
}

}  // namespace

int main(void)
{
  const std::vector<double> points = make_points();
  std::array<double, kCentres> centres{0.5, 1.0, 1.5};
  double moved = 1;
  int rounds = 0;
  while (moved > 1e-9)
  {
    std::array<double, kCentres> sum{};
    std::array<int, kCentres> count{};
    for (double point : points)
    {
      std::size_t best = 0;
      for (std::size_t c = 1; c < kCentres; ++c)
      {
        if (std::abs(point - centres[c]) < std::abs(point - centres[best])) best = c;
      }
      sum[best] += point;
      ++count[best];
    }
    moved = 0;
    for (std::size_t c = 0; c < kCentres; ++c)
    {
      const double next = count[c] > 0 ? sum[c] / count[c] : centres[c];
      moved += std::abs(next - centres[c]);
      centres[c] = next;
    }
    // here: centres[1]
    ++rounds;
    std::printf("round %d: moved %.6f\n", rounds, moved);
  }
  std::printf("%d rounds, centres %.4f %.4f %.4f\n", rounds, centres[0], centres[1], centres[2]);
}
