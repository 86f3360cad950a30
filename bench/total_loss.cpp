// Measures all training time that a checkpoint costs, including slower steps after it, while every
// core computes. Steps have a fixed amount of work on all cores; every fourth epoch is stored. The
// cost is the time that the epoch which takes the checkpoint and the one during which it is written
// need in excess of the two others, in units of a memcpy of the state.
//
//   ./total_loss --flor loss --flor_no_git --flor_home DIR --flor_every 4
//
// To see where the time goes, it also runs without the recorder: with the same copies and the same
// writer at the same priority and a fixed effort, or with the copies alone, or with neither.
//
//   ./total_loss --kwargs writer=full|fast|raw|copies|nothing threads=1
#include "base/background_thread.h"
#include "snapshot/buffers.h"
#include "snapshot/copy.h"

#include <flor/flor.h>
#include <flor/store/checkpoint.h>
#include <flor/store/store.h>

#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
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

/// Computes on all cores at once, like a step of a training. Its threads sleep between steps.
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

using Layers = std::vector<std::vector<float>>;

/// The work of the recorder for a checkpoint of such layers, in its simplest form.
class PlainRecorder {
 public:
  /// `writer`: full, fast, raw (an Effort) or copies (no writer).
  PlainRecorder(const std::string& writer, unsigned threads) {
    std::string name = std::filesystem::temp_directory_path() / "flor-bench-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot create " + name);
    home_ = name;
    store_ = flor::store::Store::open(home_ / "home", flor::store::OpenMode::create);
    if (writer != "copies") {
      using flor::store::Effort;
      const Effort effort = writer == "full"   ? Effort::full
                            : writer == "fast" ? Effort::fast
                                               : Effort::raw;
      writer_ = std::make_unique<flor::store::CheckpointWriter>(
          *store_, store_->catalog().add_run({}).id,
          flor::store::WriterOptions{threads, priority_, effort});
    }
    background_ = std::make_unique<flor::detail::Background>(priority_, [] {});
  }
  ~PlainRecorder() {
    background_.reset();
    writer_.reset();
    store_.reset();
    std::error_code error;
    std::filesystem::remove_all(home_, error);
  }
  PlainRecorder(const PlainRecorder&) = delete;
  PlainRecorder& operator=(const PlainRecorder&) = delete;

  void take(const Layers& layers, int epoch) {
    flor::store::Snapshot snapshot;
    for (std::size_t i = 0; i < layers.size(); ++i) {
      const std::size_t bytes = layers[i].size() * sizeof(float);
      auto buffer = buffers_.acquire(bytes, false);
      flor::detail::copy_past_caches(buffer.get(),
                                     reinterpret_cast<const std::byte*>(layers[i].data()), bytes);
      flor::store::SnapshotItem& item = snapshot.items.emplace_back();
      item.item = {std::to_string(i),
                   flor::store::ElementType::f32,
                   {static_cast<std::int64_t>(layers[i].size())},
                   bytes};
      item.content = std::move(buffer);
    }
    background_->post([this, epoch, taken = std::move(snapshot)] {
      if (writer_) writer_->write({flor::store::CheckpointKind::boundary, 0, epoch, ""}, taken);
    });
  }
  void drain() { background_->drain(); }
  double cpu_seconds() const { return priority_->cpu_seconds(); }

 private:
  std::filesystem::path home_;
  std::shared_ptr<flor::store::Store> store_;
  std::shared_ptr<flor::store::BackgroundPriority> priority_ =
      std::make_shared<flor::store::BackgroundPriority>();
  flor::detail::BufferPool buffers_;
  std::unique_ptr<flor::store::CheckpointWriter> writer_;
  std::unique_ptr<flor::detail::Background> background_;
};

}  // namespace

int main(int argc, char** argv) {
  // With the default thresholds, writing to fresh memory costs seven times as much as a copy, in
  // every program.
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, -1);

  auto session = flor::init(argc, argv);
  const int epochs = flor::arg("epochs", 60);
  const int steps = flor::arg("steps", 30);
  const int work = flor::arg("work", 20000);
  const int mib = flor::arg("mib", 50);
  const std::string writer = flor::arg("writer", std::string("recorder"));
  const int threads = flor::arg("threads", 1);
  Cores cores(std::max(1u, std::thread::hardware_concurrency()));

  Layers layers(static_cast<std::size_t>(mib));
  for (std::size_t i = 0; i < layers.size(); ++i) {
    layers[i].resize((std::size_t{1} << 20) / sizeof(float));
    for (std::size_t j = 0; j < layers[i].size(); ++j) {
      layers[i][j] = 1e-3f * static_cast<float>((j * 2654435761u + i) % 100003u);
    }
  }
  const auto state = flor::checkpoints(flor::named("layers", layers));

  std::unique_ptr<PlainRecorder> recorder;
  if (writer != "recorder" && writer != "nothing") {
    recorder = std::make_unique<PlainRecorder>(writer, static_cast<unsigned>(threads));
  }

  Layers copies = layers;
  std::vector<double> background;  ///< processor time of the background thread for each checkpoint
  double used = 0;
  // Seconds of each four epochs, so that a machine that is slower for a while changes little.
  std::vector<double> copy, taking, writing, others, lost;
  Clock::time_point began = Clock::now();
  for (int epoch : flor::loop("epoch", epochs)) {
    // An epoch is measured from the end of the last epoch's steps to the end of its own steps, so
    // that it includes the boundary before it and what that boundary leaves to do.
    for ([[maybe_unused]] int step : flor::loop("train", steps)) {
      cores.step(work);
      for (auto& layer : layers) {
        for (std::size_t i = 0; i < layer.size(); i += 16) layer[i] *= 1.0001f;
      }
    }
    const int phase = epoch % 4;  // an epoch of phase 3 is stored at the end of its steps
    if (recorder && phase == 3) recorder->take(layers, epoch);
    const double took = ms_since(began);
    began = Clock::now();
    if (epoch >= 7) (phase == 3 ? taking : phase == 0 ? writing : others).push_back(took);
    if (phase == 2) {  // nothing is being written in this phase
      for (std::size_t i = 0; i < layers.size(); ++i) {
        std::memcpy(copies[i].data(), layers[i].data(), layers[i].size() * sizeof(float));
      }
      copy.push_back(ms_since(began));
      if (recorder) {
        recorder->drain();
        const double now = recorder->cpu_seconds() * 1e3;
        background.push_back(now - std::exchange(used, now));
      }
      began = Clock::now();
    }
  }
  // Epoch 7 takes the first checkpoint that counts.
  const std::size_t rounds = std::min({taking.size(), writing.size(), others.size() / 2});
  std::vector<double> memcpys;
  for (std::size_t i = 0; i < rounds; ++i) {
    lost.push_back(taking[i] + writing[i] - others[2 * i] - others[2 * i + 1]);
    memcpys.push_back(lost.back() / copy[i + 2]);
  }
  std::printf("state %d MiB, %u cores, recording: %s\n", mib, std::thread::hardware_concurrency(),
              flor::recording() ? "yes" : "no");
  std::printf("one memcpy of it              %8.2f ms   1\n", median(copy));
  std::printf("an epoch                      %8.2f ms\n", median(others));
  std::printf("  that takes a checkpoint     %8.2f ms\n", median(taking));
  std::printf("  while it is being written   %8.2f ms\n", median(writing));
  if (recorder) std::printf("the background's processor   %8.2f ms\n", median(background));
  std::printf("lost per checkpoint           %8.2f ms   %.2f\n", median(lost), median(memcpys));
}
