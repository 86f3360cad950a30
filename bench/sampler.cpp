// Measures the sampling of an epoch: CPU time and memory until the first sample, samples per
// second, and resuming at 90 %. Used by sampler.sh, which compares it with Python's
// DistributedSampler.
#include <flor/data/sample_stream.h>

#include <sys/resource.h>
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

double peak_mb() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1e3;
}

/// CPU time: the program has a single thread, and the machine may be busy.
class Clock {
 public:
  double seconds() const { return now() - begin_; }

 private:
  static double now() {
    timespec time{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  }
  double begin_ = now();
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "sampler none|torch|keyed SAMPLES\n");
    return 2;
  }
  const std::string kind = argv[1];
  const flor::SampleSetup setup{.samples = std::strtoull(argv[2], nullptr, 10),
                                .shuffle = flor::parse_shuffle(kind),
                                .seed = 1};
  const double before = peak_mb();
  const Clock construct;
  flor::SampleStream stream(setup, 8, 0);
  stream.begin();
  std::size_t sum = stream.next(1)->at(0);
  const double first = construct.seconds();
  stream.advance();

  const Clock iterate;
  while (const auto batch = stream.next(256)) {
    for (const std::size_t sample : *batch) sum += sample;
    stream.advance();
    if (10 * stream.consumed() >= 9 * stream.size()) break;
  }
  const double rate = static_cast<double>(stream.consumed()) / iterate.seconds();

  const std::string state = stream.print();
  const Clock resume;
  stream.parse(state);
  stream.begin();
  sum += stream.next(1)->at(0);
  std::printf(
      "flor %-5s  %8.4f s to the first sample, %7.1f MB, %6.1f M samples/s, resume %.4f ms"
      "  (%zu)\n",
      kind.c_str(), first, peak_mb() - before, rate / 1e6, 1e3 * resume.seconds(), sum % 10);
}
