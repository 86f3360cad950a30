#include "completion.h"

#include "choose/run_spec.h"
#include "output/terminal_text.h"
#include "output/time.h"
#include "protocol/program_of_run.h"

#include <flor/store/store.h>

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <span>

namespace flor::cli {
namespace {

/// At most so many runs are offered by their keys, and looked at: users look for recent runs.
constexpr std::size_t kRunsShown = 20, kRunsLookedAt = 2000;

/// The command line up to the cursor, as far as it was parsed.
struct Line {
  const CommandPage* command = nullptr;
  std::string home;
  std::vector<std::string> operands;  ///< the operands before the cursor
  std::optional<OptionForm> option;   ///< the option whose value is being written
  std::string beginning;              ///< beginning of the word at the cursor
  std::string attached;               ///< "--run=" if the value is in the same word as the option
  bool only_operands = false;         ///< after "--": no word is an option
};

const Syntax::Entry* find_option(const std::vector<Syntax::Entry>& entries, std::string_view name) {
  for (const Syntax::Entry& entry : entries) {
    if (entry.operand) continue;
    const OptionForm form = option_form(entry);
    if (std::ranges::find(form.names, name) != form.names.end()) return &entry;
  }
  return nullptr;
}

std::optional<OptionForm> option_named(const Pages& pages, const Line& line,
                                       std::string_view name) {
  const Syntax::Entry* found = find_option(pages.global, name);
  if (!found && line.command) found = find_option(line.command->entries, name);
  if (!found) return std::nullopt;
  return option_form(*found);
}

const CommandPage* command_named(const Pages& pages, std::string_view name) {
  const auto found = std::ranges::find_if(pages.commands, [&](const CommandPage& page) {
    return page.name == name || std::ranges::find(page.aliases, name) != page.aliases.end();
  });
  return found == pages.commands.end() ? nullptr : &*found;
}

Line read_line(const Pages& pages, const std::vector<std::string>& words) {
  Line line;
  const std::size_t before = words.empty() ? 0 : words.size() - 1;
  for (std::size_t i = 0; i < before; ++i) {
    const std::string& word = words[i];
    if (word == "--" && line.command) {
      line.only_operands = true;
    } else if (line.only_operands || !word.starts_with('-')) {
      if (line.command) {
        line.operands.push_back(word);
      } else {
        line.command = command_named(pages, word);
      }
    } else if (const auto form = option_named(pages, line, word.substr(0, word.find('=')));
               form && !form->value.empty() && word.find('=') == word.npos) {
      if (i + 1 == before) {
        line.option = form;
      } else {
        ++i;
        if (word == "--home") line.home = words[i];
      }
    }
  }
  if (!words.empty()) line.beginning = words.back();
  const std::size_t equals = line.beginning.find('=');
  if (!line.option && line.beginning.starts_with("--") && equals != line.beginning.npos) {
    line.option = option_named(pages, line, line.beginning.substr(0, equals));
    line.attached = line.beginning.substr(0, equals + 1);
    line.beginning.erase(0, equals + 1);
  }
  return line;
}

class Completer {
 public:
  Completer(const Pages& pages, Line line) : pages_(pages), line_(std::move(line)) {}

  Completions run() {
    if (line_.option) {
      value(line_.option->value);
    } else if (!line_.command) {
      if (line_.beginning.starts_with('-')) options(pages_.global);
      commands();
    } else if (!line_.only_operands && line_.beginning.starts_with('-')) {
      options(line_.command->entries);
      options(pages_.global);
    } else {
      operand();
    }
    return std::move(found_);
  }

 private:
  void offer(const std::string& word, std::string description = {}) {
    if (!word.starts_with(line_.beginning) || word.find_first_of("\n\t") != word.npos) return;
    if (!offered_.insert(word).second) return;
    found_.words.push_back({line_.attached + word, std::move(description)});
  }

  void commands() {
    for (const CommandPage& page : pages_.commands) {
      offer(page.name, page.summary);
      // An alias is offered only when its beginning has been typed.
      for (const std::string& alias : page.aliases) {
        if (!line_.beginning.empty()) offer(alias, page.summary);
      }
    }
    offer("help", "show this, or the help of a command");
  }

  void options(const std::vector<Syntax::Entry>& entries) {
    for (const Syntax::Entry& entry : entries) {
      if (entry.operand) continue;
      for (const std::string& name : option_form(entry).names) {
        // A short name is offered only when a letter has been typed.
        if (name.starts_with("--") || line_.beginning.size() > 1) offer(name, entry.help);
      }
    }
  }

  void operand() {
    if (line_.command->name == "help") return commands();
    std::vector<std::string> kinds;
    for (const Syntax::Entry& entry : line_.command->entries) {
      if (entry.operand) kinds.push_back(entry.left);
    }
    if (kinds.empty()) return;
    // The last operand may be given several times.
    value(kinds[std::min(line_.operands.size(), kinds.size() - 1)]);
  }

