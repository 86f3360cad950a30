// Command lines and arguments as they are recorded: secrets masked in every form of a command line,
// everything else as it was.
#include "store_fixture.h"

#include <flor/store/secrets.h>

#include <rapidcheck/gtest.h>

#include <sys/stat.h>

namespace flor::store {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const std::vector<std::string> kNames = {
    "password",    "passwd",      "db-password", "DB_PASSWORD",  "userPassword", "passphrase",
    "secret",      "client-secret", "api-key",   "api_key",      "apikey",       "APIKey",
    "openai-api-key", "access-key", "token",     "auth-token",   "hf_token",     "access_token",
    "AWS_SECRET_ACCESS_KEY",      "private-key", "credentials",  "authorization", "wandb-key",
    "db.password", "smtp_pass",   "session_cookie", "sshKey",    "bearer"};

const std::string kSecret = "hunter2-correct/horse";

/// All ways to give a secret on a command line.
std::vector<std::vector<std::string>> ways_to_give(const std::string& name) {
  return {{"--" + name, kSecret},
          {"--" + name + "=" + kSecret},
          {"-" + name, kSecret},
          {"-" + name + "=" + kSecret},
          {"--kwargs", "lr=0.1", name + "=" + kSecret},
          {name + "=" + kSecret},
          {"--set=" + name + "=" + kSecret},
          {"--set", name + "=" + kSecret},
          {"-D" + name + "=" + kSecret},
          {"{\"" + name + "\": \"" + kSecret + "\", \"lr\": 1}"},
          {"{'" + name + "': '" + kSecret + "'}"},
          {"--header", name + ": " + kSecret},
          {"-H", name + ": " + kSecret},
          {"sh", "-c", "./train --" + name + " " + kSecret + " --lr 1"},
          {"sh", "-c", name + "=" + kSecret + " ./train"},
          {"sh", "-c", "./train --" + name + "='" + kSecret + "'"},
          {"--url", "https://host/path?x=1&" + name + "=" + kSecret + "&y=2"},
          {"--dsn", "Server=db;" + name + "=" + kSecret + ";Port=1"}};
}

TEST(RecordedCommands, HaveNoValueOfASecretName) {
  for (const std::string& name : kNames) {
    for (std::vector<std::string> words : ways_to_give(name)) {
      words.insert(words.begin(), "./train");
      const RecordedCommand command(words);
      EXPECT_THAT(command.text(), Not(HasSubstr("hunter2"))) << ::testing::PrintToString(words);
      EXPECT_THAT(command.text(), HasSubstr(name)) << ::testing::PrintToString(words);
      EXPECT_EQ(command.words().size(), words.size());
      EXPECT_EQ(RecordedCommand(command.words()), command);
      EXPECT_EQ(masked(masked(command.text())), masked(command.text()));
    }
  }
}

TEST(RecordedCommands, KeepEverythingElse) {
  const std::vector<std::string> words = {
      "./train",        "--flor",          "linear",         "--max-tokens",  "512",
      "--eos-token",    "</s>",            "--mask_token=[MASK]", "--pad-token-id", "0",
      "--tokenizer",    "bpe",             "--token-dropout", "0.1",          "--sort-key",
      "name",           "--keys",          "a,b",            "--no-password", "file.txt",
      "--use-auth-token", "data.csv",      "--token",        "true",          "--secret-file",
      "/run/secrets/x", "--credentials",   "creds.json",     "--master",
      "tcp://10.0.0.1:29500",
      "--data",         "s3://bucket/a@v1", "git@github.com:a/b.git", "ssh://git@host/x",
      "https://host:8080/p@q", "--password", "--lr",         "0.1",           "lr=0.1",
      "author=ada",     "--passes=3",      "monkey=1",       "--n_tokens=8",  "{\"tokens\": 3}",
      "--title",        "Basic Transformer", "--compass",    "north",         "quote \" and\nline"};
  EXPECT_EQ(RecordedCommand(words).words(), words);
  EXPECT_TRUE(RecordedCommand(words).masked_words().empty());
}

TEST(RecordedCommands, HaveNoPasswordsOfAddressesAndNoTokens) {
  const std::string token = "gh" + ("p_" + std::string("8f3kQ2mX9vLp7RtZ4wYb6NcJ1hGd5sKaUeT0"));
  EXPECT_THAT(
      RecordedCommand({"./train", "postgres://ada:hunter2@db/x", "https://a:b/c@host/",
                       "git+https://" + token + "@github.com/x", token, "note:" + token + ".",
                       "Authorization: Bearer abc", "-H", "X-Api-Key: abc"})
          .words(),
      ElementsAre("./train", "postgres://ada:***@db/x", "https://a:***@host/",
                  "git+https://***@github.com/x", "***", "note:***.", "Authorization: ***", "-H",
                  "X-Api-Key: ***"));
}

TEST(RecordedCommands, NameWhatTheyMask) {
  const auto masked = RecordedCommand({"./train", "--password=x", "--api-key", "y", "--kwargs",
                                       "token=z", "--db", "pg://a:b@c", "pg://a:b@c"})
                          .masked_words();
  ASSERT_EQ(masked.size(), 5u);
  EXPECT_EQ(masked[0].name, "--password");
  EXPECT_EQ(masked[0].begins, 11u);
  EXPECT_EQ(masked[1].at, 3u);
  EXPECT_EQ(secret_variable(masked[1].name), "FLOR_SECRET_API_KEY");
  EXPECT_EQ(masked[2].name, "token");
  EXPECT_EQ(masked[3].name, "--db");
  EXPECT_EQ(secret_variable("db.password"), "FLOR_SECRET_DB_PASSWORD");
}

TEST(RecordedCommands, MaskTheNamesThatASettingAdds) {
  EXPECT_FALSE(is_secret("--launch-code", "00000000"));
  add_secret_names("launch_code, magic-word");
  EXPECT_EQ(RecordedCommand({"./train", "--launch-code", "00000000", "magicWord=please"}).words(),
            (std::vector<std::string>{"./train", "--launch-code", "***", "magicWord=***"}));
}

RC_GTEST_PROP(MaskedTexts, AreTheSameMaskedOnceMore, ()) {
  const auto pieces = *rc::gen::container<std::vector<std::string>>(rc::gen::element<std::string>(
      "--password", "=", " ", "token", ":", "\"", "'", "://", "@", "u", "/", "Bearer ", "x1234567",
      "***", "\\", "{", "&", "AKIA" "4QF7ZK2MXW9LTRPB", "-", ","));
  std::string text;
  for (const std::string& piece : pieces) text += piece;
  RC_ASSERT(masked(masked(text)) == masked(text));
  const RecordedCommand command({"./train", text, "y"});
  RC_ASSERT(RecordedCommand(command.words()) == command);
}

class MaskingTest : public StoreTest {};

TEST_F(MaskingTest, NothingThatEntersACatalogHasASecret) {
  const auto store = open();
  Catalog& catalog = store->catalog();
  NewRun start = new_run("x");
  start.command = {"./train", "--password", "hunter2"};
  const Run run = catalog.add_run(start);
  catalog.add_argument(run.id, {"api_key", "text", "hunter2"});
  catalog.add_argument(run.id, {"url", "text", "https://u:hunter2@h"});
  catalog.add_argument(run.id, {"max_tokens", "int", "512"});
  NewReplay replay;
  replay.run = run.id;
  replay.command = {"./train", "--token=hunter2"};
  catalog.add_replay(replay);
  catalog.remember_build_command("/r", "/p", "TOKEN=hunter2 make");
  catalog.remember_build_command("/r", "/q", "make");
  EXPECT_EQ(catalog.run(run.id)->start.command.words().back(), "***");
  const auto arguments = catalog.arguments(run.id);
  ASSERT_EQ(arguments.size(), 3u);
  EXPECT_TRUE(arguments[0].is_secret() && arguments[1].is_secret());
  EXPECT_EQ(arguments[1].value, "https://u:***@h");
  EXPECT_EQ(arguments[2].value, "512");
  EXPECT_EQ(catalog.replays(run.id).at(0).start.command.words().back(), "--token=***");
  EXPECT_EQ(catalog.build_command("/r", "/p"), std::nullopt);
  EXPECT_EQ(catalog.build_command("/r", "/q"), "make");
}

mode_t mode_of(const std::filesystem::path& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 ? status.st_mode & 07777 : 0;
}

struct Umask {
  explicit Umask(mode_t mask) : before(::umask(mask)) {}
  ~Umask() { ::umask(before); }
  mode_t before;
};

class HomeModesTest : public ::testing::TestWithParam<mode_t> {
 protected:
  testing::TemporaryDirectory directory_;
  std::filesystem::path home_ = directory_.path() / "above" / "home";

