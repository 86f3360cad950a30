// All training time that is lost by a checkpoint, the slower steps after it included, while every
// core computes: steps of a fixed amount of work on all cores; every fourth epoch is stored. What
// the epoch that takes the checkpoint and the one that runs while it is written take more than the
// two others, in memcpys of the state.
//
//   ./total_loss --flor loss --flor_no_git --flor_home DIR --flor_every 4
#include <flor/flor.h>

#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

/// Computes on all cores at once, as a step of a training does; its threads sleep between.
class Cores {
 public:
  explicit Cores(unsigned count) {
    for (unsigned i = 1; i < count; ++i)
      threads_.emplace_back([this](std::stop_token s) { run(s); });
  }
  ~Cores() {
    for (auto& thread : threads_) thread.request_stop();
  }
  Cores(const Cores&) = delete;
  Cores& operator=(const Cores&) = delete;

  void step(int work) {
    {
      const std::lock_guard lock(mutex_);
      work_ = work;
      ++round_;
      unfinished_ = threads_.size();
    }
    changed_.notify_all();
    compute(work);
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return unfinished_ == 0; });
  }

 private:
  void compute(int work) {
    double x = 0.5;
    for (int i = 0; i < work * 250; ++i) x = x * 0.999999 + 1e-7;
    sink_ = x;
  }
  void run(const std::stop_token& stop) {
    std::uint64_t seen = 0;
    std::unique_lock lock(mutex_);
    while (changed_.wait(lock, stop, [&] { return round_ != seen; })) {
      seen = round_;
      const int work = work_;
      lock.unlock();
      compute(work);
      lock.lock();
      if (--unfinished_ == 0) changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable_any changed_;
  int work_ = 0;
  std::uint64_t round_ = 0;
  std::size_t unfinished_ = 0;
  static inline thread_local volatile double sink_ = 0;
  std::vector<std::jthread> threads_;
};

}  // namespace

int main(int argc, char** argv) {
  // Fresh memory costs seven times a copy with the default thresholds, in every program.
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, -1);

  auto session = flor::init(argc, argv);
  const int epochs = flor::arg("epochs", 60);
  const int steps = flor::arg("steps", 30);
  const int work = flor::arg("work", 20000);
  const int mib = flor::arg("mib", 50);
  Cores cores(std::max(1u, std::thread::hardware_concurrency()));

  std::vector<std::vector<float>> layers(static_cast<std::size_t>(mib));
  for (std::size_t i = 0; i < layers.size(); ++i) {
    layers[i].resize((std::size_t{1} << 20) / sizeof(float));
    for (std::size_t j = 0; j < layers[i].size(); ++j) {
      layers[i][j] = 1e-3f * static_cast<float>((j * 2654435761u + i) % 100003u);
    }
  }
  const auto state = flor::checkpoints(flor::named("layers", layers));

  std::vector<std::vector<float>> copies = layers;
  std::vector<double> copy, taking, writing, others;
  Clock::time_point began = Clock::now();
  for (int epoch : flor::loop("epoch", epochs)) {
    // From the end of the last epoch's steps to the end of this one's: the boundary of the last
    // epoch and what it leaves behind belong to this one.
    for ([[maybe_unused]] int step : flor::loop("train", steps)) {
      cores.step(work);
      for (auto& layer : layers) {
        for (std::size_t i = 0; i < layer.size(); i += 16) layer[i] *= 1.0001f;
      }
    }
    const double took = ms_since(began);
    began = Clock::now();
    const int phase = epoch % 4;  // stored at the end of the steps of phase 3
    if (epoch >= 8) (phase == 3 ? taking : phase == 0 ? writing : others).push_back(took);
    if (phase == 2) {  // while nothing is being written
      for (std::size_t i = 0; i < layers.size(); ++i) {
        std::memcpy(copies[i].data(), layers[i].data(), layers[i].size() * sizeof(float));
      }
      copy.push_back(ms_since(began));
      began = Clock::now();
    }
  }
  const double unit = median(copy);
  const double loss = median(taking) + median(writing) - 2 * median(others);
  std::printf("state %d MiB, %u cores, recording: %s\n", mib, std::thread::hardware_concurrency(),
              flor::recording() ? "yes" : "no");
  std::printf("one memcpy of it              %8.2f ms   1\n", unit);
  std::printf("an epoch                      %8.2f ms\n", median(others));
  std::printf("  that takes a checkpoint     %8.2f ms\n", median(taking));
  std::printf("  while it is being written   %8.2f ms\n", median(writing));
  std::printf("lost per checkpoint           %8.2f ms   %.2f\n", loss, loss / unit);
}
