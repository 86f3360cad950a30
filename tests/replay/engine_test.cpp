// `flor replay` with workers in seats that something else starts: exact, and each value once,
// whoever is killed.
#include "file/line_log.h"
#include "replay/replay_command.h"

#include <flor/store/checkpoint.h>

#include <sys/stat.h>

#include <csignal>
#include <set>

namespace flor::testing {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

/// Seats on this machine, started by a script.
class ReplayInSeats : public ReplayCommand {
 protected:
  /// Starts `count` seats, after `before`, and waits for them.
  std::string launcher(int count, const std::string& before = "") const {
    const auto path = bench_.home().parent_path() / ("launch" + std::to_string(count) + ".sh");
    std::ofstream(path) << "#!/bin/sh\n"
                        << before << "\nfor i in $(seq " << count << "); do \"$@\" & done\nwait\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return "run:" + path.string();
  }
  Words in_seats(int count, const Words& arguments = {}) const {
    return Words{"test", "--engine", launcher(count), "--workers", std::to_string(count)} +
           arguments;
  }
  ProcessOptions patient(const std::string& seconds) const {
    ProcessOptions options = bench_.options();
    options.environment["FLOR_PATIENCE"] = seconds;
    return options;
  }
  std::filesystem::path segments() const { return bench_.home() / "segments"; }
  std::vector<std::filesystem::path> sessions() const {
    std::vector<std::filesystem::path> found;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(segments(), error)) {
      found.push_back(entry.path());
    }
    return found;
  }
  /// Of seats in this test's store.
  std::vector<pid_t> seats() const {
    std::vector<pid_t> found;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      const std::string name = entry.path().filename().string();
      if (name.find_first_not_of("0123456789") != name.npos) continue;
      // A process may end while it is looked at; an iterator over the file would throw then.
      std::ostringstream text;
      text << std::ifstream(entry.path() / "cmdline", std::ios::binary).rdbuf();
      const std::string line = text.str();
      if (line.find(std::string("__seat") + '\0' + segments().string()) == line.npos) continue;
      if (line.starts_with("/bin/sh") || line.starts_with("sh")) continue;
      found.push_back(static_cast<pid_t>(std::stol(name)));
    }
    return found;
  }
  /// How long a slow recording takes for each epoch.
  void record_slowly(int epochs) {
    bench_.record("trainer", {"--kwargs", "epochs=" + std::to_string(epochs), "pause_ms=25"});
  }
  Words slowly(const std::string& engine, int workers) const {
    return {"test",    "--engine", engine, "--workers",           std::to_string(workers),
            "--probe", "train",    "--",   other("trainer_inner")};
  }
};

TEST_F(ReplayInSeats, FindsWhatOneProcessFindsEachValueOnce) {
  bench_.record("trainer");
  const auto alone = found_alone("trainer_inner", {"--flor_probe", "train"});
  for (const int seats : {1, 2, 5}) {
    bench_.record("trainer");
    const auto result = replay(in_seats(seats, {"--probe", "train", "--", other("trainer_inner")}));
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_THAT(result.out, AllOf(HasSubstr("verified: "), HasSubstr("executed train 6 times")));
    EXPECT_EQ(found(), alone) << seats << " seats";
    EXPECT_THAT(bench_.damage(), IsEmpty());
    EXPECT_THAT(sessions(), IsEmpty());
  }
  const auto again = replay(in_seats(2, {"--probe", "train", "--", other("trainer_inner")}));
  EXPECT_EQ(again.status, 0) << again.err;
  EXPECT_THAT(again.out, HasSubstr("nothing to do"));
}