  void value(const std::string& kind) {
    if (kind == "WHEN") {
      for (const char* word : {"auto", "always", "never"}) offer(word);
    } else if (kind == "RUN" || kind == "RUN@EPOCH" || kind == "NAME|RUN" || kind == "A" ||
               kind == "B" || kind == "RUN...") {
      runs();
    } else if (kind == "NAME" && !is_other_name()) {
      experiments();
    } else if (kind == "METRIC" || kind == "COLUMN" || kind == "A,B") {
      metrics();
    } else if (kind == "KEY") {
      keys();
    } else if (kind == "LOOP" || (kind == "NAME" && is_option("--loop"))) {
      loops();
    } else if (kind == "DIR") {
      found_.paths = Completions::Paths::directories;
    } else if (kind.starts_with("FILE") || kind == "PROGRAM" || kind == "COMMAND" ||
               kind.ends_with("SPEC")) {
      found_.paths = Completions::Paths::files;
    } else if (kind.find('|') != kind.npos && std::ranges::none_of(kind, is_upper)) {
      for (std::size_t begin = 0; begin <= kind.size();) {
        const std::size_t end = std::min(kind.find('|', begin), kind.size());
        offer(kind.substr(begin, end - begin));
        begin = end + 1;
      }
    }
  }
  static bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
  bool is_option(std::string_view name) const {
    return line_.option &&
           std::ranges::find(line_.option->names, name) != line_.option->names.end();
  }
  /// Whether the word at the cursor is a name, but not of an experiment.
  bool is_other_name() const { return line_.option && !is_option("--experiment"); }

  // Names in the store
  // -----------------------------------------------------------------------------

  const store::Catalog* catalog() {
    if (!opened_) {
      opened_ = true;
      try {
        store_ = store::Store::open(store::home_directory(line_.home), store::OpenMode::read_only);
      } catch (const std::exception&) {  // without a store there is nothing to offer; an error
                                         // would disturb the prompt
      }
    }
    return store_ ? &store_->catalog() : nullptr;
  }

  void experiments() {
    if (!catalog()) return;
    for (const std::string& name : catalog()->experiments()) {
      offer(name, "experiment");
    }
  }

  void runs() {
    if (!catalog()) return;
    if (const std::size_t tilde = line_.beginning.rfind('~');
        tilde != std::string::npos && tilde > 0) {
      return earlier_runs(line_.beginning.substr(0, tilde));
    }
    experiments();
    std::size_t shown = 0;
    for (const store::Run& run : catalog()->runs({}, kRunsLookedAt)) {
      if (shown == kRunsShown) break;
      if (!run.key.starts_with(line_.beginning)) continue;
      offer(line_.beginning.size() > 8 ? run.key : short_key(run), description(run));
      ++shown;
    }
  }

  void earlier_runs(const std::string& experiment) {
    std::size_t number = 0;
    std::vector<store::Run> runs = catalog()->runs(experiment, kRunsLookedAt);
    detail::leave_out_fetched(runs);  // the experiment's name does not mean fetched runs
    if (runs.size() > kRunsShown) runs.resize(kRunsShown);
    for (const store::Run& run : runs) {
      offer(fmt::format("{}~{}", experiment, number++), description(run));
    }
  }

  std::string description(const store::Run& run) const {
    return fmt::format("{}, {}", printable(run.start.experiment), ago(run.start.started_us));
  }
  static std::string ago(std::int64_t then) { return relative(then, now_us()); }

  /// The run that an earlier operand names; without one, the default run.
  std::optional<store::Run> run_of_line() {
    if (!catalog()) return std::nullopt;
    try {
      return line_.operands.empty() ? default_run(*catalog())
                                    : parse_run_alone(*catalog(), line_.operands.front());
    } catch (const std::exception&) {
      return std::nullopt;
    }
  }

  void metrics() {
    if (!catalog()) return;
    std::set<std::string> names;
    if (const auto run = run_of_line_or_latest()) {
      for (const auto& metric : catalog()->metrics(run->id)) names.insert(metric.name);
      for (const auto& argument : catalog()->arguments(run->id)) {
        if (line_.command->name == "list") names.insert(argument.name);
      }
    }
    for (const std::string& name : names) offer(name);
  }
  void keys() {
    for (const char* word : {"experiment", "tag", "commit", "status"}) offer(word);
    const auto run = catalog() ? run_of_line_or_latest() : std::nullopt;
    if (!run) return;
    for (const auto& argument : catalog()->arguments(run->id)) offer(argument.name, "argument");
  }
  std::optional<store::Run> run_of_line_or_latest() {
    // Only the operand of `flor list` names runs here; those of `flor query` are metrics.
    const bool named = !line_.operands.empty() && line_.command->name == "list";
    if (named) return run_of_line();
    const auto operands = std::exchange(line_.operands, {});
    auto run = run_of_line();
    line_.operands = operands;
    return run;
  }

  void loops() {
    const auto run = run_of_line();
    if (!run) return;
    std::set<std::string> names;
    for (const auto& execution : catalog()->executions(run->id)) {
      names.insert(execution.loop.substr(0, execution.loop.find('~')));
    }
    for (const std::string& name : names) offer(name);
  }

  const Pages& pages_;
  Line line_;
  Completions found_;
  std::set<std::string> offered_;
  bool opened_ = false;
  std::shared_ptr<const store::Store> store_;
};

}  // namespace

OptionForm option_form(const Syntax::Entry& entry) {
  OptionForm form;
  std::string word;
  const auto add = [&] {
    if (word.ends_with(',')) word.pop_back();
    if (word.empty()) return;
    if (word.starts_with('-')) {
      form.names.push_back(word);
    } else {
      form.value += (form.value.empty() ? "" : " ") + word;
    }
    word.clear();
  };
  for (const char c : entry.left) {
    if (c == ' ') {
      add();
    } else {
      word += c;
    }
  }
  add();
  return form;
}

Completions complete(const Pages& pages, const std::vector<std::string>& words) {
  return Completer(pages, read_line(pages, words)).run();
}

std::string print(const Completions& completions) {
  std::string text;
  for (const Completion& word : completions.words) {
    text += word.word;
    if (!word.description.empty()) text += "\t" + word.description;
    text += "\n";
  }
  if (completions.paths == Completions::Paths::files) text += ":files\n";
  if (completions.paths == Completions::Paths::directories) text += ":directories\n";
  return text;
}

}  // namespace flor::cli
