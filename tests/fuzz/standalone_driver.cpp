// Runs a fuzz target without libFuzzer, with any compiler: once over each file of the directories
// that are named; and with `-s SECONDS` for that long over changed ones, which are the same every
// time. Each of these lies in `crash-input-PID` in the working directory while it is tried.
#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using Input = std::vector<std::uint8_t>;

/// A few of the changes that libFuzzer makes.
Input mutated(const std::vector<Input>& corpus, std::mt19937& random) {
  Input input = corpus[random() % corpus.size()];
  for (unsigned changes = 1 + random() % 4; changes > 0; --changes) {
    const std::size_t at = input.empty() ? 0 : random() % input.size();
    switch (random() % 6) {
      case 0:
        if (!input.empty()) input[at] = static_cast<std::uint8_t>(input[at] ^ (1u << random() % 8));
        break;
      case 1:
        if (!input.empty()) input[at] = static_cast<std::uint8_t>(random());
        break;
      case 2:
        input.insert(input.begin() + static_cast<std::ptrdiff_t>(at), 1 + random() % 8,
                     static_cast<std::uint8_t>(random()));
        break;
      case 3:
        input.resize(at);
        break;
      case 4: {  // a piece of another one
        const Input& other = corpus[random() % corpus.size()];
        if (other.empty()) break;
        const std::size_t from = random() % other.size();
        const std::size_t size = 1 + random() % (other.size() - from);
        input.insert(input.begin() + static_cast<std::ptrdiff_t>(at),
                     other.begin() + static_cast<std::ptrdiff_t>(from),
                     other.begin() + static_cast<std::ptrdiff_t>(from + size));
        break;
      }
      default:
        for (std::size_t i = at; i < input.size() && i < at + 4; ++i) {
          input[i] = random() % 2 ? 0xFF : 0;
        }
    }
  }
  constexpr std::size_t kLongest = 1 << 16;
  if (input.size() > kLongest) input.resize(kLongest);
  return input;
}

}  // namespace

int main(int argc, char** argv) {
  namespace fs = std::filesystem;
  std::vector<Input> corpus;
  double seconds = 0;
  for (int i = 1; i < argc; ++i) {
    if (std::string(argv[i]) == "-s" && i + 1 < argc) {
      seconds = std::atof(argv[++i]);
      continue;
    }
    for (const auto& entry : fs::recursive_directory_iterator(argv[i])) {
      if (!entry.is_regular_file()) continue;
      std::ifstream file(entry.path(), std::ios::binary);
      corpus.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
      std::printf("%s\n", entry.path().c_str());
      std::fflush(stdout);  // names the culprit should the next line crash
      LLVMFuzzerTestOneInput(corpus.back().data(), corpus.back().size());
    }
  }
  std::printf("%zu inputs\n", corpus.size());
  if (corpus.empty()) return 1;
  std::mt19937 random(4711);
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  std::size_t count = 0;
  const std::string name = "crash-input-" + std::to_string(::getpid());
  const int last = seconds > 0 ? ::open(name.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0666) : -1;
  for (; std::chrono::steady_clock::now() < end; ++count) {
    const Input input = mutated(corpus, random);
    if (::pwrite(last, input.data(), input.size(), 0) < 0 ||
        ::ftruncate(last, static_cast<off_t>(input.size())) != 0) {
      return 1;
    }
    LLVMFuzzerTestOneInput(input.data(), input.size());
  }
  if (last >= 0) {
    ::close(last);
    ::unlink(name.c_str());
  }
  std::printf("%zu changed inputs\n", count);
  return 0;
}