TEST_F(ReplayInSeats, ContentsThatAreHandedInAreThoseThatOneProcessStores) {
  const auto contents = [this] {
    std::vector<std::string> all;
    const auto store = bench_.store();
    for (const auto& value : bench_.values("weights", false, true)) {
      const auto object = store::read_object(*store, std::get<std::string>(value.value));
      all.push_back(store::item_digest(object.content).hex());
    }
    return all;
  };
  bench_.record("trainer");
  ASSERT_EQ(bench_.replay("trainer_contents").status, 0);
  const auto alone = contents();
  ASSERT_EQ(alone.size(), 6u);
  bench_.record("trainer");
  const auto result = replay(in_seats(2, {"--", other("trainer_contents")}));
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(contents(), alone);
  EXPECT_THAT(bench_.damage(), IsEmpty());
}

/// The command with its secrets is in it.
TEST_F(ReplayInSeats, WhatASessionHoldsIsForItsUserAloneWhateverTheUmask) {
  const auto list = bench_.home().parent_path() / "modes";
  for (const mode_t mask : {mode_t{0}, mode_t{022}, mode_t{0777}}) {
    bench_.record("trainer");
    std::filesystem::remove(list);
    const std::string look = "find '" + segments().string() +
                             "' -mindepth 1 -printf '%m %y %P\\n' > '" + list.string() + "'";
    const std::string engine = launcher(1, look);
    const mode_t before = ::umask(mask);
    const auto result = replay({"test", "--engine", engine, "--workers", "1", "--again"});
    ::umask(before);
    EXPECT_EQ(result.status, 0) << result.err;
    ::chmod(list.c_str(), 0600);
    std::ifstream in(list);
    int files = 0, directories = 0;
    for (std::string mode, kind, path; in >> mode >> kind >> path;) {
      if (kind == "l") continue;
      EXPECT_EQ(mode, kind == "d" ? "700" : "600") << path << " under the umask " << mask;
      ++(kind == "d" ? directories : files);
    }
    EXPECT_GE(files, 3);
    EXPECT_GE(directories, 4);
  }
}

class ReplayShapesInSeats : public ReplayInSeats,
                            public ::testing::WithParamInterface<const char*> {};

