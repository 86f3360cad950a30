// flor note: attaches a text to a run.
#include "choose/run_spec.h"
#include "commands/commands.h"
#include "index/catalog/labels.h"
#include "output/json.h"
#include "output/terminal_text.h"
#include "shell/context.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace flor::cli {
namespace {

class Note final : public Command {
 public:
  std::string_view name() const override { return "note"; }
  std::string_view summary() const override { return "write a note about a run"; }
  std::string_view lesson() const override {
    return R"(A run has one note, which flor show prints, and lists as the column `note`. A run that is spooled
takes it along.

Examples:
  flor note linear "lr too high: diverges after epoch 3"
  flor note linear                     show it
  flor note linear --delete            delete it
  flor list -c +note --where note~diverges
)";
  }
  void setup(Syntax& syntax) override {
    syntax.operand("RUN", run_, "the run", true);
    syntax.operand("TEXT", text_, "the note, in the place of the one before", false);
    syntax.may_be_empty();
    syntax.flag("--delete", delete_, "delete the note");
    syntax.other_name("--remove", "use --delete");
  }
  int run(Context& context) override {
    store::Run run = parse_whole_run(context, run_);
    if (delete_ && !text_.empty()) {
      throw UsageError("--delete stands alone: a new text replaces the note");
    }
    if (delete_ && run.note.empty()) throw NotFound(fmt::format("run {} has no note", title(run)));
    if (delete_ || !text_.empty()) {
      store::set_note(context.store_to_change(), run.id, text_);
      run = context.store_to_change().catalog().run(run.id).value();
    }
    if (context.json()) {
      Json result = document("note");
      result["run"] = run.key;
      result["note"] = json_text(run.note);
      print(context.out(), result);
    } else {
      context.out().write(fmt::format("run {}: {}\n", title(run),
                                      run.note.empty() ? "no note" : printable(run.note)));
    }
    return 0;
  }

 private:
  std::string run_, text_;
  bool delete_ = false;
};

}  // namespace

std::unique_ptr<Command> make_note() { return std::make_unique<Note>(); }

}  // namespace flor::cli
