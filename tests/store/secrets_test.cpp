// Command lines and arguments as they are recorded: secrets masked in every form of a command line,
// everything else as it was.
#include "database/store_impl.h"
#include "index/copies/run_image.h"
#include "index/refresh.h"
#include "index/writing.h"
#include "journal_texts.h"
#include "maintain/archive.h"
#include "maintain/collect.h"
#include "maintain/repair.h"
#include "store_fixture.h"
#include "support/content.h"

#include <flor/store/secrets.h>

#include <fmt/ranges.h>
#include <rapidcheck/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <functional>

namespace flor::store {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const std::vector<std::string> kNames = {"password",
                                         "passwd",
                                         "db-password",
                                         "DB_PASSWORD",
                                         "userPassword",
                                         "passphrase",
                                         "secret",
                                         "client-secret",
                                         "api-key",
                                         "api_key",
                                         "apikey",
                                         "APIKey",
                                         "openai-api-key",
                                         "access-key",
                                         "token",
                                         "auth-token",
                                         "hf_token",
                                         "access_token",
                                         "AWS_SECRET_ACCESS_KEY",
                                         "private-key",
                                         "credentials",
                                         "authorization",
                                         "wandb-key",
                                         "db.password",
                                         "smtp_pass",
                                         "session_cookie",
                                         "sshKey",
                                         "bearer"};

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
  const std::vector<std::string> words = {"./train",
                                          "--flor",
                                          "linear",
                                          "--max-tokens",
                                          "512",
                                          "--eos-token",
                                          "</s>",
                                          "--mask_token=[MASK]",
                                          "--pad-token-id",
                                          "0",
                                          "--tokenizer",
                                          "bpe",
                                          "--token-dropout",
                                          "0.1",
                                          "--sort-key",
                                          "name",
                                          "--keys",
                                          "a,b",
                                          "--no-password",
                                          "file.txt",
                                          "--use-auth-token",
                                          "data.csv",
                                          "--token",
                                          "true",
                                          "--secret-file",
                                          "/run/secrets/x",
                                          "--credentials",
                                          "creds.json",
                                          "--master",
                                          "tcp://10.0.0.1:29500",
                                          "--data",
                                          "s3://bucket/a@v1",
                                          "git@github.com:a/b.git",
                                          "ssh://git@host/x",
                                          "https://host:8080/p@q",
                                          "--password",
                                          "--lr",
                                          "0.1",
                                          "lr=0.1",
                                          "author=ada",
                                          "--passes=3",
                                          "monkey=1",
                                          "--n_tokens=8",
                                          "{\"tokens\": 3}",
                                          "PWD=/home/ada",
                                          "--pass=2",
                                          "cd /x && PWD=/y ./t",
                                          "--sig",
                                          "0.5",
                                          "--mask",
                                          "[PAD]",
                                          "http://localhost:8080/a@b",
                                          "registry/x:1.2@sha256:00ff",
                                          "--server=host:8080/x@y",
                                          "--token",
                                          "[unused1]",
                                          "--password",
                                          "--resume",
                                          "--api-key",
                                          "-v",
                                          "--title",
                                          "Basic Transformer",
                                          "--compass",
                                          "north",
                                          "quote \" and\nline"};
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
  const auto pieces = *rc::gen::container<std::vector<std::string>>(
      rc::gen::element<std::string>("--password", "=", " ", "token", ":", "\"", "'", "://", "@",
                                    "u", "/", "Bearer ", "x1234567", "***", "\\", "{", "&",
                                    "AKIA"
                                    "4QF7ZK2MXW9LTRPB",
                                    "-", ","));
  std::string text;
  for (const std::string& piece : pieces) text += piece;
  RC_ASSERT(masked(masked(text)) == masked(text));
  const RecordedCommand command({"./train", text, "y"});
  RC_ASSERT(RecordedCommand(command.words()) == command);
}

// ---------------------------------------------------------------------------------------------
// Generated commands: a secret of any bytes, in every spelling of a command line.

