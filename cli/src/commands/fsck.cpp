// flor fsck: is everything that was stored still there and unharmed?
#include "commands/commands.h"
#include "context.h"
#include "output/json.h"
#include "output/text.h"
#include "output/time.h"

#include <flor/store/error.h>
#include <flor/store/store.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace flor::cli {
namespace {

using store::CheckReport;
using store::Finding;

std::string_view name_of(Finding::Kind kind) {
  switch (kind) {
    case Finding::Kind::catalog:
      return "catalog";
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
  }
  return "unknown";
}

class Fsck final : public Command {
 public:
  std::string_view name() const override { return "fsck"; }
  std::string_view summary() const override { return "check the store, byte by byte"; }
  std::string_view lesson() const override {
    return R"(Checks the catalog, that every checkpoint's pieces exist, and that each piece decodes to the
content it is named after. Changes nothing, and may run while others record. Ends with status 4 if
something is damaged, and says which checkpoints are lost by it.

Examples:
  flor fsck                     everything: reads all packs
  flor fsck --no-read-data      quick: only that everything is in its place
)";
  }
  void setup(Syntax& syntax) override {
    syntax.flag("--no-read-data", no_read_data_, "do not read and decode the packs");
  }
  int run(Context& context) override {
    const CheckReport report = store::check(context.store(), !no_read_data_);
    if (context.json()) {
      print_json(context, report);
    } else {
      print_text(context, report);
    }
    return static_cast<int>(report.findings.empty() ? ExitStatus::done : ExitStatus::damaged);
  }

 private:
  void print_text(Context& context, const CheckReport& report) const;
  void print_json(Context& context, const CheckReport& report) const;

  bool no_read_data_ = false;
};

void Fsck::print_text(Context& context, const CheckReport& report) const {
  Output& out = context.out();
  const Style& style = context.style();
  for (const Finding& finding : report.findings) {
    out.write(fmt::format("{}: {}\n", style.paint(Tone::bad, name_of(finding.kind)),
                          printable(finding.what)));
  }
  for (const std::string& remark : report.remarks) {
    out.write(fmt::format("remark: {}\n", printable(remark)));
  }
  const auto plural = [](std::int64_t count, const char* noun) {
    return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
  };
  out.write(fmt::format("checked {}: {}, {}, {}, {}; {}\n",
                        printable(context.store().home().string()), plural(report.runs, "run"),
                        plural(report.checkpoints, "checkpoint"), plural(report.packs, "pack"),
                        plural(report.chunks, "chunk"),
                        no_read_data_ ? "no data was read" : bytes(report.bytes_read) + " read"));
  if (report.findings.empty()) {
    out.write(style.paint(Tone::good, "no damage found") + "\n");
  } else {
    const auto count = static_cast<std::int64_t>(report.findings.size());
    out.write(style.paint(Tone::bad, plural(count, "finding") + ": the store is damaged") + "\n");
  }
}

void Fsck::print_json(Context& context, const CheckReport& report) const {
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
  print(context.out(), result);
}

}  // namespace

std::unique_ptr<Command> make_fsck() { return std::make_unique<Fsck>(); }

}  // namespace flor::cli