  void write() const {
    const auto store = Store::open(home_, OpenMode::create);
    const store::Run run = store->catalog().add_run(new_run());
    const auto lock = store->lock_run(run.key);
    const auto use = store->use_run(run.key);
    CheckpointWriter writer(*store, run.id);
    writer.write(boundary(1), make_snapshot(1, 1, 100));
    expect_all();
  }
  void expect_all() const {
    const mode_t home = mode_of(home_);
    for (const auto& entry : std::filesystem::recursive_directory_iterator(home_)) {
      const mode_t expected = entry.is_directory() ? home : home & 0666;
      EXPECT_EQ(mode_of(entry.path()), expected) << entry.path();
    }
  }
};

TEST_P(HomeModesTest, AHomeIsForItsUserAloneWhateverTheUmask) {
  const Umask umask(GetParam());
  write();
  EXPECT_EQ(mode_of(home_), mode_t{0700});
}

TEST_P(HomeModesTest, AHomeThatItsUserSharesIsSharedWithAllInIt) {
  std::filesystem::create_directories(home_);
  ASSERT_EQ(::chmod(home_.c_str(), 02770), 0);
  const Umask umask(GetParam());
  write();
  EXPECT_EQ(mode_of(home_), mode_t{02770});
}

INSTANTIATE_TEST_SUITE_P(Umasks, HomeModesTest, ::testing::Values(0, 022, 077));

}  // namespace
}  // namespace flor::store
