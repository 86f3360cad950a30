// flor tag: attaches words to runs, by which users find them again.
#include "choose/run_spec.h"
#include "commands/commands.h"
#include "index/catalog/labels.h"
#include "output/json.h"
#include "output/terminal_text.h"
#include "shell/context.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace flor::cli {
namespace {

class Tag final : public Command {
 public:
  std::string_view name() const override { return "tag"; }
  std::string_view summary() const override { return "give a run tags, by which lists choose it"; }
  std::string_view lesson() const override {
    return R"(A tag is one word. Lists show tags, conditions compare them, and a run that is spooled takes them
along. The ranks of a group have theirs together.

Examples:
  flor tag linear good seed-3          the latest run of linear is good, and has seed-3
  flor tag linear --remove good        it is not good any more
  flor tag linear                      the tags that it has
  flor list --where tag=good           the runs that are good
  for run in $(flor list -q --where 'loss<0.1'); do flor tag $run good; done
)";
  }
  void setup(Syntax& syntax) override {
    syntax.operand("RUN", run_, "the run", true);
    syntax.operands("TAG", tags_, "a word to give to it; without any its tags are shown");
    syntax.option("--remove", "TAG", removed_, "take this tag away; may be repeated");
  }
  int run(Context& context) override {
    store::Run run = parse_whole_run(context, run_);
    for (const std::string& tag : removed_) {
      if (std::ranges::find(tags_, tag) == tags_.end()) continue;
      throw UsageError(fmt::format("'{}' is to be given and to be removed: leave one out",
                                   printable(tag)));
    }
    if (!tags_.empty() || !removed_.empty()) {
      store::change_tags(context.store_to_change(), run.id, tags_, removed_);
      run = context.store_to_change().catalog().run(run.id).value();
    }
    if (context.json()) {
      Json result = document("tag");
      result["run"] = run.key;
      result["tags"] = run.tags;
      print(context.out(), result);
    } else {
      context.out().write(fmt::format(
          "run {}: {}\n", title(run),
          run.tags.empty() ? std::string("no tags")
                           : printable(fmt::format("{}", fmt::join(run.tags, " ")))));
    }
    return 0;
  }

 private:
  std::string run_;
  std::vector<std::string> tags_, removed_;
};

}  // namespace

std::unique_ptr<Command> make_tag() { return std::make_unique<Tag>(); }

}  // namespace flor::cli