/// Pieces that no other word of a command has, with bytes between them that mean something to
/// shells, JSON, addresses and connection strings.
struct Secret {
  std::vector<std::string> pieces;
  std::vector<std::string> between;

  std::string text() const {
    std::string all = pieces.front();
    for (std::size_t i = 0; i < between.size(); ++i) all += between[i] + pieces[i + 1];
    return all;
  }
  bool is_in(std::string_view text) const {
    return std::ranges::any_of(pieces, [&](auto& piece) { return text.find(piece) != text.npos; });
  }
};

Secret any_secret(std::initializer_list<std::string> between) {
  Secret secret;
  secret.between = *rc::gen::container<std::vector<std::string>>(
      *rc::gen::inRange<std::size_t>(0, 4), rc::gen::elementOf(std::vector(between)));
  for (std::size_t i = 0; i <= secret.between.size(); ++i) {
    secret.pieces.push_back(*rc::gen::elementOf(
        std::vector<std::string>{"hunter2", "Zq8Kx", "9x7Wv", "77Yj", "mQ_5b"}));
  }
  return secret;
}

std::string escaped(std::string_view text, std::string_view special) {
  std::string out;
  for (const char c : text) {
    if (special.find(c) != special.npos) out += '\\';
    out += c;
  }
  return out;
}
std::string in_json(std::string_view text) { return '"' + escaped(text, "\"\\") + '"'; }
std::string in_single_quotes(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}
std::string in_double_quotes(std::string_view text) { return '"' + escaped(text, "\"\\$`") + '"'; }
std::string with_backslashes(std::string_view text) {
  return escaped(text, " \t\"'\\$`&|;()<>*?[]{}~#!");
}

/// The ways of a shell to write a word.
std::string any_shell_word(std::string_view text) {
  switch (*rc::gen::inRange(0, 3)) {
    case 0:
      return in_single_quotes(text);
    case 1:
      return in_double_quotes(text);
    default:
      return with_backslashes(text);
  }
}

using Words = std::vector<std::string>;

/// The words that hold the secret.
Words spelled(const std::string& name, const std::string& secret) {
  const std::string option = (*rc::gen::arbitrary<bool>() ? "--" : "-") + name;
  const std::vector<std::function<Words()>> ways = {
      [&] {
        return Words{option, secret};
      },
      [&] { return Words{option + "=" + secret}; },
      [&] { return Words{name + "=" + secret}; },
      [&] { return Words{"--set=" + name + "=" + secret}; },
      [&] { return Words{"-D" + name + "=" + secret}; },
      [&] { return Words{"{\"lr\": 1, \"" + name + "\": " + in_json(secret) + ", \"n\": 2}"}; },
      [&] { return Words{"--config={\"" + name + "\":" + in_json(secret) + "}"}; },
      [&] {
        return Words{"{\"" + name + "\": [" + in_json(secret) + ", " + in_json(secret) + "]}"};
      },
      [&] { return Words{"{\"" + name + "\": {\"value\": " + in_json(secret) + "}}"}; },
      [&] { return Words{in_json("{\"" + name + "\": " + in_json(secret) + "}")}; },
      [&] {
        return Words{"sh", "-c", "./t " + option + " " + any_shell_word(secret) + " --lr 1"};
      },
      [&] {
        return Words{"sh", "-c", "./t " + option + "=" + any_shell_word(secret) + " --lr 1"};
      },
      [&] {
        return Words{"sh", "-c", name + "=" + any_shell_word(secret) + " ./t --lr 1"};
      },
      [&] {
        return Words{"sh", "-c", "cd x;export " + name + "=" + any_shell_word(secret)};
      },
      [&] {
        return Words{"--header", name + ": " + secret};
      },
      [&] { return Words{name + "[0]=" + secret}; },
      [&] { return Words{"form[" + name + "]=" + secret}; },
  };
  return ways[*rc::gen::inRange<std::size_t>(0, ways.size())]();
}