TEST_P(ReplayShapesInSeats, AreReplayedLikeByOneProcess) {
  bench_.record("loops", {"--kwargs", std::string("scenario=") + GetParam()});
  ASSERT_EQ(bench_.replay("loops").status, 0);
  const std::int64_t alone = compared_by_last();
  const auto result = replay(in_seats(3, {"--again"}));
  EXPECT_EQ(result.status, 0) << result.out << result.err;
  EXPECT_EQ(compared_by_last(), alone) << "each recorded value is compared once";
  EXPECT_THAT(result.out, Not(HasSubstr("DIFFERS")));
  EXPECT_THAT(found(), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Loops, ReplayShapesInSeats,
                         ::testing::Values("plain", "without_nested", "break_main",
                                           "early_stopping", "two_mains", "shuffled_main",
                                           "attached_locals", "repeated_names"),
                         [](const auto& parameter) { return std::string(parameter.param); });

TEST_F(ReplayInSeats, APathMayHoldAnything) {
  bench_.use_home(bench_.home().parent_path() / "a store's \"place\" (50%)");
  bench_.record("trainer");
  const auto result = replay(in_seats(2, {"--", other("trainer_hindsight")}));
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(found().size(), 6u + 2u);
}

TEST_F(ReplayInSeats, TheOtherMachineNeedsNoEnvironment) {
  bench_.record("trainer");
  const auto engine = launcher(2, "unset FLOR_HOME HOME");
  const auto result = replay({"test", "--engine", engine, "--", other("trainer_hindsight")});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(found().size(), 6u + 2u);
}

TEST_F(ReplayInSeats, AProgramMayWriteALot) {
  bench_.record("trainer");
  const auto script = bench_.home().parent_path() / "loud.sh";
  std::ofstream(script) << "#!/bin/sh\nyes out | head -c 20000000\nyes err | head -c 20000000 >&2\n"
                        << "exec " << other("trainer_hindsight") << " \"$@\"\n";
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  const auto result = replay(in_seats(2, {"--", script.string()}));
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("verified: "));
  EXPECT_LT(result.err.size(), 10'000u);
}

TEST_F(ReplayInSeats, SeatsThatAreKilledAreDoneWithoutEachValueOnce) {
  record_slowly(12);
  const auto alone = found_alone("trainer_inner", {"--flor_probe", "train"});
  record_slowly(12);
  const Words words = slowly(launcher(3), 3);
  Process replaying(command(words), patient("1"));
  ASSERT_TRUE(eventually([&] { return seats().size() == 3 && epochs_done() > 1; }));
  // The node is gone: the seat and what it has started, at once.
  const std::vector<pid_t> all = seats();
  for (const pid_t seat : {all[0], all[1]}) {
    for (const pid_t child : children_of(seat)) ::kill(child, SIGKILL);
    ::kill(seat, SIGKILL);
  }
  const ProcessResult result = replaying.wait();
  EXPECT_EQ(result.status, 0) << result.out << result.err;
  EXPECT_THAT(result.err, HasSubstr("was lost"));
  EXPECT_EQ(found(), alone);
  EXPECT_THAT(sessions(), IsEmpty());
}

TEST_F(ReplayInSeats, WorkersThatAreKilledAreStartedAgain) {
  record_slowly(12);
  const auto alone = found_alone("trainer_inner", {"--flor_probe", "train"});
  record_slowly(12);
  Process replaying(command(slowly(launcher(2), 2)), patient("5"));
  ASSERT_TRUE(eventually([&] { return epochs_done() > 1; }));
  for (const pid_t seat : seats()) {
    for (const pid_t child : children_of(seat)) ::kill(child, SIGKILL);
  }
  const ProcessResult result = replaying.wait();
  EXPECT_EQ(result.status, 0) << result.out << result.err;
  EXPECT_THAT(result.err, HasSubstr("ended by signal 9"));
  EXPECT_EQ(found(), alone);
}

/// What it had heard of counts, and so does what only the seats knew.
TEST_F(ReplayInSeats, AfterAKilledDispatcherTheNextOneMergesWhatIsDone) {
  record_slowly(10);
  const auto alone = found_alone("trainer_inner", {"--flor_probe", "train"});
  record_slowly(10);
  const Words words = slowly(launcher(2), 2);
  auto replaying = std::make_unique<Process>(command(words), patient("2"));
  ASSERT_TRUE(eventually([&] { return epochs_done() > 0; }));
  replaying->kill(SIGKILL);
  replaying->wait();
  ASSERT_TRUE(eventually([&] { return seats().empty(); })) << "nobody is left for ever";
  ASSERT_EQ(sessions().size(), 1u);
  const std::size_t before = epochs_done();
  // A seat that died while it wrote, and the same again under another name.
  std::vector<std::filesystem::path> said;
  for (const auto& entry : std::filesystem::directory_iterator(sessions()[0] / "seats")) {
    if (entry.path().extension() == ".said") said.push_back(entry.path());
  }
  ASSERT_EQ(said.size(), 2u);
  std::ofstream(said[0], std::ios::app) << "0123456789abcdef 0 done 3 1";
  std::filesystem::copy_file(said[1], said[1].parent_path() / "twin.said");
  const auto result = run_process(command(words), patient("5"));
  EXPECT_EQ(result.status, 0) << result.out << result.err;
  EXPECT_THAT(result.err, HasSubstr("that a killed replay had computed"));
  EXPECT_THAT(result.out, HasSubstr("not computed again"));
  EXPECT_GT(epochs_done(), before);
  EXPECT_EQ(found(), alone);
  EXPECT_THAT(sessions(), IsEmpty());
  EXPECT_THAT(bench_.damage(), IsEmpty());
}

TEST_F(ReplayInSeats, TwoThatAskTheSameAtOnceFindEachValueOnce) {
  record_slowly(6);
  const auto alone = found_alone("trainer_inner", {"--flor_probe", "train"});
  record_slowly(6);
  const Words words = slowly(launcher(2), 2);
  Process first(command(words), patient("5")), second(command(words), patient("5"));
  const ProcessResult a = first.wait(), b = second.wait();
  EXPECT_EQ(a.status, 0) << a.err;
  EXPECT_EQ(b.status, 0) << b.err;
  EXPECT_EQ(found(), alone);
  EXPECT_THAT(sessions(), IsEmpty());
}

TEST_F(ReplayInSeats, AnInterruptKeepsWhatIsDoneAndLeavesNobody) {
  record_slowly(12);
  Process replaying(command(slowly(launcher(2), 2)), patient("5"));
  ASSERT_TRUE(eventually([&] { return epochs_done() > 1; }));
  replaying.kill(SIGINT);
  const ProcessResult result = replaying.wait();
  EXPECT_EQ(result.status, 130) << result.err;
  EXPECT_GT(found().size(), 0u);
  EXPECT_TRUE(eventually([&] { return seats().empty(); }));
  EXPECT_THAT(sessions(), IsEmpty());
}

TEST_F(ReplayInSeats, AnEngineThatStartsNobodyIsOneLine) {
  bench_.record("trainer");
  const auto nobody = replay({"test", "--engine", "run:/bin/false"});
  EXPECT_EQ(nobody.status, 1);
  EXPECT_THAT(nobody.err, HasSubstr("/bin/false has ended with status 1"));
  const auto missing = replay({"test", "--engine", "run:no-such-launcher"});
  EXPECT_EQ(missing.status, 1);
  EXPECT_THAT(missing.err, HasSubstr("there is no no-such-launcher on PATH"));
  const auto blind = replay({"test", "--engine", launcher(1), "--remote-flor", "/no/flor"});
  EXPECT_EQ(blind.status, 1);
  EXPECT_THAT(blind.err, HasSubstr("/no/flor"));
  EXPECT_THAT(sessions(), IsEmpty());
  EXPECT_EQ(replay({"test", "--partition", "x"}).status, 2);
  EXPECT_EQ(replay({"test", "--engine", "slurm", "--gpus", "0"}).status, 2);
}

TEST_F(ReplayInSeats, MachinesThatShareNothingButADirectoryFetchTheRun) {
  bench_.record("trainer");
  const auto alone = found_alone("trainer_inner", {"--flor_probe", "train"});
  bench_.record("trainer");
  const TemporaryDirectory elsewhere;
  const std::string url = "file://" + (elsewhere / "archive").string();
  const auto sent = run_process({FLOR_CLI, "spool", "test", url}, bench_.options());
  ASSERT_EQ(sent.status, 0) << sent.err;
  bench_.use_home(elsewhere / "home");
  const auto shared = elsewhere / "shared";
  // What the seats read is not what lies here.
  const auto engine = launcher(2, "rm -rf " + (elsewhere / "home" / "packs").string());
  const auto result = replay({"test", "--from", url, "--engine", engine, "--shared",
                              shared.string(), "--probe", "train", "--", other("trainer_inner")});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(found(), alone);
  EXPECT_TRUE(std::filesystem::is_empty(shared));
}

/// GNU parallel is real, ssh is a script that runs the command here.
TEST_F(ReplayInSeats, HostsThatSshReachesFindTheSame) {
  if (run_process({"sh", "-c", "command -v parallel"}, bench_.options()).status != 0) {
    GTEST_SKIP() << "GNU parallel is not installed (package parallel)";
  }
  const auto ssh = bench_.home().parent_path() / "ssh";
  std::ofstream(ssh) << "#!/bin/sh\nhost=$1; shift; [ \"$1\" = -- ] && shift\n"
                     << "SLURMD_NODENAME=$host exec sh -c \"$*\"\n";
  std::filesystem::permissions(ssh, std::filesystem::perms::owner_all);
  bench_.use_home(bench_.home().parent_path() / "a store's place");
  bench_.record("trainer");
  const auto alone = found_alone("trainer_inner", {"--flor_probe", "train"});
  bench_.record("trainer");
  ProcessOptions options = bench_.options();
  options.environment["PARALLEL_SSH"] = ssh.string();
  options.environment["SHELL"] = "/usr/sbin/nologin";
  const auto result = run_process(command({"test", "--engine", "ssh:node1,node2", "--probe",
                                           "train", "--", other("trainer_inner")}),
                                  options);
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(found(), alone);
  EXPECT_THAT(sessions(), IsEmpty());
}

/// Several processes do not write a catalog that lies on a network file system.
TEST_F(ReplayInSeats, OnANetworkFileSystemWorkersOfThisMachineHandIn) {
  bench_.record("trainer");
  const auto alone = found_alone("trainer_inner", {"--flor_probe", "train"});
  ProcessOptions options = bench_.options();
  const std::string index = (bench_.home().parent_path() / "indexes").string();
  ::setenv("FLOR_INDEX", index.c_str(), 1);
  options.environment["FLOR_INDEX"] = index;
  options.environment["FLOR_FILESYSTEM"] = "network";
  options.environment["FLOR_LOG"] = "debug";
  const auto recorded =
      run_process({program("trainer").string(), "--flor", "test", "--flor_every", "1"}, options);
  EXPECT_EQ(recorded.status, 0) << recorded.err;
  EXPECT_THAT(recorded.err, HasSubstr("network file system"));
  EXPECT_FALSE(std::filesystem::exists(bench_.home() / "catalog.db"));
  const auto result = run_process(
      command({"test", "--workers", "2", "--probe", "train", "--", other("trainer_inner")}),
      options);
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("verified: "));
  EXPECT_FALSE(std::filesystem::exists(bench_.home() / "catalog.db"));
  EXPECT_EQ(found(), alone);
  EXPECT_THAT(sessions(), IsEmpty());
  options.environment["FLOR_FILESYSTEM"] = "nfs";
  const auto wrong = run_process({FLOR_CLI, "keep", "test", "--dry-run"}, options);
  EXPECT_EQ(wrong.status, 2) << wrong.err;
  ::unsetenv("FLOR_INDEX");
}

