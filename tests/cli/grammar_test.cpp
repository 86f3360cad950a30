// One grammar: the declarations of all commands, compared with each other (docs/cli.md).
#include "app.h"
#include "commands/commands.h"
#include "cli/fixture.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <random>
#include <set>

namespace flor::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

/// An option of a command, taken apart.
struct Declared {
  std::string command, letter, name, value, help;  ///< letter: empty if it has none
};

std::vector<Declared> declared_in(const std::string& command,
                                  const std::vector<cli::Syntax::Entry>& entries) {
  std::vector<Declared> result;
  for (const cli::Syntax::Entry& entry : entries) {
    if (entry.operand) continue;
    const cli::OptionForm form = cli::option_form(entry);
    Declared option{command, {}, {}, form.value, entry.help};
    for (const std::string& name : form.names) {
      (name.starts_with("--") ? option.name : option.letter) = name;
    }
    EXPECT_LE(form.names.size(), 2u) << command << " " << entry.left;
    result.push_back(option);
  }
  return result;
}

std::vector<Declared> all_declared() {
  const cli::Pages pages = cli::command_pages(cli::all_commands());
  std::vector<Declared> result = declared_in("", pages.global);
  for (const cli::CommandPage& page : pages.commands) {
    for (Declared& option : declared_in(page.name, page.entries)) {
      result.push_back(std::move(option));
    }
  }
  return result;
}

std::string first_word(const std::string& text) {
  return text.substr(0, text.find_first_of(" ,:"));
}

