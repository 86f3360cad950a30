#include "protocol/flags.h"

#include "protocol/flag_names.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstring>
#include <functional>
#include <string_view>

namespace flor::detail {
namespace {

bool all_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

bool is_segment(std::string_view text) {
  const std::size_t slash = text.find('/');
  return slash != text.npos && all_digits(text.substr(0, slash)) &&
         all_digits(text.substr(slash + 1));
}

bool is_assignment(std::string_view text) {
  const std::size_t equals = text.find('=');
  return equals != text.npos && equals > 0 && text.front() != '-';
}

double parse_seconds(std::string_view flag, std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value > 0)) {
    throw UsageError(fmt::format("{} {}: expected a number of seconds above 0", flag, text));
  }
  return value;
}

std::int64_t parse_count(std::string_view flag, std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1) {
    throw UsageError(fmt::format("{} {}: expected a whole number of at least 1", flag, text));
  }
  return value;
}

/// Walks through argv and separates Flor's words from the program's.
class Parser {
 public:
  Parser(int argc, char** argv, bool worker) : words_(argv, argv + argc), worker_(worker) {}

  Flags parse() {
    for (const char* word : words_) flags_.command.emplace_back(word);
    if (!words_.empty()) kept_.push_back(words_[0]);
    for (next_ = 1; next_ < words_.size();) {
      if (std::strcmp(words_[next_], "--") == 0) {
        kept_.insert(kept_.end(), words_.begin() + static_cast<std::ptrdiff_t>(next_),
                     words_.end());
        break;
      }
      take_one();
    }
    if (flags_.help) return std::move(flags_);
    if (worker_) {
      forget_recording();
    } else {
      refuse_near_misses();
      check();
    }
    for (std::size_t i = 1; i < kept_.size(); ++i) flags_.arguments.emplace_back(kept_[i]);
    return std::move(flags_);
  }

  const std::vector<char*>& kept() const { return kept_; }

 private:
  void take_one() {
    char* word = words_[next_++];
    const std::string_view text = word;
    const std::size_t equals = text.find('=');
    flag_ = canonical_flag(text.substr(0, equals));
    attached_.reset();
    if (equals != text.npos) attached_ = std::string(text.substr(equals + 1));
    if (dispatch()) {
      end_of_own_ = next_;
      return;
    }
    // A word after one of the program's flags is taken for that flag's value.
    const bool follows_own = next_ - 1 == end_of_own_;
    if (is_segment(text) && (follows_own || kept_.back()[0] != '-')) stray_segment_ = text;
    kept_.push_back(word);
  }

  /// Throws for words before `--` that begin with a dash and resemble flags of Flor.
  void refuse_near_misses() const {
    for (std::size_t i = 1; i < kept_.size(); ++i) {
      const std::string_view word = kept_[i];
      if (word == "--") return;
      if (const auto meant = meant_flag(word.substr(0, word.find('=')), record_ || replay_)) {
        throw UsageError(
            fmt::format("{}: did you mean {}? A flag of the program's own that looks like Flor's "
                        "goes after --, or is named by flor::own_flags before flor::init",
                        word, *meant));
      }
    }
  }

  /// Handles one flag. Returns false if it is not Flor's.
  bool dispatch() {
    if (flag_ == "--flor") return take_record();
    if (is_replay_flag(flag_)) return take_replay();
    if (flag_ == "--kwargs") return take_assignments(flags_.kwargs, "lr=0.01");
    if (flag_ == "--flor_override") {
      replay_only_ = flag_;
      return take_assignments(flags_.instead.arguments, "device=cpu");
    }
    if (flag_ == "--flor_run") return set(flags_.run);
    if (flag_ == "--flor_home") return set(flags_.home);
    if (flag_ == "--flor_from") return take_from();
    if (flag_ == "--flor_init") return take_init();
    if (flag_ == "--flor_plugin") return take_plugin();
    if (flag_ == "--flor_verify") return take_verify();
    if (flag_ == "--flor_probe") return take_probes();
    if (flag_ == "--flor_every") return take_every();
    if (flag_ == "--flor_epsilon") return take_epsilon();
    if (flag_ == "--flor_every_steps") return take_every_steps();
    if (flag_ == "--flor_every_seconds") return take_every_seconds();
    if (flag_ == "--flor_resume") return take_resume();
    if (flag_ == "--flor_check") return take_check();
    if (flag_ == "--flor_output" || flag_ == "--flor_machine") return take_beside();
    if (flag_ == "--flor_epochs") return take_epochs();
    if (flag_ == "--flor_step") return take_steps();
    if (flag_ == "--flor_threads") {
      flags_.instead.threads = static_cast<int>(parse_count(flag_, value("N")));
      return true;
    }
    if (flag_ == "--flor_no_probe") return set_true(flags_.no_probe);
    if (flag_ == "--flor_help") {
      require_no_value();
      flags_.help = true;
      return true;
    }
    if (flag_ == "--flor_no_git") {
      require_no_value();
      flags_.git = false;
      return true;
    }
    if (flag_.starts_with("--flor") || flag_.starts_with("--replay_flor")) {
      const auto near = nearest_flag(flag_);
      throw UsageError(fmt::format("unknown flag {}: {}--flor_help shows Flor's flags", flag_,
                                   near ? fmt::format("did you mean {}? ", *near) : ""));
    }
    return false;
  }

