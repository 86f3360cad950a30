// `flor replay --all-versions --apply` with the real cmake, git and flor: seven versions of a
// training are asked what their newest one's work tree logs, and answer what they would have logged
// if a person had put the statements there before the training.
#include "hindsight/by_hand.h"
#include "versions/project.h"

#include <nlohmann/json.hpp>

namespace flor::testing {
namespace {

using Json = nlohmann::json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

/// "name path/epoch/step = value" of all values, with every digit.
std::map<std::string, std::string> values_of(const store::Catalog& catalog, const store::Run& run,
                                             bool hindsight_only) {
  std::map<std::string, std::string> lines;
  for (const auto& value :
       catalog.values({.run = run.id, .first_epoch = -1, .recorded = !hindsight_only})) {
    lines[fmt::format("{} {}/{}/{}.{}", value.name, value.place.path, value.place.epoch,
                      value.place.step, value.ordinal)] = fmt::format("{:.17g}", real(value));
  }
  return lines;
}

class AllVersions : public ::testing::Test {
 protected:
  store::Run record(const std::string& text, const std::string& name, const Words& arguments = {}) {
    project_.repository().write("train.cpp", text);
    project_.build();
    const auto result =
        project_.run(Words{"./build/train", "--flor", name, "--flor_every", "1"} + arguments);
    EXPECT_EQ(result.status, 0) << result.err;
    return project_.last_run();
  }
  ProcessResult ask(const Words& arguments) {
    return project_.flor(Words{"replay", "fit", "--all-versions", "--apply"} + arguments);
  }
  static Json json(const ProcessResult& result) {
    Json parsed = Json::parse(result.out, nullptr, false);
    EXPECT_FALSE(parsed.is_discarded()) << result.out << result.err;
    return parsed;
  }

