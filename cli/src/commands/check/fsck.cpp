// flor fsck: checks that all stored data are present and undamaged.
#include "commands/commands.h"
#include "maintain/repair.h"
#include "output/json.h"
#include "output/terminal_text.h"
#include "output/time.h"
#include "shell/context.h"

#include <flor/store/error.h>
#include <flor/store/store.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>

namespace flor::cli {
namespace {

using store::CheckReport;
using store::Finding;
using store::RepairReport;

std::string_view name_of(Finding::Kind kind) {
  switch (kind) {
    case Finding::Kind::catalog:
      return "catalog";
    case Finding::Kind::queue:
      return "queue";
    case Finding::Kind::journal:
      return "journal";
    case Finding::Kind::missing_pack:
      return "missing pack";
    case Finding::Kind::damaged_chunk:
      return "damaged chunk";
    case Finding::Kind::missing_chunk:
      return "missing chunk";
    case Finding::Kind::damaged_checkpoint:
      return "damaged checkpoint";
    case Finding::Kind::orphan:
      return "orphan";
    case Finding::Kind::unreadable:
      return "unreadable";
  }
  return "unknown";
}

template <typename Number>
std::string plural(Number count, const char* noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

/// One line for each finding, but only one line for all missing packs, because they usually vanish
/// together, with a disk or a directory.
std::vector<std::pair<Finding::Kind, std::string>> summary_of(
    const std::vector<Finding>& findings) {
  std::vector<std::pair<Finding::Kind, std::string>> lines;
  std::vector<const Finding*> missing;
  for (const Finding& finding : findings) {
    if (finding.kind == Finding::Kind::missing_pack) {
      missing.push_back(&finding);
    } else {
      lines.emplace_back(finding.kind, finding.what);
    }
  }
  if (missing.empty()) return lines;
  std::set<std::string> lost;
  for (const Finding* finding : missing) lost.insert(finding->lost.begin(), finding->lost.end());
  std::string text = missing.front()->what;
  if (missing.size() > 1) {
    text += fmt::format("; and {} more packs; {} lost by them in all: flor fsck --json names each",
                        missing.size() - 1, plural(lost.size(), "checkpoint"));
  }
  lines.emplace(lines.begin(), Finding::Kind::missing_pack, std::move(text));
  return lines;
}

/// Lists lost checkpoints, in one line for each run.
std::vector<std::string> by_runs(const std::vector<store::LostContent>& dropped) {
  constexpr std::size_t kNamed = 8;
  std::map<std::string_view, std::vector<std::string_view>> runs;
  std::vector<std::string> lines;
  for (const store::LostContent& lost : dropped) {
    if (lost.run.empty()) {
      lines.push_back(lost.text());
    } else {
      runs[lost.run].push_back(lost.what);
    }
  }
  for (const auto& [run, lost] : runs) {
    const std::size_t named = std::min(kNamed, lost.size());
    std::string text = fmt::format("{}", fmt::join(std::span(lost).first(named), ", "));
    if (lost.size() > named) text += fmt::format(" and {} more", lost.size() - named);
    lines.push_back(fmt::format("{} of run {}", text, run));
  }
  return lines;
}

class Fsck final : public Command {
 public:
  std::string_view name() const override { return "fsck"; }
  std::string_view summary() const override { return "check the store, byte by byte"; }
  std::string_view lesson() const override {
    return R"(Checks the catalog, that every checkpoint's pieces exist, and that each piece decodes to the
content it is named after. Changes nothing, and may run while others record. Ends with status 4 if
something is damaged, and says which checkpoints are lost by it.

With --repair the store is made sound again: lost rows and other copies of damaged pieces are looked
for in the packs; checkpoints that still cannot be read are forgotten, and what is left of their
damaged pieces is moved to the store's directory 'quarantine'. Where a run's journal had lost
something, all that the catalog knows of the run is written into a new one. Ends with status 5 if a
checkpoint was lost.

Examples:
  flor fsck                     everything: reads all packs
  flor fsck --no-read-data      quick: only that everything is in its place
  flor fsck --repair            give up what cannot be read, keep all the rest
)";
  }
  void setup(Syntax& syntax) override {
    syntax.flag("--no-read-data", no_read_data_, "leave out reading and decoding the packs");
    syntax.flag("--repair", repair_, "make the store sound again, then check it");
  }
  int run(Context& context) override {
    std::optional<RepairReport> repaired;
    if (repair_) {
      store::doubt_index(context.store());
      repaired = store::repair(context.store_to_change(store::OpenMode::freeing));
    }
    if (repaired && !context.json()) print_repair(context, *repaired);
    const CheckReport report = store::check(context.store(), !no_read_data_);
    if (context.json()) {
      print_json(context, report, repaired);
    } else {
      print_text(context, report);
    }
    if (!report.findings.empty()) return static_cast<int>(ExitStatus::damaged);
    const bool lost = repaired && !repaired->dropped.empty();
    return static_cast<int>(lost ? ExitStatus::partly_done : ExitStatus::done);
  }

 private:
  void print_text(Context& context, const CheckReport& report) const;
  void print_json(Context& context, const CheckReport& report,
                  const std::optional<RepairReport>& repaired) const;
  static void print_repair(Context& context, const RepairReport& report);

  bool no_read_data_ = false;
  bool repair_ = false;
};

void Fsck::print_text(Context& context, const CheckReport& report) const {
  Output& out = context.out();
  const Style& style = context.style();
  for (const auto& [kind, text] : summary_of(report.findings)) {
    out.write(fmt::format("{}: {}\n", style.paint(Tone::bad, name_of(kind)), printable(text)));
  }
  for (const std::string& remark : report.remarks) {
    out.write(fmt::format("remark: {}\n", printable(remark)));
  }
  out.write(fmt::format("checked {}: {}, {}, {}, {}; {}\n",
                        printable(context.store().home().string()), plural(report.runs, "run"),
                        plural(report.checkpoints, "checkpoint"), plural(report.packs, "pack"),
                        plural(report.chunks, "chunk"),
                        no_read_data_ ? "no data was read" : bytes(report.bytes_read) + " read"));
  if (report.findings.empty()) {
    out.write(style.paint(Tone::good, "no damage found") + "\n");
  } else {
    const std::string count = plural(report.findings.size(), "finding");
    const bool helps = std::ranges::any_of(report.findings, [](const Finding& finding) {
      return finding.kind != Finding::Kind::unreadable;
    });
    out.write(style.paint(Tone::bad, count + ": the store is damaged") +
              (helps ? "; flor fsck --repair makes it sound, and says what is lost\n" : "\n"));
  }
}

void Fsck::print_repair(Context& context, const RepairReport& report) {
  Output& out = context.out();
  for (const std::string& what : by_runs(report.dropped)) {
    out.write(fmt::format("{}: {}\n", context.style().paint(Tone::bad, "lost"), printable(what)));
  }
  for (const std::string& path : report.quarantined) {
    out.write(fmt::format("kept aside: {}\n", printable(path)));
  }
  for (const std::string& run : report.written_anew) {
    out.write(fmt::format(
        "written anew: what the catalog knows of run {}, since its journals had lost something\n",
        printable(run)));
  }
  out.write(
      fmt::format("repaired: {} found elsewhere, {} lost rows made again, {} given up, "
                  "{} headers or copies written anew\n",
                  report.relocated, report.restored, report.removed, report.rewritten));
}

void Fsck::print_json(Context& context, const CheckReport& report,
                      const std::optional<RepairReport>& repaired) const {
  Json result = document("fsck");
  result["home"] = context.store().home().string();
  result["sound"] = report.findings.empty();
  result["read_data"] = !no_read_data_;
  result["runs"] = report.runs;
  result["checkpoints"] = report.checkpoints;
  result["packs"] = report.packs;
  result["chunks"] = report.chunks;
  result["bytes_read"] = report.bytes_read;
  result["findings"] = Json::array();
  for (const Finding& finding : report.findings) {
    std::string kind(name_of(finding.kind));
    std::ranges::replace(kind, ' ', '_');
    result["findings"].push_back({{"kind", std::move(kind)}, {"what", finding.what}});
  }
  result["remarks"] = report.remarks;
  result["repair"] = nullptr;
  if (repaired) {
    std::vector<std::string> dropped;
    for (const store::LostContent& lost : repaired->dropped) dropped.push_back(lost.text());
    result["repair"] = {{"relocated", repaired->relocated},
                        {"restored", repaired->restored},
                        {"removed", repaired->removed},
                        {"rewritten", repaired->rewritten},
                        {"dropped", dropped},
                        {"quarantined", repaired->quarantined},
                        {"written_anew", repaired->written_anew}};
  }
  print(context.out(), result);
}

}  // namespace

std::unique_ptr<Command> make_fsck() { return std::make_unique<Fsck>(); }

}  // namespace flor::cli
