// Facts about this process that a run records.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace flor::detail {

std::int64_t now_us();  ///< Unix time, microseconds
std::filesystem::path executable();
/// The arguments in a file such as /proc/self/cmdline; none if it cannot be read.
std::vector<std::string> command_line(const std::filesystem::path& file);
/// The digest of this program as it is loaded: of the executable, and of the shared objects that do
/// not belong to the system. Without such objects it is the digest of the executable alone.
std::string program_digest();
/// Restricts this process and all of its threads to these cores. Called after the libraries are
/// loaded, so that the sizes of their thread pools, on which results depend, do not change.
void run_on_cores(const std::vector<int>& cores);
/// The facts that an exact replay depends on: host, thread settings, library versions.
std::map<std::string, std::string> environment();
/// The name of the processor, as "AMD EPYC 7763"; the machine's architecture where the system does
/// not tell.
std::string processor();
/// The environment at the first call, which is in flor::init, where a recording notes it, too.
/// Programs may change settings later.
const std::map<std::string, std::string>& initial_environment();
struct ChangedFact {
  std::string name, before, after;
};
/// Restores the default random generators from an environment, so that a program that does not seed
/// them draws the same numbers as in the recording.
void put_back_generators(const std::map<std::string, std::string>& environment);

/// The facts that differ, among those that both environments have and results depend on: libraries,
/// CPU, GPUs. The likeliest cause of a different result comes first.
std::vector<ChangedFact> changed_facts(const std::map<std::string, std::string>& then,
                                       const std::map<std::string, std::string>& now);
/// For example "410 ms", "3.2 s" or "5 min 10 s".
std::string print_seconds(double seconds);

}  // namespace flor::detail