  Project project_;
};

TEST_F(AllVersions, AnswerAsIfTheStatementsHadBeenThereBeforeTheTraining) {
  std::map<std::string, store::Run> asked, by_hand;
  const auto& history = history_by_hand();
  for (auto version = history.rbegin(); version != history.rend(); ++version) {
    const std::string text = read_history(version->name);
    by_hand.emplace(version->name, record(add_by_hand(text, version->added), "byhand"));
    asked.emplace(version->name, record(text, "fit"));
  }
  project_.repository().write("train.cpp", add_by_hand(read_history("v7.cpp"), questions()));
  const std::string before = project_.users_state();
  const ProcessResult result = ask({"--json"});
  EXPECT_EQ(result.status, 5) << result.out << result.err;
  EXPECT_EQ(project_.users_state(), before);

  const auto store = project_.open();
  std::map<std::string, Json> versions;
  const Json told_all = json(result);
  for (const Json& version : told_all["versions"]) versions[version["commit"]] = version;
  ASSERT_EQ(versions.size(), 7u);
  for (const VersionByHand& version : history) {
    SCOPED_TRACE(version.name);
    const store::Run& run = asked.at(version.name);
    auto expected = values_of(store->catalog(), by_hand.at(version.name), false);
    for (const auto& [place, value] : values_of(store->catalog(), run, false)) {
      const auto same = expected.find(place);
      ASSERT_NE(same, expected.end()) << place;
      EXPECT_EQ(value, same->second) << place;
      expected.erase(same);
    }
    EXPECT_TRUE(expected.empty()) << "not answered: " << expected.begin()->first;
    const Json& told = versions.at(run.start.commit);
    EXPECT_EQ(told["refused"].size(), version.not_there.size());
    EXPECT_EQ(told["runs"][0]["verdict"], "verified");
    EXPECT_GT(values_of(store->catalog(), run, true).size(), 0u);
  }

  // The same question again is answered from the store, and the table shows all of it.
  const ProcessResult again = ask({});
  EXPECT_EQ(again.status, 5) << again.err;
  EXPECT_THAT(again.out, AllOf(HasSubstr("there is no loop \"eval\""),
                               HasSubstr("nothing is called 'net' there"),
                               HasSubstr("'net' is called 'model'")));
  std::size_t rows = 0;
  for (const std::string& line : lines_of(again.out)) {
    rows += line.find(asked.at("v5.cpp").key.substr(0, 8) + "  ") == 0;
  }
  EXPECT_GE(rows, 5u * 6u);
}

TEST_F(AllVersions, AreChosenByConditionsCommitsAndHunksAndADryRunShowsPatches) {
  const store::Run old_slow = record(read_history("v5.cpp"), "fit", {"--kwargs", "lr=0.01"});
  const store::Run old_fast = record(read_history("v5.cpp"), "fit", {"--kwargs", "lr=0.2"});
  const store::Run newest = record(read_history("v7.cpp"), "fit", {"--kwargs", "lr=0.01"});
  ASSERT_EQ(old_slow.start.commit, old_fast.start.commit);
  const std::string newer = add_by_hand(read_history("v7.cpp"), questions());
  project_.repository().write("train.cpp", newer);
  const auto found = [&](const store::Run& run) {
    return values_of(project_.open()->catalog(), run, true).size();
  };

  const ProcessResult plan = ask({"--dry-run"});
  EXPECT_EQ(plan.status, 0) << plan.err;
  EXPECT_THAT(plan.out, AllOf(HasSubstr("+      flor::log(\"relative\", loss / sum);"),
                              HasSubstr("of replaying, beside the builds")));
  EXPECT_EQ(found(old_slow) + found(newest), 0u);

  EXPECT_EQ(ask({"--hunks", "relative", "--where", "lr<0.1 and not epochs=7", "--versions",
                 old_slow.start.commit.substr(0, 10)})
                .status,
            0);
  EXPECT_EQ(found(old_slow), 5u * 6u);
  EXPECT_EQ(found(old_fast) + found(newest), 0u);

  const Json both =
      json(ask({"--json", "--versions",
                newest.start.commit.substr(0, 8) + ".." + old_slow.start.commit.substr(0, 8)}));
  ASSERT_EQ(both["versions"].size(), 2u);
  EXPECT_EQ(both["versions"][1]["runs"].size(), 2u) << "two runs of one version, built once";
  EXPECT_GT(found(old_fast), 0u);
  EXPECT_GT(found(newest), 0u);
}

TEST_F(AllVersions, AHunkThatDoesNotCompileIsLeftOutAndTheOthersGoOn) {
  const auto program = [](const std::string& state, const std::string& more) {
    return "#include <flor/flor.h>\n#include <vector>\nint main(int argc, char** argv) {\n"
           "  const auto session = flor::init(argc, argv);\n  " +
           state +
           "  const auto kept = flor::checkpoints(state);\n"
           "  for (int epoch : flor::loop(\"epoch\", 3)) {\n    double total = epoch * 2.5;\n" +
           more + "    flor::log(\"total\", total);\n  }\n}\n";
  };
  const store::Run old_run = record(program("double state = 1;\n", ""), "fit");
  record(program("std::vector<double> state{1, 2};\n", ""), "fit");
  project_.repository().write("train.cpp", program("std::vector<double> state{1, 2};\n",
                                                   "    flor::log(\"first\", state[0]);\n"
                                                   "    flor::log(\"twice\", total * 2);\n"));
  const ProcessResult result = ask({});
  EXPECT_EQ(result.status, 5) << result.out << result.err;
  EXPECT_THAT(result.out, HasSubstr("1: it does not compile there: "));
  const auto values = values_of(project_.open()->catalog(), old_run, true);
  EXPECT_EQ(values.size(), 3u);
  EXPECT_EQ(values.at("twice epoch/2/-1.0"), "10");
}

/// A training without a nested loop.
std::string short_training(int epochs, const std::string& more, const std::string& before = "") {
  return "#include <flor/flor.h>\n#include <cstdlib>\nint main(int argc, char** argv) {\n"
         "  const auto session = flor::init(argc, argv);\n  double total = 0;\n" +
         before + "  const auto kept = flor::checkpoints(total);\n" +
         fmt::format("  for (int epoch : flor::loop(\"epoch\", {})) {{\n", epochs) +
         "    total += epoch * 2.5;\n" + more + "    flor::log(\"total\", total);\n  }\n}\n";
}
const std::string kTwice = "    flor::log(\"twice\", total * 2);\n";

TEST_F(AllVersions, AGroupOfRanksIsOneRun) {
  const std::string rank = "  total = std::atoi(std::getenv(\"RANK\"));\n";
  const std::string first =
      "    if (total == (epoch + 1) * epoch * 1.25) {\n"
      "      flor::log(\"leads\", 1);\n    }\n";
  project_.repository().write("train.cpp", short_training(3, first, rank));
  project_.build();
  std::vector<std::unique_ptr<Process>> ranks;
  for (const char* number : {"0", "1"}) {
    ProcessOptions options = project_.options();
    options.environment["RANK"] = number;
    options.environment["WORLD_SIZE"] = "2";
    options.environment["MASTER_ADDR"] = "127.0.0.1";
    ranks.push_back(std::make_unique<Process>(
        Words{"./build/train", "--flor", "fit", "--flor_every", "1"}, options));
  }
  for (const auto& process : ranks) ASSERT_EQ(process->wait().status, 0);
  project_.repository().write("train.cpp", short_training(3, first + kTwice, rank));

  const ProcessResult result = ask({"--where", "leads=1", "--json"});
  EXPECT_EQ(result.status, 0) << result.out << result.err;
  const Json told = json(result);
  ASSERT_EQ(told["versions"].size(), 1u);
  ASSERT_EQ(told["versions"][0]["runs"].size(), 1u);
  EXPECT_EQ(told["versions"][0]["runs"][0]["values_found"], 6);
  std::set<std::string> runs;
  for (const Json& row : told["rows"]) runs.insert(row["run"]);
  EXPECT_EQ(told["rows"].size(), 6u);
  EXPECT_EQ(runs.size(), 2u) << "the answers of each rank";

  for (const char* command : {"log", "blame"}) {
    const Json shown = json(project_.flor(command == std::string("log")
                                              ? Words{"log", "fit", "--json"}
                                              : Words{"blame", "total", "fit", "--json"}));
    EXPECT_EQ(shown["versions"][0]["runs"].size(), 1u) << command;
  }
}

TEST_F(AllVersions, AWishThatDoesNotFitOneIsReportedAndTheOthersGoOn) {
  const store::Run short_run = record(short_training(3, ""), "fit");
  const store::Run long_run = record(short_training(5, ""), "fit");
  project_.repository().write("train.cpp", short_training(5, kTwice));
  const ProcessResult result = ask({"--epochs", "0..4"});
  EXPECT_EQ(result.status, 5) << result.out << result.err;
  EXPECT_THAT(result.out, HasSubstr("the run has no epoch 4: its epochs are 0..2"));
  const auto store = project_.open();
  EXPECT_EQ(values_of(store->catalog(), long_run, true).size(), 5u);
  EXPECT_EQ(values_of(store->catalog(), short_run, true).size(), 0u);
  const ProcessResult no_list = ask({"--epochs", "first"});
  EXPECT_EQ(no_list.status, 2) << "it fits none";
  EXPECT_EQ(no_list.out, "");
}

/// A training that computes the same on every device, and logs on which.
std::string training_on_device(const std::string& argument, const std::string& more) {
  return "#include <flor/flor.h>\n\nint main(int argc, char** argv) {\n"
         "  const auto session = flor::init(argc, argv);\n"
         "  double total = 0;\n"
         "  const auto state = flor::checkpoints(total);\n"
         "  const std::string device = flor::arg(\"" +
         argument +
         "\", \"gpu\");\n"
         "  for (int epoch : flor::loop(\"epoch\", 3)) {\n"
         "    total += epoch;\n"
         "    flor::log(\"total\", total);\n" +
         more + "  }\n}\n";
}

TEST_F(AllVersions, AreAskedOnAnotherDeviceWhereTheyHaveTheArgument) {
  const store::Run without = record(training_on_device("place", ""), "fit");
  const store::Run with = record(training_on_device("device", ""), "fit");
  project_.repository().write(
      "train.cpp",
      training_on_device("device", "    flor::log(\"on\", device == \"cpu\" ? 1.0 : 2.0);\n"));
  const ProcessResult result = ask({"--override", "device=cpu"});
  EXPECT_EQ(result.status, 5) << result.out << result.err;
  EXPECT_THAT(result.out, HasSubstr("device"));
  const auto store = project_.open();
  const auto found = values_of(store->catalog(), with, true);
  EXPECT_EQ(found.size(), 3U);
  EXPECT_EQ(found.at("on epoch/2/-1.0"), "1");
  EXPECT_EQ(values_of(store->catalog(), without, true).size(), 0U);
  const ProcessResult form = ask({"--override", "device"});
  EXPECT_EQ(form.status, 2) << "it fits none";
  EXPECT_THAT(form.err, HasSubstr("--override device: expected NAME=VALUE"));
}

TEST_F(AllVersions, RunsThatWereBuiltDifferentlyAreBuiltSo) {
  project_.repository().append("CMakeLists.txt",
                               "if(FASTER)\n  target_compile_definitions(train PRIVATE FASTER)\n"
                               "endif()\n");
  const std::string before = "#ifdef FASTER\n  total = 100;\n#endif\n";
  project_.configure();
  const store::Run slow = record(short_training(3, "", before), "fit");
  project_.configure({"-DFASTER=ON"});
  const store::Run fast = record(short_training(3, "", before), "fit");
  ASSERT_EQ(slow.start.commit, fast.start.commit);
  project_.repository().write("train.cpp", short_training(3, kTwice, before));
  const ProcessResult result = ask({});
  EXPECT_EQ(result.status, 0) << result.out << result.err;
  const auto store = project_.open();
  EXPECT_EQ(values_of(store->catalog(), slow, true).at("twice epoch/2/-1.0"), "15");
  EXPECT_EQ(values_of(store->catalog(), fast, true).at("twice epoch/2/-1.0"), "215");
}

TEST_F(AllVersions, ARecipeThatDoesNotBuildAnyMoreLeavesTheRunsWithAnotherAlone) {
  project_.repository().append("CMakeLists.txt", "if(MORE)\n  include(${MORE})\nendif()\n");
  project_.configure();
  const store::Run sound = record(short_training(3, ""), "fit");
  const auto more = project_.root().parent_path() / "more.cmake";
  std::ofstream(more) << "# nothing\n";
  project_.configure({"-DMORE=" + more.string()});
  const store::Run broken = record(short_training(3, ""), "fit");
  ASSERT_EQ(sound.start.commit, broken.start.commit);
  std::filesystem::remove(more);
  project_.repository().write("train.cpp", short_training(3, kTwice));
  const ProcessResult result = ask({});
  EXPECT_EQ(result.status, 5) << result.out << result.err;
  const auto store = project_.open();
  EXPECT_EQ(values_of(store->catalog(), sound, true).size(), 3u);
  EXPECT_EQ(values_of(store->catalog(), broken, true).size(), 0u);
  EXPECT_THAT(result.out, HasSubstr(broken.key.substr(0, 8) + ": "));
}

TEST(AllVersionsWithoutRecipe, ADryRunSaysThatNobodyKnowsTheBuildAndACommandIsRemembered) {
  const Project project("target_link_libraries(train flor::core)\n");
  const store::Run run = project.next_version(short_training(3, ""));
  project.repository().write("train.cpp", short_training(3, kTwice));
  const auto ask = [&](const Words& more) {
    return project.flor(Words{"replay", "trained", "--all-versions", "--apply"} + more);
  };
  const ProcessResult plan = ask({"--dry-run"});
  EXPECT_EQ(plan.status, 1) << plan.out << plan.err;
  EXPECT_THAT(plan.out, HasSubstr("it is not known how the program of run"));
  const std::string command = "cmake -S . -B build -G '" FLOR_TEST_GENERATOR
                              "' -DCMAKE_PREFIX_PATH='" FLOR_TEST_PREFIX "' -DCMAKE_CXX_FLAGS='" +
                              Project::sanitizer_flag() + "' && cmake --build build";
  const ProcessResult built = ask({"--build", command});
  EXPECT_EQ(built.status, 0) << built.out << built.err;
  EXPECT_EQ(project.open()->catalog().build_command(run.start.repository, run.start.program),
            command);
  EXPECT_EQ(ask({"--dry-run"}).status, 0);
}

TEST_F(AllVersions, WrongWishesAreRefusedInOneLine) {
  record(read_history("v7.cpp"), "fit");
  const auto refused = [&](const Words& words, int status, const std::string& part) {
    const ProcessResult result = project_.flor(Words{"replay", "fit"} + words);
    EXPECT_EQ(result.status, status) << result.err;
    EXPECT_THAT(result.err, SaysOnce(part.c_str()));
  };
  refused({"--all-versions"}, 2, "add --apply");
  refused({"--apply"}, 2, "belong to --all-versions");
  refused({"--all-versions", "--apply"}, 3, "adds no log statement");
  project_.repository().write("train.cpp", add_by_hand(read_history("v7.cpp"), questions()));
  refused({"--all-versions", "--apply", "--hunks", "9"}, 2, "numbers from 1 to 4");
  refused({"--all-versions", "--apply", "--hunks", "1,lose"}, 2,
          "no log statement that the work tree adds is called 'lose'");
  refused({"--all-versions", "--apply", "--where", "lr<"}, 2, "column 4");
  refused({"--all-versions", "--apply", "--where", "epochs>70"}, 3, "no run meets");
  refused({"--all-versions", "--apply", "--versions", "00000000"}, 3, "no version '00000000'");
}

}  // namespace
}  // namespace flor::testing