/// The text of a file of the sources.
std::string source(const std::string& path) {
  std::ifstream file(std::filesystem::path(FLOR_SOURCE_DIR) / path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Grammar, ALetterStandsForOneLongNameInAllCommands) {
  std::map<std::string, std::set<std::string>> names_of;
  for (const Declared& option : all_declared()) {
    EXPECT_FALSE(option.name.empty()) << option.command << " " << option.letter;
    if (!option.letter.empty()) names_of[option.letter].insert(option.name);
  }
  for (const auto& [letter, names] : names_of) {
    EXPECT_THAT(names, SizeIs(1)) << letter;
  }
}

TEST(Grammar, ALongNameHasTheSameLetterWhereverItOccurs) {
  std::map<std::string, std::set<std::string>> letters_of;
  for (const Declared& option : all_declared()) letters_of[option.name].insert(option.letter);
  for (const auto& [name, letters] : letters_of) {
    EXPECT_THAT(letters, SizeIs(1)) << name;
  }
  EXPECT_THAT(letters_of["--limit"], ElementsAre("-n"));
  EXPECT_THAT(letters_of["--all"], ElementsAre("-a"));
  EXPECT_THAT(letters_of["--follow"], ElementsAre("-f"));
}

TEST(Grammar, ALongNameTakesTheSameKindOfValueWhereverItOccurs) {
  // A watch has an evaluator for each directory; a job has one. A replay chooses steps; an import
  // finds them in a column.
  const std::set<std::string> several{"--evaluator", "--step"};
  std::map<std::string, std::set<std::string>> values_of;
  for (const Declared& option : all_declared()) values_of[option.name].insert(option.value);
  for (const auto& [name, values] : values_of) {
    if (!several.contains(name)) {
      EXPECT_THAT(values, SizeIs(1)) << name;
    }
  }
}

TEST(Grammar, ALimitIsAlwaysCalledLimit) {
  for (const Declared& option : all_declared()) {
    const bool is_limit = option.value == "N" && option.help.starts_with("show at most");
    EXPECT_EQ(is_limit, option.name == "--limit") << option.command << " " << option.name;
    EXPECT_NE(option.value, "LIMIT") << option.command << " " << option.name;
    if (option.value == "N") {
      EXPECT_THAT(option.help, Not(HasSubstr("first N "))) << option.command << " " << option.name;
    }
  }
}

/// The words with which a help line may begin.
const std::set<std::string> kVerbs{
    "add",   "apply",  "ask",     "begin",  "bring", "build",  "change", "charge", "check",
    "choose", "color", "compare", "compute", "continue", "copy", "count", "deal",  "delete", "divide",
    "download", "draw", "end",    "evaluate", "execute", "explain", "fetch", "find", "fork",
    "fail",  "free",  "give",   "group", "hand",
    "judge",  "keep",  "leave",  "list",   "listen", "load",
    "look",  "make",   "move",   "name",    "pass",   "poll",   "print", "prune",  "rank",   "read",   "recompress", "record", "redraw", "remove",
    "replay", "rerun", "run",     "set",    "share", "show",   "sort",   "start",  "stay",
    "store", "submit", "take",    "tell",   "try",   "turn",   "upload", "use",    "verify",
    "wait",  "walk",   "write"};

TEST(Grammar, HelpLinesAreImperatives) {
  for (const Declared& option : all_declared()) {
    EXPECT_TRUE(kVerbs.contains(first_word(option.help)))
        << "flor " << option.command << " " << option.name << ": " << option.help;
  }
  for (const cli::CommandPage& page : cli::command_pages(cli::all_commands()).commands) {
    EXPECT_TRUE(kVerbs.contains(first_word(page.summary))) << page.name << ": " << page.summary;
    for (const cli::Syntax::Entry& entry : page.entries) {
      for (const std::string wrong : {"What", "Of", "Who", "That", "what", "who"}) {
        EXPECT_NE(first_word(entry.help), wrong) << page.name << " " << entry.left;
      }
    }
  }
}

TEST(Grammar, GeneralHelpShowsTheCommandsInGroups) {
  std::vector<std::string> groups;
  for (const cli::CommandPage& page : cli::command_pages(cli::all_commands()).commands) {
    if (groups.empty() || groups.back() != page.group) groups.push_back(page.group);
  }
  EXPECT_THAT(groups, SizeIs(9)) << "look, record, order, ask, versions, space, evaluate, elsewhere, check";
  EXPECT_EQ(std::set(groups.begin(), groups.end()).size(), groups.size());
}

TEST(Grammar, NoNameIsTwoCommands) {
  std::set<std::string> names{"help"};
  for (const cli::CommandPage& page : cli::command_pages(cli::all_commands()).commands) {
    EXPECT_TRUE(names.insert(page.name).second) << page.name;
    for (const std::string& alias : page.aliases) EXPECT_TRUE(names.insert(alias).second) << alias;
  }
}

TEST(Grammar, ThePageNamesEachLetterGroupAndAlias) {
  const std::string page = source("docs/cli.md");
  for (const Declared& option : all_declared()) {
    if (option.letter.empty()) continue;
    EXPECT_THAT(page, HasSubstr("| `" + option.letter + "` | `" + option.name + "` |"));
  }
  for (const cli::CommandPage& command : cli::command_pages(cli::all_commands()).commands) {
    EXPECT_THAT(page, HasSubstr("| " + command.group + " |"));
    EXPECT_THAT(page, HasSubstr("`" + command.name + "`"));
    for (const std::string& alias : command.aliases) {
      EXPECT_THAT(page, HasSubstr("`" + alias + "`"));
    }
  }
}

/// The command, with a store that has runs.
class Words : public CliTest {
 protected:
  Words() { record({}); }

  /// One line, status 2, nothing on stdout, and no word of the parser's library.
  std::string refused(const std::vector<std::string>& words) {
    const Outcome outcome = flor(words);
    EXPECT_EQ(outcome.status, 2) << outcome.out;
    EXPECT_THAT(outcome.out, IsEmpty());
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    for (const char* foreign :
         {"not expected", "is required", "Could not", "INVALID", "Expected", "requires",
          "ArgumentMismatch", "Error", "do not fit together"}) {
      EXPECT_THAT(outcome.err, Not(HasSubstr(foreign)));
    }
    return outcome.err;
  }
};

TEST_F(Words, AnUnknownOptionIsNamedWithTheOneThatWasMeant) {
  EXPECT_EQ(refused({"list", "--limt", "3"}),
            "flor: flor list has no --limt: did you mean '--limit'?\n");
  EXPECT_EQ(refused({"list", "--limt=3"}),
            "flor: flor list has no --limt: did you mean '--limit'?\n");
  EXPECT_EQ(refused({"list", "-limit", "3"}),
            "flor: flor list has no -limit: did you mean '--limit'?\n");
  EXPECT_EQ(refused({"show", "-x"}), "flor: flor show has no -x: see 'flor show --help'\n");
  EXPECT_EQ(refused({"show", "-ax"}), "flor: flor show has no -x: see 'flor show --help'\n");
  EXPECT_EQ(refused({"show", "-é"}), "flor: flor show has no -é: see 'flor show --help'\n");
  EXPECT_EQ(refused({"show", "--frobnicate"}),
            "flor: flor show has no --frobnicate: see 'flor show --help'\n");
  EXPECT_EQ(refused({"lst", "--jsno"}), "flor: no command 'lst': did you mean 'list'?\n");
  EXPECT_EQ(refused({"--jsno", "list"}), "flor: flor has no --jsno: did you mean '--json'?\n");
  EXPECT_EQ(refused({"-n", "5", "list"}),
            "flor: flor has no -n: options of a command stand after its name, as in 'flor list "
            "--limit 5'\n");
  EXPECT_EQ(refused({"--limit", "list"}),
            "flor: flor has no --limit: options of a command stand after its name, as in 'flor "
            "list --limit 5'\n");
}

TEST_F(Words, ALetterOrNameOfAnEarlierTimeIsAnsweredWithTheRightOne) {
  EXPECT_EQ(refused({"gc", "-n"}), "flor: flor gc has no -n: use --dry-run\n");
  EXPECT_EQ(refused({"replay", "linear", "-n"}), "flor: flor replay has no -n: use --dry-run\n");
  EXPECT_EQ(refused({"diff", "linear", "linear", "--code"}),
            "flor: flor diff has no --code: use --patch\n");
  EXPECT_EQ(refused({"spool", "linear", "file:///x", "--watch"}),
            "flor: flor spool has no --watch: use --follow\n");
  EXPECT_EQ(refused({"shutdown"}),
            "flor: no command 'shutdown': flor watch --stop ends the watches\n");
  EXPECT_THAT(refused({"merge", "linear"}), HasSubstr("git merge --squash COMMIT"));
}

TEST_F(Words, AValueThatIsMissingWrongOrTooManyIsSaid) {
  EXPECT_EQ(refused({"list", "-n"}), "flor: flor list: -n needs a value: -n N\n");
  EXPECT_EQ(refused({"list", "--where"}),
            "flor: flor list: --where needs a value: --where CONDITION\n");
  EXPECT_EQ(refused({"list", "--sort", "--all"}),
            "flor: flor list: --sort needs a value: --sort COLUMN; write --sort=--all if --all is "
            "meant\n");
  EXPECT_EQ(refused({"list", "--limit", "many"}),
            "flor: flor list: --limit many: give a whole number from 0 on, e.g. --limit 5\n");
  EXPECT_EQ(refused({"list", "-n-1"}),
            "flor: flor list: -n -1: give a whole number from 0 on, e.g. -n 5\n");
  EXPECT_EQ(refused({"list", "--all=yes"}),
            "flor: flor list: --all takes no value: write --all alone\n");
  EXPECT_EQ(refused({"list", "--sort", "lr", "--sort", "loss"}),
            "flor: flor list: --sort is given twice: give it once\n");
  EXPECT_EQ(refused({"list", "--home", "a"}),
            "flor: flor list: --home is given twice: give it once\n");
  EXPECT_THAT(refused({"list", "--home"}), HasSubstr("--home needs a value: --home DIR"));
  EXPECT_THAT(refused({"list", "--sort=", "lr"}), HasSubstr("--sort needs a value"));
  // A variable of the shell that was never set chooses nothing; it does not choose all.
  EXPECT_EQ(refused({"rm", "--where", ""}),
            "flor: flor rm: the value of --where is empty: --where CONDITION\n");
}

TEST_F(Words, OperandsThatAreMissingOrTooManyAreSaidWithTheUsage) {
  EXPECT_EQ(refused({"diff", "linear"}), "flor: flor diff needs B: flor diff [OPTIONS] A B\n");
  EXPECT_EQ(refused({"diff"}), "flor: flor diff needs A: flor diff [OPTIONS] A B\n");
  EXPECT_EQ(refused({"list", "linear", "other"}),
            "flor: flor list: 'other' is one operand too many: flor list [OPTIONS] [NAME]\n");
  EXPECT_EQ(refused({"config", "--", "--all"}),
            "flor: flor config: '--all' is one operand too many: flor config [OPTIONS]\n");
  EXPECT_EQ(refused({"show", ""}), "flor: flor show: RUN is empty: flor show [OPTIONS] [RUN]\n");
  EXPECT_THAT(refused({"rm", "linear", ""}), HasSubstr("RUN is empty"));
  EXPECT_THAT(refused({"help", "list", "show"}), HasSubstr("'show' is one operand too many"));
}

TEST_F(Words, EveryCommandAnswersEveryWrongWordItself) {
  for (const cli::CommandPage& page : cli::command_pages(cli::all_commands()).commands) {
    refused({page.name, "--no-such-option"});
    refused({page.name, "--no-such-option=1", "a", "b", "c"});
    refused({page.name, "-%"});
    refused({page.name, "--json=x"});
    refused({page.name, "--color"});
    for (const cli::Syntax::Entry& entry : page.entries) {
      if (entry.operand) continue;
      const cli::OptionForm form = cli::option_form(entry);
      for (const std::string& name : form.names) {
        if (form.value.empty()) {
          refused({page.name, name.starts_with("--") ? name + "=x" : name + "%"});
        } else {
          refused({page.name, name});
          refused({page.name, name, "--json"});
          refused({page.name, name, ""});
        }
      }
    }
  }
}

TEST_F(Words, ADashBeforeABlankOrNothingBeginsNoOption) {
  EXPECT_THAT(refused({"sql", "-- nothing"}), HasSubstr("no statement"));
  EXPECT_THAT(refused({"list", "a", "-"}), HasSubstr("'-' is one operand too many"));
}

TEST_F(Words, HelpWinsOverWordsThatDoNotFit) {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"diff", "--help"}, {"diff", "--frobnicate", "-h"}, {"list", "a", "b", "--help"}}) {
    const Outcome outcome = flor(words);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("Usage: flor " + words.front()));
  }
}

