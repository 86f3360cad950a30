// `flor archive --prove` with real programs: what goes comes back to the byte, and nothing goes
// without a proof, whatever happens.
#include "retention/proofs.h"
#include "workbench.h"

#include <nlohmann/json.hpp>

#include <csignal>
#include <fstream>
#include <iterator>

namespace flor::testing::prove_test {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Keys = std::set<std::string>;
const Words kProve{"archive", "test", "--prove"};
const Words kTwelve{"--kwargs", "epochs=12"};

class Prove : public ::testing::Test {
 protected:
  ProcessResult flor(const Words& arguments) const { return flor(arguments, bench_.options()); }
  ProcessResult flor(const Words& arguments, ProcessOptions options) const {
    return run_process(Words{FLOR_CLI} + arguments, std::move(options));
  }
  /// The bytes of an exported checkpoint; empty if it cannot be exported.
  std::string exported(const std::string& what) const {
    const std::filesystem::path file = bench_.repository().root() / "state.safetensors";
    std::filesystem::remove(file);
    EXPECT_EQ(flor({"export", what, file.string()}).status, 0) << what;
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  /// The deleted checkpoints that no proof names.
  std::vector<std::string> unproven() const {
    const auto store = bench_.store();
    const std::int64_t run = store->catalog().runs().at(0).id;
    std::vector<store::CheckpointName> named;
    for (const store::Proof& proof : store::proofs(*store, run)) {
      named.insert(named.end(), proof.checkpoints.begin(), proof.checkpoints.end());
    }
    std::vector<std::string> lacking;
    for (const auto& [info, discarded, collected] : store->catalog().discarded(run)) {
      const store::CheckpointName name{info.key, info.digest};
      if (std::ranges::find(named, name) == named.end()) {
        lacking.push_back(info.key.loop + " " + std::to_string(info.key.iteration));
      }
    }
    return lacking;
  }
  std::size_t deleted() const {
    const auto store = bench_.store();
    return store->catalog().discarded(store->catalog().runs().at(0).id).size();
  }

  Workbench bench_;
};

const Keys kEnds{"boundary 0/0", "train@begin 0/0", "boundary 0/12", "train 0/11"};

TEST_F(Prove, OnlyTheEndsStayAndEveryEpochComesBackToTheByte) {
  bench_.record("trainer", kTwelve);
  const std::string before = exported("test@5");
  const auto proven = flor(kProve);
  EXPECT_EQ(proven.status, 0) << proven.err;
  EXPECT_THAT(proven.out, HasSubstr("11 of 12 stored epochs dropped, computed again by replay 1"));
  EXPECT_EQ(bench_.checkpoints(), kEnds);
  EXPECT_THAT(unproven(), IsEmpty());
  EXPECT_THAT(bench_.damage(), IsEmpty());

  const std::string key = bench_.last_run().key.substr(0, 8);
  const auto refused = flor({"export", "test@5", "x.safetensors"});
  EXPECT_EQ(refused.status, 3);
  EXPECT_THAT(refused.err,
              HasSubstr("it was deleted, `flor keep " + key + "@5 --undo` computes it again"));
  const auto back = flor({"keep", "test@5", "--undo"});
  EXPECT_EQ(back.status, 0) << back.err;
  EXPECT_THAT(back.out, HasSubstr("3 checkpoints of epoch 5 back, 3 of them computed again"));
  EXPECT_EQ(exported("test@5"), before);
  EXPECT_THAT(bench_.checkpoints(),
              ::testing::IsSupersetOf({"boundary 0/6", "train 0/5", "train@begin 0/6"}));
  EXPECT_EQ(flor({"keep", "test@5", "--undo"}).status, 3) << "there is nothing more to bring back";
  EXPECT_EQ(flor({"fsck"}).status, 0);
}

TEST_F(Prove, AnArchivedRunIsReplayedForkedAndKeptAsBefore) {
  bench_.record("trainer", kTwelve);
  ASSERT_EQ(flor(kProve).status, 0);
  const auto replayed =
      flor({"replay", "test", "--probe", "train", "--", program("trainer_inner").string()});
  EXPECT_EQ(replayed.status, 0) << replayed.err;
  EXPECT_THAT(replayed.out, HasSubstr("verified: "));
  const std::string key = bench_.last_run().key.substr(0, 8);
  const Words fork{"--flor", "fork", "--flor_from", key + "@4"};
  const auto refused = bench_.run("trainer", fork);
  EXPECT_EQ(refused.status, 3);
  EXPECT_THAT(refused.err, HasSubstr("`flor keep " + key + "@4 --undo` computes it again"));
  ASSERT_EQ(flor({"keep", key + "@4", "--undo"}).status, 0);
  EXPECT_EQ(bench_.run("trainer", fork).status, 0);
  EXPECT_EQ(flor({"keep", key, "--last", "1"}).status, 0);
  EXPECT_EQ(flor({"gc"}).status, 0);
  EXPECT_EQ(flor({"replay", key, "--check"}).status, 0);
  EXPECT_THAT(bench_.damage(), IsEmpty());
}

TEST_F(Prove, SomeStayForOtherMachinesAndShowSaysWhatTheProofHoldsFor) {
  bench_.record("trainer", kTwelve);
  const auto proven = flor(kProve + Words{"--portable", "3", "--json"});
  ASSERT_EQ(proven.status, 0) << proven.err;
  const auto proof = nlohmann::json::parse(proven.out).at("proof");
  EXPECT_EQ(proof.at("dropped_epochs"), 9);
  EXPECT_EQ(proof.at("stored_epochs"), 12);
  for (const char* key : {"boundary 0/4", "boundary 0/8", "boundary 0/12"}) {
    EXPECT_EQ(bench_.checkpoints().count(key), 1u) << key;
  }
  EXPECT_THAT(flor({"show", "test"}).out,
              ContainsRegex("proven +27 of them computed again on .* stores one again"));
  const auto shown = nlohmann::json::parse(flor({"show", "test", "--json"}).out);
  const auto proofs = shown.at("run").at("proofs");
  ASSERT_FALSE(proofs.empty());
  for (const auto& one : proofs) {
    EXPECT_TRUE(one.at("environment").contains("processor"));
    EXPECT_TRUE(one.at("environment").contains("host"));
  }
}

TEST_F(Prove, NestedLoopsOfEveryShapeAreProven) {
  for (const char* scenario :
       {"plain", "two_mains", "break_main", "return_nested", "without_nested", "two_nested",
        "attached_locals", "attached_best", "shuffled_main", "shuffled_nested", "repeated_names"}) {
    SCOPED_TRACE(scenario);
    bench_.record("loops", {"--kwargs", std::string("scenario=") + scenario});
    const std::size_t before = bench_.checkpoints().size();
    const auto proven = flor(kProve);
    EXPECT_EQ(proven.status, 0) << proven.out << proven.err;
    EXPECT_LT(bench_.checkpoints().size(), before);
    EXPECT_THAT(unproven(), IsEmpty());
    EXPECT_EQ(bench_.replay("loops", {"--flor_run", "test"}).status, 0);
  }
}

/// State that is not registered shows where a walk begins in the middle.
TEST_F(Prove, WhatDiffersStaysWithAllThatFollowsUntilTheNextStart) {
  bench_.record("trainer", {"--kwargs", "epochs=12", "forgotten=velocity"});
  const auto proven = flor(kProve + Words{"--portable", "2"});
  EXPECT_EQ(proven.status, 7) << proven.out << proven.err;
  EXPECT_THAT(proven.out,
              AllOf(HasSubstr("differs: "), HasSubstr("5 of 12 stored epochs dropped")));
  EXPECT_THAT(proven.err, HasSubstr("what is not proven stays"));
  EXPECT_EQ(bench_.checkpoints().count("boundary 0/5"), 0u) << "walked to from the start";
  for (const char* key : {"boundary 0/6", "boundary 0/7", "boundary 0/11", "boundary 0/12"}) {
    EXPECT_EQ(bench_.checkpoints().count(key), 1u) << key;
  }
  EXPECT_THAT(unproven(), IsEmpty());
}

TEST_F(Prove, AnotherProgramProvesNothing) {
  const std::filesystem::path own = bench_.repository().root() / "own";
  std::filesystem::copy_file(program("trainer"), own);
  ASSERT_EQ(
      run_process({own.string(), "--flor", "test", "--flor_every", "1"}, bench_.options()).status,
      0);
  std::filesystem::remove(own);
  std::filesystem::copy_file(program("trainer_inner"), own);
  const auto proven = flor(kProve);
  EXPECT_NE(proven.status, 0) << proven.out;
  EXPECT_EQ(deleted(), 0u);
}

TEST_F(Prove, AProcessThatDiesLeavesProofsOrNothing) {
  bench_.record("trainer", kTwelve);
  // In each process, whenever it is started: the epoch is given up after three of them.
  auto options = bench_.options();
  options.environment["RAISE"] = std::to_string(SIGKILL) + ":10";
  const auto proven = flor(kProve + Words{"--portable", "4"}, options);
  EXPECT_THAT(unproven(), IsEmpty()) << proven.out << proven.err;
  EXPECT_THAT(bench_.damage(), IsEmpty());
  EXPECT_EQ(flor(kProve).status, 0);
  EXPECT_EQ(bench_.checkpoints(), kEnds);
}

TEST_F(Prove, AKilledCommandGoesOnWhereItWas) {
  bench_.record("trainer", {"--kwargs", "epochs=12", "pause_ms=5"});
  for (const std::size_t until : {1u, 8u, 20u}) {
    Process archive(Words{FLOR_CLI} + kProve + Words{"--portable", "6", "--workers", "1"},
                    bench_.options());
    (void)archive.await([&] { return deleted() >= until; });
    archive.kill(SIGKILL);
    archive.wait();
    EXPECT_THAT(unproven(), IsEmpty());
    EXPECT_THAT(bench_.damage(), IsEmpty());
  }
  EXPECT_EQ(flor(kProve).status, 0);
  EXPECT_EQ(bench_.checkpoints(), kEnds);
  EXPECT_THAT(unproven(), IsEmpty());
}

/// The walk begins in the middle, where the program lacks what it did not register.
TEST_F(Prove, AWrongStateIsNotStoredAgain) {
  bench_.record("trainer", {"--kwargs", "epochs=12", "forgotten=velocity"});
  ASSERT_EQ(flor({"keep", "test", "--every", "6"}).status, 0);
  ASSERT_EQ(flor({"gc"}).status, 0);
  const std::size_t gone = deleted();
  const Keys before = bench_.checkpoints();
  const auto wrong = flor({"keep", "test@8", "--undo"});
  EXPECT_EQ(wrong.status, 7) << wrong.err;
  EXPECT_THAT(wrong.out,
              HasSubstr("differs: state at the end of train, epoch 8: it is not the one"));
  EXPECT_EQ(bench_.checkpoints(), before);
  EXPECT_EQ(deleted(), gone);
  EXPECT_EQ(flor({"keep", "test@3", "--undo"}).status, 0) << "walked to from the start";
  EXPECT_EQ(bench_.checkpoints().count("boundary 0/4"), 1u);
}

TEST_F(Prove, AFetchedRunComesBackWhereItIsTrusted) {
  bench_.record("trainer", kTwelve);
  const std::string before = exported("test@5");
  ASSERT_EQ(flor(kProve).status, 0);
  const std::string bucket = "file://" + (bench_.home().parent_path() / "bucket").string();
  const auto spooled = flor({"spool", "test", bucket});
  ASSERT_EQ(spooled.status, 0) << spooled.err;
  bench_.use_home(bench_.home().parent_path() / "other");
  const auto fetched = flor({"fetch", "test", bucket});
  ASSERT_EQ(fetched.status, 0) << fetched.err;
  EXPECT_EQ(bench_.checkpoints(), kEnds);
  EXPECT_THAT(unproven(), IsEmpty()) << "the proofs came with it";
  EXPECT_EQ(flor({"keep", "test@5", "--undo"}).status, 2);
  const auto back = flor({"keep", "test@5", "--undo", "--trust"});
  EXPECT_EQ(back.status, 0) << back.err;
  EXPECT_EQ(exported("test@5"), before);
  EXPECT_THAT(bench_.damage(), IsEmpty());
}

TEST_F(Prove, OptionsThatDoNotFitAreRefused) {
  bench_.record("trainer");
  EXPECT_EQ(flor({"archive", "test", "--within", "60s"}).status, 2);
  EXPECT_EQ(flor(kProve + Words{"--within", "soon"}).status, 2);
  EXPECT_EQ(flor(kProve + Words{"--within", "-1"}).status, 2);
  EXPECT_EQ(flor({"keep", "test", "--last", "1", "--trust"}).status, 2);
  EXPECT_EQ(deleted(), 0u);
}

}  // namespace
}  // namespace flor::testing::prove_test