  bool take_record() {
    if (record_) throw UsageError("--flor is given twice: name one experiment");
    record_ = true;
    if (attached_) {
      if (attached_->empty()) throw UsageError("--flor= needs a name: --flor NAME");
      flags_.name = *attached_;
    } else if (next_ < words_.size() && words_[next_][0] != '-') {
      flags_.name = words_[next_++];
      if (flags_.name.empty()) throw UsageError("--flor '': the name is empty; write --flor NAME");
    }
    return true;
  }

  bool take_replay() {
    if (replay_) throw UsageError(fmt::format("{}: a replay was asked for twice", flag_));
    replay_ = true;
    std::string text;
    if (attached_) {
      text = *attached_;
    } else if (next_ < words_.size() && is_segment(words_[next_])) {
      text = words_[next_++];
    } else {
      return true;
    }
    parse_segment(text);
    has_segment_ = true;
    return true;
  }

  void parse_segment(const std::string& text) {
    const std::string form = fmt::format(
        "{} {}: expected PID/NGPUS with 0 <= PID < NGPUS, for example {} 0/2", flag_, text, flag_);
    if (!is_segment(text)) throw UsageError(form);
    const std::size_t slash = text.find('/');
    const auto number = [&](std::string_view digits) {
      std::int64_t value = 0;
      const auto [end, error] =
          std::from_chars(digits.data(), digits.data() + digits.size(), value);
      if (error != std::errc()) throw UsageError(form);
      return value;
    };
    flags_.segment = number(std::string_view(text).substr(0, slash));
    flags_.segments = number(std::string_view(text).substr(slash + 1));
    if (flags_.segment >= flags_.segments) throw UsageError(form);
  }

  bool take_assignments(std::map<std::string, std::string>& into, std::string_view example) {
    const auto add = [&](const std::string& text) {
      if (!is_assignment(text)) {
        throw UsageError(fmt::format("{} {}: expected NAME=VALUE", flag_, text));
      }
      const std::size_t equals = text.find('=');
      into[text.substr(0, equals)] = text.substr(equals + 1);
    };
    if (attached_) {
      add(*attached_);
      return true;
    }
    bool any = false;
    for (; next_ < words_.size() && is_assignment(words_[next_]); any = true) add(words_[next_++]);
    if (!any) {
      throw UsageError(
          fmt::format("{}: expected NAME=VALUE, for example {} {}", flag_, flag_, example));
    }
    return true;
  }

  bool take_init() {
    const std::string kind = value("weak|strong");
    if (kind != "weak" && kind != "strong") {
      throw UsageError(fmt::format("--flor_init {}: expected weak or strong", kind));
    }
    flags_.strong = kind == "strong";
    replay_only_ = flag_;
    return true;
  }

  bool take_probes() {
    const std::string text = value("LOOP");
    for (std::size_t begin = 0; begin <= text.size();) {
      const std::size_t end = std::min(text.find(',', begin), text.size());
      if (end == begin) throw UsageError("--flor_probe: expected the name of a loop");
      flags_.probes.push_back(text.substr(begin, end - begin));
      begin = end + 1;
    }
    replay_only_ = flag_;
    return true;
  }