const Words kOrdinary = {"--lr",         "0.1",
                         "--max-tokens", "512",
                         "--eos-token",  "</s>",
                         "data.csv",     "s3://b/a@v1",
                         "--title",      "don't",
                         "note=\"a b\"", "{\"lr\": 3}",
                         "--image",      "repo:tag@sha256:00ff",
                         "--verbose"};

/// Ordinary words before and after those with the secret stay, and of the secret nothing does.
void expect_masked(const Words& words, const Secret& secret) {
  Words all{"./train"};
  const Words before = *rc::gen::container<Words>(2, rc::gen::elementOf(kOrdinary));
  all.insert(all.end(), before.begin(), before.end());
  all.emplace_back("plain");  // so that no option before it takes what follows
  all.insert(all.end(), words.begin(), words.end());
  all.insert(all.end(), {"--epochs", "7", "last.txt"});
  const RecordedCommand command(all);
  RC_LOG() << fmt::format("{}", fmt::join(all, "|")) << "\n" << command.text() << "\n";
  RC_ASSERT(!secret.is_in(command.text()));
  RC_ASSERT(command.words().size() == all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool holds = i >= before.size() + 2 && i < before.size() + 2 + words.size();
    RC_ASSERT(holds || command.words()[i] == all[i]);
  }
  RC_ASSERT(RecordedCommand(command.words()) == command);
  // In a shell's text the words that follow stay, too.
  if (words.back().starts_with("./t ") && words.back().ends_with(" --lr 1")) {
    RC_ASSERT(command.words()[before.size() + 4].ends_with(" --lr 1"));
  }
}

RC_GTEST_PROP(GeneratedCommands, HaveNoByteOfASecretAndAllOtherWords, ()) {
  const std::string name = *rc::gen::elementOf(kNames);
  const Secret secret =
      any_secret({"/", "-", "_", "+", "=", ".", "\"", "'", "\\", " ", "&", ",", ";",
                  "$", "!", "@", ":", "#", "%", "}",  "]", ")",  "*", "|", "~"});
  expect_masked(spelled(name, secret.text()), secret);
}

RC_GTEST_PROP(GeneratedCommands, HaveNoPasswordOfAnAddress, ()) {
  const Secret secret =
      any_secret({"/", "-", "_", "+", "=", ".", ":", "!", "%", "$", "*", "&", ","});
  const std::string scheme = *rc::gen::element<std::string>(
      "postgres", "postgresql+psycopg2", "mysql", "redis", "rediss", "mongodb+srv", "amqp", "ftp");
  const std::string user = *rc::gen::element<std::string>("ada", "", "ada.l");
  const std::string digits = *rc::gen::element<std::string>("", "12", "12/", "5432/");
  const std::string address =
      scheme + "://" + user + ":" + digits + secret.text() + "@db.example.org:5432/runs";
  const std::string web = "https://ada:" + secret.text() + "@example.org/path?x=1";
  const Words words = *rc::gen::elementOf(
      std::vector<Words>{{address},
                         {"--db", address},
                         {"--db=" + address},
                         {"sh", "-c", "./t --db " + address},
                         {"--proxy=ada:" + secret.text() + "@proxy.example.org:3128"},
                         {"--proxy", "ada:" + secret.text() + "@proxy.example.org"},
                         {web},
                         {"--index-url=" + web}});
  // In a text of a shell these would end the word.
  RC_PRE(words.front() != "sh" || address.find_first_of("&$*!,") == address.npos);
  expect_masked(words, secret);
}

