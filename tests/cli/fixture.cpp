// Runs the real `flor` on a store of the test's own.
#include "cli/fixture.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <sstream>
#include <stdexcept>

namespace flor::testing {
namespace {

using store::CheckpointKind;

std::string read_all(int descriptor) {
  std::string text;
  std::array<char, 65536> buffer;
  ssize_t count = 0;
  while ((count = ::read(descriptor, buffer.data(), buffer.size())) > 0) {
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
  return text;
}

std::string read_file(const std::filesystem::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) throw std::runtime_error("cannot open " + path.string());
  std::string text = read_all(descriptor);
  ::close(descriptor);
  return text;
}

/// Starts FLOR_CLI with these descriptors as its stdout and stderr.
pid_t start(const std::vector<std::string>& arguments,
            const std::map<std::string, std::string>& environment, const std::string& directory,
            int out, int err) {
  std::vector<std::string> words{FLOR_CLI};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<std::string> settings;
  for (const auto& [name, value] : environment) settings.push_back(name + "=" + value);
  std::vector<char*> argv, envp;
  for (std::string& word : words) argv.push_back(word.data());
  for (std::string& setting : settings) envp.push_back(setting.data());
  argv.push_back(nullptr);
  envp.push_back(nullptr);
  const pid_t pid = ::fork();
  if (pid < 0) throw std::runtime_error("cannot fork");
  if (pid > 0) return pid;
  ::dup2(out, 1);
  ::dup2(err, 2);
  if (::chdir(directory.c_str()) == 0) ::execve(argv[0], argv.data(), envp.data());
  ::_exit(127);
}

int wait_for(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) throw std::runtime_error("cannot wait");
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

store::Snapshot snapshot(int seed) {
  constexpr std::size_t kCount = 256;
  const std::size_t size = kCount * sizeof(float);
  auto content = std::shared_ptr<std::byte[]>(new std::byte[size]);
  for (std::size_t i = 0; i < kCount; ++i) {
    const float number = static_cast<float>(i) * 0.25f + static_cast<float>(seed);
    std::memcpy(content.get() + i * sizeof(float), &number, sizeof number);
  }
  store::Snapshot result;
  result.items.push_back({{"model/weight", store::ElementType::f32, {16, 16}, size},
                          store::Content(content, content.get())});
  return result;
}

}  // namespace

Json Outcome::json() const {
  Json result = Json::parse(out, nullptr, false);
  EXPECT_FALSE(result.is_discarded()) << "not JSON: " << out << "\nstderr: " << err;
  return result.is_discarded() ? Json::object() : result;
}

std::vector<std::string> Outcome::lines() const {
  std::vector<std::string> result;
  std::istringstream stream(out);
  for (std::string line; std::getline(stream, line);) result.push_back(line);
  return result;
}

store::Store& CliTest::store() {
  if (!store_) store_ = store::Store::open(home(), store::OpenMode::create);
  return *store_;
}

store::Value CliTest::value(std::string name, double number, std::int64_t epoch,
                            std::int64_t step) {
  store::Value result;
  result.name = std::move(name);
  result.place.path = epoch < 0 ? "" : step < 0 ? "epoch" : "epoch/train";
  result.place.epoch = epoch;
  result.place.step = step;
  result.value = number;
  return result;
}

store::Run CliTest::record(const RunPlan& plan) {
  store::NewRun start;
  start.experiment = plan.experiment;
  start.started_us = plan.started_us;
  start.commit = plan.commit;
  start.repository = plan.repository.empty() ? work_.string() : plan.repository;
  start.directory = work_.string();
  start.program = (work_ / "train").string();
  start.program_digest = "00ff";
  start.command = {"./train", "--flor", plan.experiment};
  start.environment = {{"host", "node1"}, {"threads", "2"}};
  const store::Run run = catalog().add_run(start, {}, plan.origin);
  for (const store::Argument& argument : plan.arguments) catalog().add_argument(run.id, argument);
  store::CheckpointWriter writer(store(), run.id);
  double loss = plan.loss;
  for (int epoch = 0; epoch < plan.epochs; ++epoch, loss /= 2) {
    std::vector<store::Value> values;
    for (int step = 0; step < plan.steps; ++step) {
      values.push_back(value("loss", loss + 0.1 * step, epoch, step));
    }
    values.push_back(value("accuracy", 1 - loss / 4, epoch));
    catalog().add_values(run.id, values);
    writer.write({CheckpointKind::loop_end, 0, epoch, "train"}, snapshot(epoch));
    writer.write({CheckpointKind::boundary, 0, epoch + 1, ""}, snapshot(epoch));
    catalog().add_execution(run.id, {0, epoch, "train", plan.steps, false, 0.5});
    catalog().add_iteration(run.id, {0, epoch, 0.75, 0.0015});
  }
  store::Value note;
  note.name = "note";
  note.type = store::ValueType::text;
  note.value = std::string("all well");
  catalog().add_values(run.id, std::vector{note});
  catalog().put_main_loop(run.id, {0, "epoch", 0, plan.epochs, true, false});
  catalog().finish_run(run.id, plan.started_us + 90'000'000, false, "");
  return *catalog().run(run.id);
}

void CliTest::replay(const store::Run& run, int epochs, int steps) {
  store::NewReplay start;
  start.run = run.id;
  start.started_us = run.start.started_us + 3600'000'000;
  start.last_epoch = epochs - 1;
  start.probes = "train";
  start.command = {"./train", "--replay_flor"};
  const std::int64_t replay = catalog().add_replay(start);
  std::vector<store::Value> values;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    for (int step = 0; step < steps; ++step) {
      values.push_back(value("gradient", 0.5 * epoch + step, epoch, step));
      values.back().replay = replay;
    }
    values.push_back(value("confusion", 0, epoch));
    values.back().type = store::ValueType::table;
    values.back().value = fmt::format(
        R"({{"columns":["cat","dog"],"rows":[[{},2],[3.5,4]],"row_names":["cat","dog"]}})", epoch);
    values.back().replay = replay;
  }
  catalog().add_values(run.id, values);
  store::ReplayResult result;
  result.finished_us = start.started_us + 5'000'000;
  result.verdict = store::Verdict::verified;
  result.values_compared = epochs * (steps + 1);
  result.states_compared = epochs;
  result.values_found = static_cast<std::int64_t>(values.size());
  catalog().finish_replay(replay, result);
}

Outcome CliTest::bare(std::vector<std::string> arguments) {
  // Files instead of pipes: nothing has to be read while the command runs.
  const std::filesystem::path out = directory_ / "stdout", err = directory_ / "stderr";
  const int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC;
  const int out_file = ::open(out.c_str(), flags, 0600),
            err_file = ::open(err.c_str(), flags, 0600);
  const pid_t pid = start(arguments, environment_, work_.string(), out_file, err_file);
  ::close(out_file);
  ::close(err_file);
  Outcome outcome;
  outcome.status = wait_for(pid);
  outcome.out = read_file(out);
  outcome.err = read_file(err);
  return outcome;
}

Outcome CliTest::flor(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"--home", home().string()});
  return bare(std::move(arguments));
}

int CliTest::flor_without_reader(std::vector<std::string> arguments) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("cannot make a pipe");
  ::close(ends[0]);
  const int status = flor_into(ends[1], std::move(arguments));
  ::close(ends[1]);
  return status;
}

int CliTest::flor_into(int descriptor, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"--home", home().string()});
  return wait_for(start(arguments, environment_, work_.string(), descriptor, 2));
}

}  // namespace flor::testing