  bool take_epochs() {
    const std::string text = value("A..B");
    try {
      flags_.asked.epochs = parse_epoch_list(text);
    } catch (const UsageError& error) {
      throw UsageError(fmt::format("--flor_epochs: {}", error.what()));
    }
    replay_only_ = flag_;
    return true;
  }

  bool take_steps() {
    const std::string text = value("LIST");
    try {
      flags_.asked.steps = StepChoice::parse(text);
    } catch (const UsageError& error) {
      throw UsageError(fmt::format("--flor_step: {}", error.what()));
    }
    replay_only_ = flag_;
    return true;
  }

  bool take_plugin() {
    if (!flags_.plugin.empty()) throw UsageError("--flor_plugin is given twice: one at a time");
    flags_.plugin = value("FILE");
    replay_only_ = flag_;
    return true;
  }

  bool take_every() {
    flags_.every = parse_count(flag_, value("N"));
    record_only_ = flag_;
    return true;
  }

  bool take_epsilon() {
    const std::string text = value("X");
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), flags_.epsilon);
    if (error != std::errc() || end != text.data() + text.size() ||
        !std::isfinite(flags_.epsilon) || flags_.epsilon < 0) {
      throw UsageError(fmt::format(
          "{} {}: expected the share of the computing time that recording may take, for example "
          "0.05; 0 stores only the first and the last state",
          flag_, text));
    }
    epsilon_ = true;
    record_only_ = flag_;
    return true;
  }

  bool take_every_steps() {
    flags_.every_steps = parse_count(flag_, value("N"));
    record_only_ = flag_;
    return true;
  }
  bool take_every_seconds() {
    flags_.every_seconds = parse_seconds(flag_, value("S"));
    record_only_ = flag_;
    return true;
  }

  bool take_resume() {
    std::string text;
    if (attached_) {
      text = *attached_;
    } else if (next_ < words_.size() && std::strcmp(words_[next_], "auto") == 0) {
      text = words_[next_++];
    }
    if (attached_ && text != "auto") {
      throw UsageError(
          fmt::format("--flor_resume={}: write --flor_resume, or --flor_resume auto to begin a new "
                      "run where there is nothing to resume",
                      text));
    }
    flags_.resume = text.empty() ? Resume::yes : Resume::automatic;
    return true;
  }

  bool take_from() {
    flags_.from = value("RUN[@EPOCH]");
    return true;
  }

  bool take_check() {
    const std::string text = value("SECONDS|none");
    checks_ = true;
    if (text == "none") {
      flags_.check = false;
    } else {
      flags_.check_seconds = parse_seconds(flag_, text);
    }
    return true;
  }

  bool take_beside() {
    const bool prints = flag_ == "--flor_output";
    const std::string text = value(prints ? "MIB|none" : "SECONDS|none");
    const bool none = text == "none";
    record_only_ = flag_;
    if (prints) {
      flags_.beside.output_mib = none ? 0 : parse_count(flag_, text);
      return true;
    }
    flags_.beside.machine_seconds = none ? 0 : parse_seconds(flag_, text);
    if (!none && *flags_.beside.machine_seconds < 1) {
      throw UsageError(fmt::format("{} {}: expected at least 1 second, or none", flag_, text));
    }
    return true;
  }

  bool set(std::string& target) {
    target = value(flag_ == "--flor_home" ? "DIR" : "RUN");
    return true;
  }
  bool take_verify() {
    flags_.verify = VerifyWish::parse(flag_, value("N|all|none"));
    replay_only_ = flag_;
    return true;
  }
  bool set_true(bool& target) {
    require_no_value();
    target = true;
    replay_only_ = flag_;
    return true;
  }

  std::string value(std::string_view form) {
    if (attached_ && !attached_->empty()) return *attached_;
    if (!attached_ && next_ < words_.size() && words_[next_][0] != '\0') return words_[next_++];
    throw UsageError(fmt::format("{} needs a value: {} {}", flag_, flag_, form));
  }
  void require_no_value() const {
    if (attached_) throw UsageError(fmt::format("{} takes no value", flag_));
  }

  void forget_recording() {
    Flags flags;
    flags.mode = Mode::replay;
    flags.command = std::move(flags_.command);
    flags_ = std::move(flags);
  }

  void check() {
    if (flags_.segments > 1 && !flags_.asked.epochs.empty()) {
      throw UsageError("--flor_epochs and PID/NGPUS exclude each other: both say which epochs");
    }
    if (record_ && replay_) {
      throw UsageError(
          "--flor and --replay_flor exclude each other: record a run first, then replay it (name "
          "it with --flor_run)");
    }
    if (!flags_.from.empty()) {
      if (replay_) throw UsageError("--flor_from begins a recording: it cannot be a replay");
      record_ = true;
    }
    if (!flags_.from.empty() && flags_.resume == Resume::yes) {
      throw UsageError(
          "--flor_from begins a new run, and --flor_resume continues one: leave one out, or write "
          "--flor_resume auto to continue the fork if it was interrupted");
    }
    if (flags_.resume != Resume::no) {
      if (replay_) throw UsageError("--flor_resume goes on recording: it cannot be a replay");
      if (!flags_.run.empty() && (!flags_.name.empty() || flags_.resume == Resume::automatic)) {
        throw UsageError("--flor_resume: name the run by --flor NAME or by --flor_run RUN");
      }
      record_ = true;
    } else if (!flags_.run.empty() && !replay_) {
      throw UsageError(
          "--flor_run names a run to replay or to resume: add --replay_flor or --flor_resume");
    }
    if (checks_ && flags_.resume == Resume::no && flags_.from.empty()) {
      throw UsageError("--flor_check belongs to a resume: add --flor_resume");
    }
    if (replay_ && !has_segment_ && !stray_segment_.empty()) {
      throw UsageError(
          fmt::format("{} stands alone: write --replay_flor {}, or put it after -- if "
                      "it is an argument of the program",
                      stray_segment_, stray_segment_));
    }
    if (!flags_.asked.steps.empty() && flags_.shows_what_is_stored()) {
      throw UsageError(
          "--flor_step chooses steps of loops that are executed, and for a plug-in alone none is: "
          "add --flor_probe LOOP");
    }
    if (!replay_only_.empty() && !replay_) {
      throw UsageError(fmt::format("{} belongs to a replay: add --replay_flor", replay_only_));
    }
    if (!record_only_.empty() && !record_) {
      throw UsageError(fmt::format("{} belongs to a recording: add --flor NAME", record_only_));
    }
    if (epsilon_ && flags_.every) {
      throw UsageError(
          "--flor_epsilon and --flor_every exclude each other: the one limits what recording may "
          "cost, the other stores every N-th iteration whatever it costs");
    }
    if (flags_.instead.threads && !replay_) {
      throw UsageError("--flor_threads belongs to a replay: add --replay_flor");
    }
    flags_.mode = record_ ? Mode::record : replay_ ? Mode::replay : Mode::off;
  }

  std::vector<char*> words_;
  bool worker_;
  std::vector<char*> kept_;
  std::size_t next_ = 1, end_of_own_ = 1;  // end_of_own_: after the last word that was Flor's
  std::string flag_;                       // as given, without "=..."
  std::optional<std::string> attached_;    // the text after "="
  bool record_ = false, replay_ = false, epsilon_ = false, has_segment_ = false, checks_ = false;
  std::string_view stray_segment_;         // a word like a segment that belongs to no flag
  std::string replay_only_, record_only_;  // last flag only for replaying, and only for recording
  Flags flags_;
};

Flags take(int& argc, char** argv, bool worker) {
  Parser parser(argc, argv, worker);
  Flags flags = parser.parse();
  int kept = 0;
  for (char* word : parser.kept()) argv[kept++] = word;
  argc = kept;
  argv[argc] = nullptr;
  return flags;
}

}  // namespace

Flags take_flags(int& argc, char** argv) { return take(argc, argv, false); }
Flags take_flags_of_worker(int& argc, char** argv) { return take(argc, argv, true); }

std::vector<std::string> own_arguments(std::vector<std::string> command) {
  std::vector<char*> words;
  for (std::string& word : command) words.push_back(word.data());
  words.push_back(nullptr);
  int count = static_cast<int>(command.size());
  return take_flags_of_worker(count, words.data()).arguments;
}

Flags flags_of_command(std::vector<std::string> command) {
  std::vector<char*> words;
  for (std::string& word : command) words.push_back(word.data());
  int count = static_cast<int>(words.size());
  words.push_back(nullptr);
  try {
    return take_flags(count, words.data());
  } catch (const UsageError&) {
    return {};
  }
}

}  // namespace flor::detail