RC_GTEST_PROP(GeneratedCommands, HaveNoPartOfAConnectionString, ()) {
  const Secret secret = any_secret({"/", "-", "_", "+", "=", ".", ":", "!", "%", "$", "@", ","});
  const Words words = *rc::gen::elementOf(std::vector<Words>{
      {"--dsn", "Server=db;Uid=sa;Pwd=" + secret.text() + ";Port=1"},
      {"--dsn=Server=db;Password={" + secret.text() + ";x};Port=1"},
      {"--pass", secret.text()},
      {"--pass=" + secret.text()},
      {"pwd=" + secret.text()},
      {"--password", "-" + secret.text()},
      {"--passwords", secret.text(), secret.text()},
      {"--api-keys", secret.text(), secret.text()},
      {"https://a.blob.core.windows.net/c/b?sv=2022-11-02&sr=b&sig=" + secret.text()}});
  expect_masked(words, secret);
}

TEST(RecordedCommands, MaskTheSpellingsThatWereMissed) {
  const Words words = {"./train",
                       R"({"password": "a\"hunter2", "lr": 1})",
                       R"({"passwords": ["hunter2", "hunter3"]})",
                       "--password",
                       "-hunter2",
                       "postgres://ada:12/hunter2@db/x",
                       "Server=db;Pwd=hunter2;Port=1",
                       "--pass",
                       "hunter2",
                       "--proxy=ada:hunter2@proxy:3128",
                       "rediss://hunter2@cache:6379/0",
                       "https://a.blob.core.windows.net/c?sv=1&sig=hunter2%3D&se=2",
                       R"(sh -c "./t --password hunter2\ more --lr 1")"};
  EXPECT_THAT(
      RecordedCommand(words).words(),
      ElementsAre("./train", R"({"password": "***", "lr": 1})", R"({"passwords": [***]})",
                  "--password", "***", "postgres://ada:***@db/x", "Server=db;Pwd=***;Port=1",
                  "--pass", "***", "--proxy=ada:***@proxy:3128", "rediss://***@cache:6379/0",
                  "https://a.blob.core.windows.net/c?sv=1&sig=***&se=2",
                  R"(sh -c "./t --password *** --lr 1")"));
}

TEST(RecordedCommands, MaskThePasswordOfAUserAndKeysOfQueries) {
  const Words words = {"./train",
                       "-u",
                       "ada:hunter2",
                       "--user=ada:hunter2",
                       "--login",
                       "ada@h.org:hunter2",
                       "--proxy-user",
                       "a:b:hunter2",
                       "https://h/x?key=hunter2hunter2hunter2&n=1",
                       "--gh-pat",
                       "hunter2",
                       "--otp=123456",
                       "--seed-phrase",
                       "hunter2 hunter2",
                       "--passwort=hunter2",
                       "PHPSESSIONID=hunter2",
                       "curl -u ada:hunter2 h"};
  EXPECT_THAT(RecordedCommand(words).words(),
              ElementsAre("./train", "-u", "ada:***", "--user=ada:***", "--login", "ada@h.org:***",
                          "--proxy-user", "a:***", "https://h/x?key=***&n=1", "--gh-pat", "***",
                          "--otp=***", "--seed-phrase", "***", "--passwort=***", "PHPSESSIONID=***",
                          "curl -u ada:*** h"));
  const Words others = {"./train",      "-u",
                        "train.py",     "--user",
                        "1000:1000",    "-u",
                        "http://h:80",  "--pat",
                        "*.py",         "https://h/?key=name",
                        "--phrase",     "two words",
                        "session_id=3", "-p",
                        "8080",         "--user",
                        "ada",          "key=0123456789abcdef0123"};
  EXPECT_EQ(RecordedCommand(others).words(), others);
}

/// Of this thread, which other processes do not slow down.
double processor_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