/// Commands of Slurm that say what a real one says only after hours, or to others.
class ReplayWithFakeSlurm : public ReplayInSeats {
 protected:
  void put(const std::string& name, const std::string& script) const {
    std::filesystem::create_directories(bin());
    std::ofstream(bin() / name) << "#!/bin/sh\n" << script << "\n";
    std::filesystem::permissions(bin() / name, std::filesystem::perms::owner_all);
  }
  std::filesystem::path bin() const { return bench_.home().parent_path() / "bin"; }
  ProcessResult replay_on_slurm(const Words& arguments = {}) const {
    ProcessOptions options = patient("2");
    options.environment["PATH"] = bin().string() + ":/usr/bin:/bin";
    options.environment["SLURM_JOB_ID"] = std::nullopt;
    return run_process(command(Words{"test", "--engine", "slurm"} + arguments), options);
  }
  std::string cancelled() const {
    std::ifstream in(bin() / "cancelled");
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void SetUp() override {
    bench_.record("trainer");
    put("sbatch", "echo 77");
    put("squeue", "echo 'PENDING|Resources|'");
    put("scancel", "echo \"$@\" >> " + (bin() / "cancelled").string());
  }
};

TEST_F(ReplayWithFakeSlurm, ARefusalIsOneLineInSlurmsWords) {
  put("sbatch",
      "echo 'sbatch: error: Batch job submission failed: Invalid account or account/partition "
      "combination specified' >&2; exit 1");
  const auto result = replay_on_slurm({"--account", "nobody"});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, HasSubstr("Slurm refused the job: Invalid account or account/partition "
                                    "combination specified"));
  EXPECT_THAT(sessions(), IsEmpty());
}

