// flor report: writes a run as an HTML file that a browser shows without a server.
#include "serve/report.h"

#include "choose/run_spec.h"
#include "commands/commands.h"
#include "output/json.h"
#include "output/output_file.h"
#include "output/terminal_text.h"
#include "output/time.h"
#include "serve/page_file.h"
#include "shell/context.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace flor::cli {
namespace {

class ReportCommand final : public Command {
 public:
  std::string_view name() const override { return "report"; }
  std::string_view summary() const override { return "write a run as one file for a browser"; }
  std::string_view lesson() const override {
    return R"(Writes what flor serve shows of a run into one HTML file, with its curves, pictures and tables.
It opens without a server or a network, and can be sent as it is. Curves are thinned,
and of each name of pictures, tables and histograms 100 are taken, evenly chosen.

Examples:
  flor report linear -o linear.html
  flor report 3f2a -o - | ssh web 'cat > report.html'
)";
  }
  void setup(Syntax& syntax) override {
    syntax.operand("RUN", run_, "the run; the latest run here if left out", false);
    syntax.option("-o,--output", "FILE", file_, "write to this file; - is standard output");
  }

  int run(Context& context) override {
    if (!has_page()) page_with(Json());  // throws, with instructions to get a flor that has one
    if (file_.empty()) throw UsageError("flor report: say where with -o FILE");
    if (file_ == "-" && context.json()) throw UsageError("flor report --json: -o names a file");
    const store::Run run =
        run_.empty() ? default_run(context.catalog()) : parse_whole_run(context, run_);
    PageApi api(context.store().home(), "");
    const Report report = cli::make_report(api, run.key, context.now_us());
    if (file_ == "-") {
      context.out().write(report.html);
      return static_cast<int>(ExitStatus::done);
    }
    write_file(file_, report.html);
    if (context.json()) {
      Json result = document("report");
      result["run"] = run.key;
      result["file"] = file_;
      result["bytes"] = report.html.size();
      print(context.out(), result);
    } else {
      context.out().write(
          fmt::format("{}: run {}, {}\n", printable(file_), title(run), bytes(report.html.size())));
    }
    return static_cast<int>(ExitStatus::done);
  }

 private:
  std::string run_, file_;
};

}  // namespace

std::unique_ptr<Command> make_report() { return std::make_unique<ReportCommand>(); }

}  // namespace flor::cli
