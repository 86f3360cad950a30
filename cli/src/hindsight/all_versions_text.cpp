#include "hindsight/all_versions_text.h"

#include "choose/run_spec.h"
#include "output/json.h"
#include "output/table.h"
#include "output/terminal_text.h"
#include "output/time.h"
#include "output/values.h"
#include "shell/context.h"
#include "view/joined_rows.h"
#include "view/run_json.h"
#include "view/sources.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>

namespace flor::cli {
namespace {

/// The names under which the hunks log, in the order of the hunks.
std::vector<std::string> metrics_of(const std::vector<AskedVersion>& asked) {
  std::vector<std::string> names;
  for (const AskedVersion& version : asked) {
    for (const std::string& name : version.patched.metrics) {
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
  }
  return names;
}

/// The arguments that differ among the runs.
std::vector<std::string> differing_arguments(
    const std::map<std::int64_t, std::vector<store::Argument>>& arguments) {
  std::vector<std::string> names;
  std::map<std::string, std::map<std::string, std::size_t>> values;
  for (const auto& [run, list] : arguments) {
    for (const store::Argument& argument : list) {
      if (!values.contains(argument.name)) names.push_back(argument.name);
      ++values[argument.name][argument.value];
    }
  }
  std::erase_if(names, [&](const std::string& name) {
    return values[name].size() == 1 && values[name].begin()->second == arguments.size();
  });
  return names;
}

class Report {
 public:
  Report(Context& context, const Questions& questions, const std::vector<AskedVersion>& asked,
         bool dry_run)
      : context_(context),
        questions_(questions),
        asked_(asked),
        dry_run_(dry_run),
        metrics_(metrics_of(asked)) {
    for (const AskedVersion& version : asked) {
      for (const AskedRun& run : version.runs) {
        arguments_[run.run.id] = context.catalog().arguments(run.run.id);
      }
    }
  }

  void text() {
    Output& out = context_.out();
    for (const carry::Addition& addition : questions_.hunks()) {
      const carry::LogHunk& hunk = addition.hunk;
      out.write(fmt::format("{:>3}  {}:{} {}{}\n", hunk.number, printable(hunk.path), hunk.line,
                            printable(hunk.what), where(hunk)));
    }
    if (!questions_.others().empty()) {
      const carry::OtherEdit& other = questions_.others().front();
      const std::size_t more = questions_.others().size() - 1;
      context_.note(fmt::format("not carried: {}:{}: {}{}", printable(other.path), other.line,
                                printable(other.what),
                                more == 0 ? std::string() : fmt::format(" (and {} more)", more)));
    }
    double seconds = 0;
    for (const AskedVersion& version : asked_) {
      out.write("\n");
      version_text(version);
      for (const AskedRun& run : version.runs) seconds += run.estimate;
    }
    if (dry_run_) {
      out.write(fmt::format("\nestimate  {} of replaying, beside the builds\n", duration(seconds)));
      return;
    }
    out.write("\n");
    answers_text();
  }

  void json() {
    Json head = document("replay");
    head["dry_run"] = dry_run_;
    head["hunks"] = hunks_json();
    Json others = Json::array();
    for (const carry::OtherEdit& other : questions_.others()) {
      others.push_back({{"path", other.path}, {"line", other.line}, {"what", other.what}});
    }
    head["not_carried"] = std::move(others);
    Json versions = Json::array();
    for (const AskedVersion& version : asked_) versions.push_back(version_json(version));
    head["versions"] = std::move(versions);
    head["metrics"] = metrics_;
    JsonList rows(context_.out(), head, "rows");
    if (!dry_run_) {
      for_each_run([&](const AskedVersion& version, const AskedRun& asked, const store::Run& run,
                       const Join& join) {
        for (std::size_t i = 0; i < join.size(); ++i) {
          Json row = row_json(run, metrics_, join, i);
          row["commit"] = version.version.commit;
          row["arguments"] = arguments_json(asked.run.id);
          rows.add(row);
        }
      });
    }
    rows.end();
  }

 private:
  static std::string where(const carry::LogHunk& hunk) {
    std::string text = hunk.function.empty() ? "" : " in " + printable(hunk.function);
    if (!hunk.loops.empty()) {
      text += fmt::format(", loop {}", printable(fmt::format("{}", fmt::join(hunk.loops, "/"))));
    }
    return text;
  }

  void line(std::string_view name, const std::string& text, Tone tone = Tone::plain) {
    context_.out().write(
        fmt::format("  {:<8}  {}\n", name, context_.style().paint(tone, printable(text))));
  }
  /// Prints several lines unchanged, indented.
  void block(const std::string& text) {
    constexpr int kLinesMax = 16;  // --json has all lines
    std::string_view rest = text;
    for (int lines = 0; !rest.empty(); ++lines) {
      if (lines == kLinesMax) {
        context_.out().write("            | ...\n");
        return;
      }
      const std::size_t end = rest.find('\n');
      context_.out().write(fmt::format("            | {}\n", printable(rest.substr(0, end))));
      if (end == rest.npos) return;
      rest.remove_prefix(end + 1);
    }
  }

  void version_text(const AskedVersion& version) {
    const std::size_t count = version.runs.size();
    context_.out().write(context_.style().paint(
        Tone::warning, fmt::format("version {}  {} run{}", short_commit(version.version.commit),
                                   count, count == 1 ? "" : "s")));
    context_.out().write("\n");
    for (const carry::Placed& placed : version.patched.carried.placed) {
      std::string text = fmt::format("{} at {}:{}, {}", placed.hunk, placed.path, placed.line,
                                     placed.present ? "where it is already" : placed.where);
      if (!placed.present && !placed.merged) text += "; found by what stands around it";
      for (const std::string& remark : placed.remarks) text += "; " + remark;
      line("carried", text, Tone::good);
    }
    for (const carry::Refused& refused : version.patched.carried.refused) {
      line("refused", fmt::format("{}: {}", refused.hunk, refused.reason), Tone::bad);
      block(refused.conflict);
    }
    if (!version.problem.empty()) line("not done", version.problem, Tone::bad);
    block(version.excerpt);
    if (dry_run_ && version.patched.changes()) {
      context_.out().write("\n");
      print_patch(context_, version.patched.patch);
    }
    if (version.built) {
      line("built",
           version.built_before ? std::string("before") : "in " + duration(version.build_seconds));
    }
    for (const AskedRun& run : version.runs) run_text(version, run);
  }

  void run_text(const AskedVersion& version, const AskedRun& run) {
    if (!run.problem.empty()) {
      line("run", fmt::format("{}: {}", short_key(run.run), run.problem), Tone::bad);
    } else if (run.replay) {
      const RunReplay& replay = *run.replay;
      std::string text =
          fmt::format("{}: {}", short_key(run.run), verdict_text(replay.summary));
      if (!replay.outcome.failed.empty()) {
        text += fmt::format("; {} failed: {}", replay.outcome.failed.size(),
                            replay.outcome.failed.begin()->second);
      }
      const bool good = replay.status() == ExitStatus::done;
      line("run", text, good ? Tone::plain : Tone::bad);
      for (const std::string& difference : replay.summary.differences) line("differs", difference);
    } else if (dry_run_ && version.patched.changes()) {
      line("run", fmt::format("{}: {} of replaying", short_key(run.run), duration(run.estimate)));
    } else if (version.problem.empty() && !version.patched.changes()) {
      line("run", fmt::format("{}: it is recorded", short_key(run.run)));
    }
  }

  /// Calls `use` for each run that has answers; in a group, for each such rank.
  template <typename Use>
  void for_each_run(const Use& use) {
    if (metrics_.empty()) return;
    for (const AskedVersion& version : asked_) {
      for (const AskedRun& asked : version.runs) {
        for (const store::Run& run : ranks_with(context_.catalog(), asked.run)) {
          const std::vector<store::Value> values =
              context_.catalog().values({.run = run.id, .names = metrics_, .first_epoch = -1});
          if (!values.empty()) use(version, asked, run, Join(metrics_, values));
        }
      }
    }
  }

  void answers_text() {
    const std::vector<std::string> arguments = differing_arguments(arguments_);
    std::vector<Table::Column> columns{{"run"}, {"version"}};
    for (const std::string& name : arguments) columns.push_back({printable(name), Align::right});
    for (const char* title : {"epoch", "step"}) columns.push_back({title, Align::right});
    for (const std::string& name : metrics_) columns.push_back({printable(name), Align::right});
    Table table(std::move(columns));
    const auto index = [](std::int64_t i) { return i < 0 ? "-" : fmt::format("{}", i); };
    for_each_run([&](const AskedVersion& version, const AskedRun& asked, const store::Run& run,
                     const Join& join) {
      for (std::size_t i = 0; i < join.size(); ++i) {
        table.add(short_key(run));
        table.add(short_commit(version.version.commit));
        for (const std::string& name : arguments) table.add(argument(asked.run.id, name));
        table.add(index(join.row(i).place->epoch));
        table.add(index(join.row(i).place->step));
        for (const store::Value* value : join.cells(i)) {
          const bool found = value && value->replay != 0;
          table.add(value ? readable(value->type, value->value) : std::string("-"),
                    found ? Tone::hindsight : Tone::plain);
        }
      }
    });
    if (table.empty()) {
      context_.note("no answers");
      return;
    }
    table.print(context_.out(), context_.style());
  }

  std::string argument(std::int64_t run, const std::string& name) const {
    for (const store::Argument& argument : arguments_.at(run)) {
      if (argument.name == name) return argument.value;
    }
    return "-";
  }
  Json arguments_json(std::int64_t run) const { return cli::arguments_json(arguments_.at(run)); }

  Json hunks_json() const {
    Json hunks = Json::array();
    for (const carry::Addition& addition : questions_.hunks()) {
      const carry::LogHunk& hunk = addition.hunk;
      hunks.push_back({{"number", hunk.number},
                       {"path", hunk.path},
                       {"line", hunk.line},
                       {"what", hunk.what},
                       {"function", json_text(hunk.function)},
                       {"loops", hunk.loops},
                       {"text", hunk.text},
                       {"together_with", hunk.needs}});
    }
    return hunks;
  }

  Json version_json(const AskedVersion& version) const {
    Json carried = Json::array(), refused = Json::array(), runs = Json::array();
    for (const carry::Placed& placed : version.patched.carried.placed) {
      carried.push_back({{"hunk", placed.hunk},
                         {"path", placed.path},
                         {"line", placed.line},
                         {"merged", placed.merged},
                         {"present", placed.present},
                         {"where", placed.where},
                         {"remarks", placed.remarks},
                         {"renamed", placed.renamed}});
    }
    for (const carry::Refused& hunk : version.patched.carried.refused) {
      refused.push_back(
          {{"hunk", hunk.hunk}, {"reason", hunk.reason}, {"conflict", json_text(hunk.conflict)}});
    }
    for (const AskedRun& run : version.runs) runs.push_back(run_json(version, run));
    Json result = {{"commit", json_text(version.version.commit)},
                   {"carried", std::move(carried)},
                   {"refused", std::move(refused)},
                   {"problem", json_text(version.problem)},
                   {"compiler", json_text(version.excerpt)},
                   {"build_seconds", version.built ? Json(version.build_seconds) : Json(nullptr)},
                   {"runs", std::move(runs)}};
    if (dry_run_) result["patch"] = version.patched.patch;
    return result;
  }

  Json run_json(const AskedVersion& version, const AskedRun& run) const {
    Json result = {{"run", run.run.key},
                   {"problem", json_text(run.problem)},
                   {"recorded", version.problem.empty() && !version.patched.changes()}};
    if (dry_run_) {
      result["estimated_seconds"] = run.estimate;
      return result;
    }
    result["status"] = run.replay ? Json(static_cast<int>(run.replay->status())) : Json(nullptr);
    result["verdict"] =
        run.replay ? Json(store::to_string(run.replay->summary.total.verdict)) : Json(nullptr);
    result["values_found"] =
        run.replay ? Json(run.replay->summary.total.values_found) : Json(nullptr);
    result["differences"] = run.replay ? Json(run.replay->summary.differences) : Json::array();
    return result;
  }

  Context& context_;
  const Questions& questions_;
  const std::vector<AskedVersion>& asked_;
  bool dry_run_;
  std::vector<std::string> metrics_;
  std::map<std::int64_t, std::vector<store::Argument>> arguments_;
};

}  // namespace

void print_answers(Context& context, const Questions& questions,
                   const std::vector<AskedVersion>& asked, bool dry_run) {
  Report report(context, questions, asked, dry_run);
  context.json() ? report.json() : report.text();
}

}  // namespace flor::cli