TEST_F(ReplayWithFakeSlurm, AJobThatNeverStartsIsCancelledAndSaidWhy) {
  put("squeue", "echo 'PENDING|PartitionTimeLimit|'");
  const auto result = replay_on_slurm();
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, HasSubstr("job 77 would never start: it wants more time than the "
                                    "partition allows (PartitionTimeLimit)"));
  EXPECT_EQ(cancelled(), "77\n");
}

TEST_F(ReplayWithFakeSlurm, ATimeLimitIsSaid) {
  put("squeue", "echo 'TIMEOUT|TimeLimit|n1'");
  const auto result = replay_on_slurm();
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, HasSubstr("job 77 has reached its time limit (--time)"));
}

TEST_F(ReplayWithFakeSlurm, WhyItWaitsIsSaidAndAnInterruptCancelsIt) {
  ProcessOptions options = patient("2");
  options.environment["PATH"] = bin().string() + ":/usr/bin:/bin";
  Process replaying(command({"test", "--engine", "slurm"}), options);
  EXPECT_TRUE(eventually([&] {
    return replaying.err().find("job 77 waits until enough is free (Resources)") !=
           std::string::npos;
  })) << replaying.err();
  replaying.kill(SIGINT);
  EXPECT_EQ(replaying.wait().status, 130);
  EXPECT_EQ(cancelled(), "77\n");
  EXPECT_THAT(sessions(), IsEmpty());
}