TEST(RecordedCommands, AreMaskedInTimeThatGrowsWithTheirLengthAlone) {
  const auto took = [](const std::string& piece, std::size_t size) {
    std::string text;
    while (text.size() < size) text += piece;
    const double begin = processor_seconds();
    EXPECT_FALSE(masked(text).empty());
    return processor_seconds() - begin;
  };
  for (const std::string piece :
       {"token=[", "a=[", "--password \\", "p=\"", "x='--token ", "db=a:", "://a:", "sig=&",
        "token=/", "token=1", "{\"a\":{", "\\\"", "password:{'"}) {
    EXPECT_LT(took(piece, 256 << 10), 8 * took(piece, 64 << 10) + 0.05) << piece;
  }
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
  catalog.remember_build_command(run.id, "/r", "/p", "TOKEN=hunter2 make");
  catalog.remember_build_command(run.id, "/r", "/q", "make");
  EXPECT_EQ(catalog.run(run.id)->start.command.words().back(), "***");
  const auto arguments = catalog.arguments(run.id);
  ASSERT_EQ(arguments.size(), 3u);
  EXPECT_TRUE(arguments[0].is_secret() && arguments[1].is_secret());
  EXPECT_EQ(arguments[1].value, "https://u:***@h");
  EXPECT_EQ(arguments[2].value, "512");
  EXPECT_EQ(catalog.replays(run.id).at(0).start.command.words().back(), "--token=***");
  EXPECT_EQ(catalog.build_command("/r", "/p"), std::nullopt);
  EXPECT_EQ(catalog.build_command("/r", "/q"), "make");
  constexpr std::string_view kWhy = "cannot connect to postgres://u:hunter2@h with token=hunter2";
  const std::string without = "cannot connect to postgres://u:***@h with token=***";
  catalog.doubt_replay(catalog.replays(run.id).at(0).id, kWhy);
  catalog.put_gaps(run.id, std::vector<Gap>{{.first = 1, .last = 2, .why = kWhy}});
  EXPECT_EQ(catalog.gaps(run.id).at(0).why.text(), without);
  catalog.interrupt_run(run.id, kWhy);
  EXPECT_EQ(catalog.run(run.id)->message, without);
  catalog.finish_run(run.id, 1, true, kWhy);
  EXPECT_EQ(catalog.run(run.id)->message, without);
  Database& database = *store->impl().database;
  const RunOrigin origin{RunOrigin::Kind::fetched, "file:///bucket", 1};
  {
    Writing writing(database);
    writing.note(run.id, MergeEvent{origin, image_of(database.connection, run.id, ImageOf::none)});
    writing.note(run.id,
                 CopyEvent{"", origin, image_of(database.connection, run.id, ImageOf::all)});
    writing.commit();
  }
  const JournalTexts journals = texts_of_journals(home());
  EXPECT_THAT(journals.text, Not(HasSubstr("hunter2")));
  EXPECT_THAT(journals.text, HasSubstr("--token=***"));
  EXPECT_EQ(journals.kinds,
            (std::set{EventKind::writer, EventKind::run, EventKind::argument, EventKind::replay,
                      EventKind::build_command, EventKind::copy, EventKind::merge, EventKind::doubt,
                      EventKind::gaps, EventKind::interrupt, EventKind::end}));
}

/// The search finds what is packed, in an image and in a value.
TEST_F(MaskingTest, ASecretInAJournalIsFoundHoweverItIsPacked) {
  const auto store = open();
  Database& database = *store->impl().database;
  const Run run = store->catalog().add_run(new_run("x"));
  const std::vector<Value> texts(
      100, {"said", {"", -1, -1, ""}, 0, ValueType::text, std::string("horse-in-a-value"), 0});
  std::vector<Value> values = texts;
  for (std::size_t i = 0; i < values.size(); ++i) values[i].ordinal = static_cast<int>(i);
  store->catalog().add_values(run.id, values);
  database.connection("UPDATE run SET message = 'battery-in-an-image'")->run();
  Writing writing(database);
  writing.note(run.id, CopyEvent{"",
                                 {RunOrigin::Kind::fetched, "file:///bucket", 1},
                                 image_of(database.connection, run.id, ImageOf::all)});
  writing.commit();
  const std::string said = texts_of_journals(home()).text;
  EXPECT_THAT(said, HasSubstr("horse-in-a-value"));
  EXPECT_THAT(said, HasSubstr("battery-in-an-image"));
}

