#include "machine/machine_reader.h"

#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

namespace flor::detail {
namespace {

namespace fs = std::filesystem;

/// Empty where there is no such file.
std::string content_of_proc(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// The numbers that follow each other from the beginning of the text.
std::vector<double> numbers_in(std::string_view text) {
  std::vector<double> numbers;
  while (true) {
    const std::size_t begin = text.find_first_not_of(" \t");
    if (begin == text.npos) return numbers;
    text.remove_prefix(begin);
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc()) return numbers;
    numbers.push_back(number);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  }
}

/// The number after a word that begins a line, or stands in one: "read_bytes: 4096".
std::optional<double> number_after(std::string_view text, std::string_view word) {
  const std::size_t at = text.find(word);
  if (at == text.npos) return std::nullopt;
  const std::string_view rest = text.substr(at + word.size());
  const auto numbers = numbers_in(rest.substr(0, rest.find('\n')));
  return numbers.empty() ? std::nullopt : std::optional(numbers.front());
}

template <typename Use>
void for_each_line(std::string_view text, const Use& use) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    use(line);
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
}

double ticks_a_second() { return static_cast<double>(::sysconf(_SC_CLK_TCK)); }

}  // namespace

/// The number of cores of the machine.
unsigned MachineReader::read_cores(std::vector<Measure>& measures) const {
  const std::string stat = content_of_proc(proc_ / "stat");
  unsigned cores = 0;
  double busy = 0;
  for_each_line(stat, [&](std::string_view line) {
    if (!line.starts_with("cpu")) return;
    if (!line.starts_with("cpu ")) {
      ++cores;
      return;
    }
    // user nice system idle iowait irq softirq steal; guests are in user already.
    const auto ticks = numbers_in(line.substr(3));
    for (std::size_t i = 0; i < std::min<std::size_t>(ticks.size(), 8); ++i) {
      if (i != 3 && i != 4) busy += ticks[i];
    }
  });
  if (cores > 0) measures.push_back({"host_cpu", 100 * busy / ticks_a_second() / cores, true});
  return cores;
}

void MachineReader::read_process(std::vector<Measure>& measures, unsigned cores) const {
  const std::string stat = content_of_proc(proc_ / "self/stat");
  const std::size_t name_end = stat.rfind(')');  // the name may have any characters
  if (name_end != stat.npos && name_end + 4 <= stat.size()) {
    const auto fields = numbers_in(std::string_view(stat).substr(name_end + 4));
    // From the fourth field on, as proc(5) counts them.
    constexpr std::size_t kUser = 10, kSystem = 11, kThreads = 16, kResident = 20;
    if (fields.size() > kResident) {
      const double seconds = (fields[kUser] + fields[kSystem]) / ticks_a_second();
      if (cores > 0) measures.push_back({"cpu", 100 * seconds / cores, true});
      measures.push_back(
          {"memory", fields[kResident] * static_cast<double>(::sysconf(_SC_PAGESIZE))});
      measures.push_back({"threads", fields[kThreads]});
    }
  }
  const std::string io = content_of_proc(proc_ / "self/io");
  if (const auto bytes = number_after(io, "\nread_bytes:")) {
    measures.push_back({"read", *bytes, true});
  }
  if (const auto bytes = number_after(io, "\nwrite_bytes:")) {
    measures.push_back({"written", *bytes, true});
  }
}

void MachineReader::read_host(std::vector<Measure>& measures) const {
  const std::string memory = content_of_proc(proc_ / "meminfo");
  const auto total = number_after(memory, "MemTotal:");
  const auto available = number_after(memory, "MemAvailable:");
  if (total && available && *total > 0) {
    measures.push_back({"host_memory", 100 * (1 - *available / *total)});
  }
  for (const auto& [file, name] :
       {std::pair("cpu", "cpu_pressure"), {"memory", "memory_pressure"}, {"io", "io_pressure"}}) {
    // "some avg10=0.00 avg60=0.00 avg300=0.00 total=12345", in microseconds
    const auto waited = number_after(content_of_proc(proc_ / "pressure" / file), "total=");
    if (waited) measures.push_back({name, 100e-6 * *waited, true});
  }
  double received = 0, sent = 0;
  bool has_network = false;
  for_each_line(content_of_proc(proc_ / "net/dev"), [&](std::string_view line) {
    const std::size_t colon = line.find(':');
    const std::size_t name = line.find_first_not_of(' ');
    if (colon == line.npos || line.substr(name, colon - name) == "lo") return;
    const auto counters = numbers_in(line.substr(colon + 1));
    constexpr std::size_t kSent = 8;
    if (counters.size() <= kSent) return;
    received += counters[0];
    sent += counters[kSent];
    has_network = true;
  });
  if (has_network) {
    measures.push_back({"received", received, true});
    measures.push_back({"sent", sent, true});
  }
  struct statvfs disk {};
  if (::statvfs(home_.c_str(), &disk) == 0) {
    measures.push_back(
        {"disk_free", static_cast<double>(disk.f_bavail) * static_cast<double>(disk.f_frsize)});
  }
}

std::vector<Measure> MachineReader::read() {
  if (!has_looked_) {
    has_looked_ = true;
    gpus_ = Nvml::open();
  }
  std::vector<Measure> measures;
  const unsigned cores = read_cores(measures);
  read_process(measures, cores);
  read_host(measures);
  if (gpus_) gpus_->read(measures);
  return measures;
}

}  // namespace flor::detail