/// Words that fit and words that do not, as they come.
TEST_F(Words, NoOrderOfWordsReachesTheParsersOwnMessages) {
  std::mt19937 random(7);
  const auto below = [&](std::size_t end) { return random() % end; };
  int refusals = 0;
  for (const cli::CommandPage& page : cli::command_pages(cli::all_commands()).commands) {
    // These neither change anything nor stay.
    const std::set<std::string> harmless{"list", "show", "query", "diff", "config", "sql", "log"};
    if (!harmless.contains(page.name)) continue;
    std::vector<std::string> words{"", "-", "--", "-x", "5", "a", "-n5", "-n=5", "---", "--=", "-=",
                                   "--json", "--json=", "--color", "--color=never", "--color=",
                                   "-5", "a=b", "[a]", "@a", "--help=", "-hx"};
    for (const cli::Syntax::Entry& entry : page.entries) {
      if (entry.operand || entry.left.find("--follow") != std::string::npos) continue;
      for (const std::string& name : cli::option_form(entry).names) {
        words.insert(words.end(), {name, name + "=", name + "=5", name + "x"});
      }
    }
    for (int i = 0; i < 60; ++i) {
      std::vector<std::string> line{page.name};
      for (std::size_t count = 1 + below(4); count > 0; --count) {
        line.insert(line.begin() + static_cast<std::ptrdiff_t>(below(line.size() + 1)),
                    words[below(words.size())]);
      }
      const Outcome outcome = flor(line);
      EXPECT_THAT(outcome.err, Not(HasSubstr("do not fit together")))
          << ::testing::PrintToString(line);
      EXPECT_THAT(outcome.status, ::testing::AnyOf(0, 2, 3)) << ::testing::PrintToString(line);
      refusals += outcome.status == 2 ? 1 : 0;
    }
  }
  EXPECT_GT(refusals, 200);
}

