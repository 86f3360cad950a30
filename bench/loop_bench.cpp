// Measures what a wrapped loop and flor::log cost the training thread, without Flor's flags and
// when recording.
#include <flor/flor.h>

#include <benchmark/benchmark.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace {

constexpr int kIterations = 1'000'000;

void PlainLoop(benchmark::State& state) {
  for (auto _ : state) {
    for (int i = 0; i < kIterations; ++i) benchmark::DoNotOptimize(i);
  }
  state.SetItemsProcessed(state.iterations() * kIterations);
}

void WrappedLoop(benchmark::State& state) {
  for (auto _ : state) {
    for (int i : flor::loop("train", kIterations)) benchmark::DoNotOptimize(i);
  }
  state.SetItemsProcessed(state.iterations() * kIterations);
}

void Log(benchmark::State& state) {
  double value = 0;
  for (auto _ : state) flor::log("loss", value += 1);
  state.SetItemsProcessed(state.iterations());
}

/// Logs values in steps without a pause: when a million of them wait to be written, the program
/// waits, too.
void LogTenMillionOfSteps(benchmark::State& state) {
  for (auto _ : state) {
    for (int epoch : flor::loop("epoch", 10)) {
      for (int i : flor::loop("train", kIterations)) flor::log("loss", i * 0.37 + epoch);
    }
  }
  state.SetItemsProcessed(state.iterations() * 10 * kIterations);
}

/// Logs as many values in a main loop, where each iteration costs more than its value.
void LogAMillionInALoop(benchmark::State& state) {
  for (auto _ : state) {
    for (int i : flor::loop("train", kIterations)) flor::log("loss", i * 0.5);
  }
  state.SetItemsProcessed(state.iterations() * kIterations);
}

void LogText(benchmark::State& state) {
  const std::string text = "a line of some length, as people log";
  for (auto _ : state) flor::log("note", text);
}

void run_as(const char* what) {
  benchmark::ClearRegisteredBenchmarks();
  const std::string suffix = std::string("/") + what;
  benchmark::RegisterBenchmark(("PlainLoop" + suffix).c_str(), PlainLoop);
  benchmark::RegisterBenchmark(("WrappedLoop" + suffix).c_str(), WrappedLoop);
  benchmark::RegisterBenchmark(("Log" + suffix).c_str(), Log)->Iterations(1'000'000);
  benchmark::RegisterBenchmark(("LogText" + suffix).c_str(), LogText)->Iterations(100'000);
  benchmark::RegisterBenchmark(("LogTenMillionOfSteps" + suffix).c_str(), LogTenMillionOfSteps)
      ->Iterations(1)
      ->UseRealTime();
  benchmark::RegisterBenchmark(("LogAMillionInALoop" + suffix).c_str(), LogAMillionInALoop)
      ->Iterations(2)
      ->UseRealTime();
  benchmark::ConsoleReporter reporter;
  benchmark::RunSpecifiedBenchmarks(&reporter);
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  run_as("off");

  std::string home = std::filesystem::temp_directory_path() / "flor-bench-XXXXXX";
  if (!::mkdtemp(home.data())) return 1;
  std::vector<std::string> words = {argv[0],         "--flor",      "bench",
                                    "--flor_no_git", "--flor_home", home};
  std::vector<char*> flags;
  for (std::string& word : words) flags.push_back(word.data());
  flags.push_back(nullptr);
  int count = static_cast<int>(words.size());
  {
    auto session = flor::init(count, flags.data());
    for ([[maybe_unused]] int epoch : flor::loop("epoch", 1)) run_as("recording");
  }
  std::filesystem::remove_all(home);
}
