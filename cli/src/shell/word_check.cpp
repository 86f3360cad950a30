#include "shell/word_check.h"

#include "output/terminal_text.h"
#include "shell/pages.h"

#include <flor/store/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>
#include <utility>

namespace flor::cli {
namespace {

using Takes = Syntax::Entry::Takes;

struct Option {
  std::vector<std::string> names;
  std::string value;  ///< "N"
  Takes takes = Takes::nothing;
  std::uint64_t least = 0;
  bool given = false;
};

/// Whether CLI11 accepts the text as the beginning of an option's name.
bool begins_name(std::string_view text) {
  return !text.empty() && text.front() != '-' && static_cast<unsigned char>(text.front()) > '!';
}

bool is_count(std::string_view text, std::uint64_t least) {
  std::uint64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  return error == std::errc() && end == text.data() + text.size() && count >= least;
}

class WordCheck {
 public:
  explicit WordCheck(const KnownWords& known) : known_(known) {
    for (const Syntax::Entry& entry : known.syntax.entries()) add(entry);
    own_ = options_.size();
    for (const Syntax::Entry& entry : known.global) add(entry);
  }

  Asked run(std::span<const std::string_view> words) {
    words_ = words;
    command_seen_ = known_.command.empty();
    for (at_ = 0; at_ < words.size(); ++at_) {
      const std::string_view word = words[at_];
      if (only_operands_) {
        operand(word);
      } else if (word == "--") {
        only_operands_ = true;
      } else if (!is_option(word)) {
        operand(word);
      } else if (word.starts_with("--")) {
        long_option(word);
      } else {
        short_options(word);
      }
    }
    if (asked_ != Asked::work) return asked_;
    count_operands();
    if (!problem_.empty()) throw UsageError(problem_);
    return Asked::work;
  }

 private:
  void add(const Syntax::Entry& entry) {
    if (entry.operand) return;
    OptionForm form = option_form(entry);
    options_.push_back({std::move(form.names), std::move(form.value), entry.takes, entry.least});
  }

  /// Finds an option. Before the command, only the global options count.
  Option* find(std::string_view name) {
    for (std::size_t i = command_seen_ ? 0 : own_; i < options_.size(); ++i) {
      const auto& names = options_[i].names;
      if (std::ranges::find(names, name) != names.end()) return &options_[i];
    }
    return nullptr;
  }

  std::string flor() const {
    return known_.command.empty() ? "flor" : fmt::format("flor {}", known_.command);
  }
  /// Notes a problem; only the first one is reported.
  void wrong(std::string problem) {
    if (problem_.empty()) problem_ = std::move(problem);
  }

  void operand(std::string_view word) {
    if (!std::exchange(command_seen_, true)) return;
    operands_.push_back(word);
  }

  /// Reports an unknown option. `word`: as the user wrote it; `name`: the option's name in it.
  void unknown(std::string_view word, const std::string& name) {
    const auto& others = known_.syntax.other_names();
    if (const auto other = others.find(name); command_seen_ && other != others.end()) {
      return wrong(fmt::format("{} has no {}: {}", flor(), printable(name), other->second));
    }
    std::vector<std::string> names;
    for (const Option& option : std::span(options_).subspan(command_seen_ ? 0 : own_)) {
      std::ranges::copy_if(option.names, std::back_inserter(names),
                           [](const std::string& each) { return each.starts_with("--"); });
    }
    const std::string shown(word.substr(0, word.find('=')));
    // The user probably meant a long option: "-limit" for "--limit".
    const bool one_dash = !shown.starts_with("--") && shown.size() > 2;
    std::string hint;
    if (one_dash || shown.starts_with("--")) {
      hint = did_you_mean(one_dash ? "-" + shown : shown, names);
    }
    const bool meant = !hint.empty();
    const bool before = known_.command.empty() || !command_seen_;
    if (before && hint.empty()) {
      hint = ": options of a command stand after its name, as in 'flor list --limit 5'";
    }
    if (hint.empty()) hint = fmt::format(": see '{} --help'", flor());
    // A character beyond ASCII has several bytes, so the whole word is shown instead of one byte.
    const bool whole = one_dash && (meant || static_cast<unsigned char>(name.back()) >= 0x80);
    wrong(fmt::format("{} has no {}{}", before ? "flor" : flor(), printable(whole ? shown : name),
                      hint));
  }