TEST_F(Words, AliasesAreTheSameCommands) {
  EXPECT_EQ(flor({"ls", "-q"}).out, flor({"list", "-q"}).out);
  EXPECT_EQ(flor({"ls", "--help"}).out, flor({"list", "--help"}).out);
  EXPECT_EQ(flor({"help", "push"}).out, flor({"help", "spool"}).out);
  EXPECT_THAT(flor({"help", "pull"}).out, HasSubstr("flor pull is the same command"));
  EXPECT_EQ(refused({"pull"}),
            "flor: flor fetch needs NAME|RUN: flor fetch [OPTIONS] NAME|RUN URL\n");
  EXPECT_EQ(refused({"pulll"}), "flor: no command 'pulll': did you mean 'pull'?\n");
  const std::string bucket = "file://" + (directory_ / "bucket").string();
  EXPECT_EQ(flor({"push", "linear", bucket}).status, 0);
  EXPECT_EQ(flor({"pull", "linear", bucket}).status, 0);
}

TEST_F(Words, CompletionKnowsAliasesAndLetters) {
  EXPECT_THAT(bare({"complete", "pu"}).out, HasSubstr("push\tupload runs"));
  EXPECT_THAT(bare({"complete", "ls", "--whe"}).out, HasSubstr("--where\t"));
  EXPECT_THAT(bare({"complete", ""}).out, Not(HasSubstr("push\t")));
}

TEST_F(Words, AWatchIsStoppedOnlyByStop) {
  EXPECT_THAT(refused({"watch", "--now"}), HasSubstr("belong to flor watch --stop"));
  EXPECT_THAT(refused({"watch", "--stop", "runs"}), HasSubstr("flor watch --stop [--now]"));
  EXPECT_THAT(refused({"watch", "--stop", "--status"}), HasSubstr("exclude each other"));
  EXPECT_THAT(flor({"watch", "--stop"}).err, HasSubstr("no watch runs here"));
}

}  // namespace
}  // namespace flor::testing