mode_t mode_of(const std::filesystem::path& path) {
  struct stat status {};
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
  /// All that makes files anew: deleting, collecting, archiving, repairing, an index that is lost.
  void maintain() const {
    const Paths paths{home_};
    const auto files = [](const std::filesystem::path& directory) {
      return std::ranges::distance(std::filesystem::directory_iterator(directory),
                                   std::filesystem::directory_iterator());
    };
    std::string key;
    {
      const auto store = Store::open(home_, OpenMode::existing);
      store::Run run = store->catalog().add_run(new_run());
      key = run.key;
      for (int step = 0; step < 4; ++step) {
        CheckpointWriter(*store, run.id).write(boundary(step), make_snapshot(2, step, 3000));
      }
      store->catalog().finish_run(run.id, new_run().started_us + 1, false, "");
      const std::vector<CheckpointKey> deleted{boundary(0)};
      store->catalog().drop_checkpoints(run.id, deleted);
      EXPECT_GT(archive(*store, *store->catalog().run(run.id), {}).chunks_written, 0);
      EXPECT_GT(collect(*store, false, 1).packs_removed, 0);
      EXPECT_GT(collect(*store, false, 1).packs_compacted, 0);
    }
    expect_all();
    rebuild(paths, Filesystem::system());
    ASSERT_TRUE(std::filesystem::exists(home_ / "catalog.db.old"));
    expect_all();
    for (const FoundJournal& journal : find_journals(paths, key)) overwrite(journal.path, 0.5);
    for (const auto& pack : testing::packs_of(home_)) {
      overwrite(pack.path(), 0.5);
    }
    const auto store = Store::open(home_, OpenMode::existing);
    repair(*store);
    EXPECT_GE(files(paths.quarantine()), 2) << "a journal, and records";
    EXPECT_EQ(damage(*store), "");
    remember_damage(paths.catalog());
    expect_all();
  }
  static void overwrite(const std::filesystem::path& path, double share) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    const auto size = static_cast<double>(std::filesystem::file_size(path));
    file.seekp(static_cast<std::streamoff>(size * share)) << "damaged, several bits of it";
  }
  void expect_all() const {
    const mode_t home = mode_of(home_);
    for (const auto& entry : std::filesystem::recursive_directory_iterator(home_)) {
      const mode_t expected = entry.is_directory() ? home : home & 0666;
      EXPECT_EQ(mode_of(entry.path()), expected) << entry.path();
    }
  }
};

TEST(HomeTest, ThatIsNoDirectoryIsRefusedWithWhatItIs) {
  const flor::testing::TemporaryDirectory directory;
  const auto file = directory.path() / "file", link = directory.path() / "link";
  std::ofstream(file) << "x";
  std::filesystem::create_symlink(directory.path() / "gone", link);
  for (const OpenMode mode : {OpenMode::read_only, OpenMode::existing, OpenMode::create}) {
    for (const auto& home : {std::pair(file, "is a file"), std::pair(link, "is a link to")}) {
      EXPECT_THAT([&] { Store::open(home.first, mode); },
                  ::testing::ThrowsMessage<UsageError>(
                      AllOf(HasSubstr(home.second), HasSubstr("FLOR_HOME"))));
    }
  }
  EXPECT_EQ(testing::content_of(file), "x");
}

TEST_P(HomeModesTest, AHomeIsForItsUserAloneWhateverTheUmask) {
  const Umask umask(GetParam());
  write();
  maintain();
  EXPECT_EQ(mode_of(home_), mode_t{0700});
}

TEST_P(HomeModesTest, AHomeThatItsUserSharesIsSharedWithAllInIt) {
  std::filesystem::create_directories(home_);
  ASSERT_EQ(::chmod(home_.c_str(), 02770), 0);
  const Umask umask(GetParam());
  write();
  maintain();
  EXPECT_EQ(mode_of(home_), mode_t{02770});
}

INSTANTIATE_TEST_SUITE_P(Umasks, HomeModesTest, ::testing::Values(0, 022, 077, 0777));

}  // namespace
}  // namespace flor::store