  void long_option(std::string_view word) {
    const std::size_t equals = word.find('=');
    const std::string name(word.substr(0, equals));
    Option* option = find(name);
    if (!option) return unknown(word, name);
    std::optional<std::string_view> value;
    if (equals != word.npos) value = word.substr(equals + 1);
    give(*option, name, value);
  }

  void short_options(std::string_view word) {
    for (std::size_t i = 1; i < word.size(); ++i) {
      const std::string name{'-', word[i]};
      Option* option = find(name);
      if (!option) return unknown(word, name);
      if (option->takes != Takes::nothing) {
        std::optional<std::string_view> value;
        if (i + 1 < word.size()) value = word.substr(i + 1);
        return give(*option, name, value);
      }
      const bool has_value = i + 1 < word.size() && word[i + 1] == '=';
      give(*option, name, has_value ? std::optional(word.substr(i + 2)) : std::nullopt);
      if (has_value) return;
    }
  }

  void give(Option& option, const std::string& name, std::optional<std::string_view> value) {
    if (option.takes == Takes::nothing) {
      if (name == "-h" || name == "--help") asked_ = Asked::help;
      if (name == "--version" && asked_ == Asked::work) asked_ = Asked::version;
      if (value) wrong(fmt::format("{}: {} takes no value: write {} alone", flor(), name, name));
      return;
    }
    const bool is_last = at_ + 1 == words_.size();
    if (value ? value->empty() : is_last) {
      return wrong(fmt::format("{}: {} needs a value: {} {}", flor(), name, name, option.value));
    }
    if (!value) {
      value = words_[++at_];
      if (find(value->substr(0, value->find('=')))) {
        --at_;
        return wrong(fmt::format("{}: {} needs a value: {} {}; write {}={} if {} is meant", flor(),
                                 name, name, option.value, long_name(option), printable(*value),
                                 printable(*value)));
      }
      if (value->empty() && option.takes != Takes::count) {
        return wrong(fmt::format("{}: the value of {} is empty: {} {}", flor(), name, name,
                                 option.value));
      }
    }
    if (std::exchange(option.given, true) && option.takes != Takes::values) {
      wrong(fmt::format("{}: {} is given twice: give it once", flor(), long_name(option)));
    }
    if (option.takes == Takes::count && !is_count(*value, option.least)) {
      wrong(fmt::format("{}: {} {}: give a whole number from {} on, e.g. {} {}", flor(), name,
                        printable(shell_word(*value)), option.least, name,
                        std::max<std::uint64_t>(option.least, 5)));
    }
  }

  static const std::string& long_name(const Option& option) { return option.names.back(); }

  void count_operands() {
    std::size_t most = 0;
    for (const Syntax::Entry& entry : known_.syntax.entries()) {
      if (!entry.operand || entry.after_dashes) continue;
      const std::size_t first = most;
      most = entry.many ? SIZE_MAX : most + 1;
      for (std::size_t i = first; i < std::min(most, operands_.size()); ++i) {
        if (!operands_[i].empty() || entry.may_be_empty) continue;
        wrong(fmt::format("{}: {} is empty: {}", flor(), entry.left, usage()));
      }
      if (entry.required && most > operands_.size()) {
        wrong(fmt::format("{} needs {}: {}", flor(), entry.left, usage()));
      }
    }
    if (operands_.size() > most) {
      wrong(fmt::format("{}: '{}' is one operand too many: {}", flor(), printable(operands_[most]),
                        usage()));
    }
  }

  std::string usage() const { return fmt::format("{} {}", flor(), known_.syntax.usage()); }

  const KnownWords& known_;
  std::vector<Option> options_;
  std::size_t own_ = 0;  ///< number of the command's own options; the global ones follow
  std::span<const std::string_view> words_;
  std::size_t at_ = 0;
  std::vector<std::string_view> operands_;
  std::string problem_;
  Asked asked_ = Asked::work;
  bool command_seen_ = false, only_operands_ = false;
};

}  // namespace

bool is_option(std::string_view word) {
  if (word.starts_with("--")) return begins_name(word.substr(2));
  return word.starts_with('-') && begins_name(word.substr(1));
}

Asked check_words(const KnownWords& known, std::span<const std::string_view> words) {
  return WordCheck(known).run(words);
}

}  // namespace flor::cli
