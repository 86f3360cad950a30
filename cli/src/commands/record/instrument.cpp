// flor instrument: writes Flor into a training, as a patch to review.
#include "commands/commands.h"
#include "git/merge.h"
#include "instrument/applied_patch.h"
#include "instrument/instrumenter.h"
#include "instrument/program_files.h"
#include "output/json.h"
#include "output/terminal_text.h"
#include "shell/context.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>

namespace flor::cli {
namespace {

namespace fs = std::filesystem;
using instrument::ChangedFile;
using instrument::Instrumented;

class Instrument final : public Command {
 public:
  std::string_view name() const override { return "instrument"; }
  std::string_view summary() const override {
    return "write Flor into a training that does not use it, as a patch";
  }
  std::string_view lesson() const override {
    return R"(Reads a training in C++, with libtorch or without, and prints a patch for git apply.
It writes flor::init, the main loop and the loops that train in flor::loop, the objects that they
change in flor::checkpoints, locals that outlive an iteration in flor::with, and what is printed in
flor::log. Nothing is compiled or executed. FILE is the source with main; name further sources that
the patch may change. Headers that they include by "..." are read, and stay as they are.

What the sources do not decide is asked in the patch, in a comment of one line, `// flor: ...?`:
types whose state is not known, global variables, loops that no range describes, loaders that keep
their place. The exit status is 5 then. Answer the question, then delete its line.

--apply changes the files instead, and --undo takes that back, byte by byte; edits that were made
since stay, unless they touch the same lines. A file that uses Flor already is left alone. The
program has to be compiled as C++20 and linked with Flor; flor_instrument(TARGET) in CMakeLists.txt,
which is something else, does that.

Examples:
  flor instrument train.cpp                  read the patch
  flor instrument train.cpp | git apply
  flor instrument --apply main.cpp trainer.cpp
  flor instrument --undo train.cpp
  flor instrument train.cpp --line 41        the main loop begins in line 41
)";
  }
  void setup(Syntax& syntax) override {
    syntax.operands("FILE", files_, "the source with main, then others that may change");
    syntax.flag("--apply", apply_, "change the files instead of printing a patch");
    syntax.flag("-u,--undo", undo_, "take back what --apply changed");
    syntax.option("--line", "LINE", line_,
                  "take the loop in this line of the first FILE for the main loop", 1);
    syntax.option("-I,--include", "DIR", directories_,
                  "look for headers in DIR, too; may be given several times");
    syntax.flag("--no-log", no_log_, "leave what is printed unlogged");
    syntax.other_name("--revert", "use --undo");
  }
  int run(Context& context) override;

 private:
  int take_back(Context& context, const fs::path& home) const;
  void show(Context& context, const Instrumented& result, const std::string& patch) const;

  std::vector<std::string> files_, directories_;
  bool apply_ = false, undo_ = false, no_log_ = false;
  std::optional<std::uint64_t> line_;
};

Json names_json(const std::vector<std::string>& names) {
  Json list = Json::array();
  for (const std::string& name : names) list.push_back(json_text(name));
  return list;
}

/// A unified diff without git's own lines: with them, git apply would take the paths for those of
/// the whole repository, and do nothing in a directory of it.
std::string patch_of(const std::vector<ChangedFile>& files) {
  std::string patch;
  for (const ChangedFile& file : files) {
    const std::string name = fs::path(file.path).relative_path().string();
    const std::string diff = git::diff_texts(name, file.before, file.after);
    patch += diff.substr(std::min(diff.find("--- "), diff.size()));
  }
  return patch;
}

int Instrument::run(Context& context) {
  if (files_.empty()) throw UsageError("flor instrument needs a FILE: the source with main");
  if (apply_ && undo_) throw UsageError("--apply and --undo exclude each other");
  if (undo_) return take_back(context, context.home());
  instrument::Request request{.texts = instrument::read_program(files_, directories_),
                              .own = files_.size(),
                              .line = static_cast<std::uint32_t>(line_.value_or(0)),
                              .log = !no_log_};
  const Instrumented result = instrument::instrument(request);
  const std::string patch = patch_of(result.files);
  if (apply_) {
    for (const ChangedFile& file : result.files) instrument::require_same(file.path, file.before);
    for (const ChangedFile& file : result.files) {
      instrument::apply(context.home(), file.path, file.before, file.after);
    }
  }
  show(context, result, patch);
  const bool asks = !result.questions.empty();
  return static_cast<int>(asks ? ExitStatus::partly_done : ExitStatus::done);
}

int Instrument::take_back(Context& context, const fs::path& home) const {
  std::vector<ChangedFile> files;
  for (const std::string& file : files_) {
    std::string text = instrument::undone(home, file);
    files.push_back({file, instrument::read_source(file), std::move(text)});
  }
  for (const ChangedFile& file : files) instrument::undo(home, file.path, file.after);
  if (context.json()) {
    Json object = document("instrument");
    object["undone"] = names_json(files_);
    print(context.out(), object);
  } else {
    for (const ChangedFile& file : files) {
      context.note(fmt::format("{} is as it was{}", printable(file.path),
                               file.before == file.after ? " already" : ""));
    }
  }
  return 0;
}

void Instrument::show(Context& context, const Instrumented& result,
                      const std::string& patch) const {
  if (context.json()) {
    Json object = document("instrument");
    object["already"] = result.already.empty() ? Json() : json_text(result.already);
    object["applied"] = apply_ && !result.files.empty();
    object["patch"] = json_text(patch);
    object["questions"] = Json::array();
    for (const auto& question : result.questions) {
      object["questions"].push_back({{"file", json_text(question.path)},
                                   {"line", question.line},
                                   {"text", json_text(question.text)}});
    }
    object["loops"] = names_json(result.loops);
    object["registered"] = names_json(result.registered);
    object["attached"] = names_json(result.attached);
    object["logged"] = names_json(result.logged);
    object["remarks"] = names_json(result.remarks);
    return print(context.out(), object);
  }
  if (!result.already.empty()) {
    return context.note(
        fmt::format("{} uses Flor already: nothing to do", printable(result.already)));
  }
  if (!apply_) context.out().write(patch);
  for (const std::string& remark : result.remarks) context.note(printable(remark));
  for (const auto& question : result.questions) {
    context.note(fmt::format("{}:{} asks: {}", printable(question.path), question.line,
                             printable(question.text)));
  }
  if (!apply_) return;
  std::string names;
  for (const ChangedFile& file : result.files) {
    names += (names.empty() ? "" : ", ") + printable(file.path);
  }
  context.note(fmt::format("changed {}; flor instrument --undo takes it back", names));
}

}  // namespace

std::unique_ptr<Command> make_instrument() { return std::make_unique<Instrument>(); }

}  // namespace flor::cli