TEST_F(ReplayWithFakeSlurm, AControllerThatDoesNotAnswerIsWaitedFor) {
  put("squeue",
      "test -e " + (bin() / "asked").string() + " && echo 'CANCELLED|None|' && exit 0; touch " +
          (bin() / "asked").string() +
          "; echo 'slurm_load_jobs error: Unable to contact slurm controller' >&2; exit 1");
  const auto result = replay_on_slurm();
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, AllOf(HasSubstr("Slurm does not answer: Unable to contact"),
                                HasSubstr("job 77 was cancelled")));
}

TEST_F(ReplayWithFakeSlurm, WhatTheUserAsksForIsPassedOn) {
  put("sbatch", "for word; do echo \"$word\"; done > " + (bin() / "words").string() +
                    "; cp \"$word\" " + (bin() / "script").string() + "; exit 1");
  replay_on_slurm({"--workers", "3", "--partition", "gpu", "--account", "me", "--time", "1:00:00",
                   "--gres", "gpu:2", "--gpus-per-task", "1", "--nodes", "2", "--sbatch=--mem=8G",
                   "--srun=--label"});
  std::ifstream words(bin() / "words"), script(bin() / "script");
  const std::string said(std::istreambuf_iterator<char>(words), {});
  const std::string ran(std::istreambuf_iterator<char>(script), {});
  for (const char* word :
       {"--partition=gpu", "--account=me", "--time=1:00:00", "--gres=gpu:2", "--gpus-per-task=1",
        "--nodes=2", "--ntasks=3", "--mem=8G", "--requeue", "--no-kill"}) {
    EXPECT_THAT(said, HasSubstr(std::string(word) + "\n")) << word;
  }
  EXPECT_THAT(ran, AllOf(HasSubstr("srun "), HasSubstr(" --label "), HasSubstr(" __seat ")));
  replay_on_slurm({"--workers", "3", "--array"});
  std::ifstream again(bin() / "words"), element(bin() / "script");
  const std::string array(std::istreambuf_iterator<char>(again), {});
  const std::string alone(std::istreambuf_iterator<char>(element), {});
  EXPECT_THAT(array, AllOf(HasSubstr("--array=0-2\n"), HasSubstr("--ntasks=1\n")));
  EXPECT_THAT(alone, Not(HasSubstr("srun")));
}

TEST_F(ReplayWithFakeSlurm, WithoutSlurmThatIsSaid) {
  std::filesystem::remove(bin() / "sbatch");
  ProcessOptions options = bench_.options();
  options.environment["PATH"] = bin().string();
  const auto result = run_process(command({"test", "--engine", "slurm"}), options);
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, AllOf(HasSubstr("there is no sbatch on PATH"), HasSubstr("ssh:")));
}

}  // namespace
}  // namespace flor::testing
