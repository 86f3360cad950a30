// flor plot: draws metrics as curves, in the terminal or as a picture.
#include "choose/run_groups.h"
#include "choose/run_spec.h"
#include "choose/runs_where.h"
#include "commands/commands.h"
#include "curves/curve.h"
#include "index/values/machine.h"
#include "output/json.h"
#include "output/output_file.h"
#include "output/terminal_text.h"
#include "output/time.h"
#include "plot/figure.h"
#include "plot/follow.h"
#include "plot/picture.h"
#include "plot/terminal_plot.h"
#include "shell/context.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <optional>

namespace flor::cli {
namespace {

constexpr std::string_view kUsage = "flor plot RUN... -m METRIC";
constexpr int kPlainWidth = 80, kPlainHeight = 24;

class Plot final : public Command {
 public:
  std::string_view name() const override { return "plot"; }
  std::string_view summary() const override {
    return "draw metrics as curves, here or in a picture";
  }
  std::string_view lesson() const override {
    return R"(Draws what runs logged, what replays found in hindsight and what evaluators found, as flor query
has it. Each -m is a panel of its own; metrics with a comma between them share one; without -m the
first numbers that were logged are drawn. What was logged in nested loops is drawn by step unless --by
says otherwise, all else by epoch; samples of the machine (-m machine/cpu) by time. --smooth is the weight of an exponential moving average, 0.9 for
instance. With --group-by or --over the mean of each group of runs is drawn, in a band of one sample
deviation to either side.

Examples:
  flor plot                                    the latest run here
  flor plot linear linear~1 -m loss --log      the last two, logarithmic
  flor plot $(flor list linear -q -n 5) -m loss -m accuracy
  flor plot linear --where 'lr<0.01' -m loss   all runs of linear for which this holds
  flor plot -m loss,val_loss --by epoch --smooth 0.9 -o loss.svg
  flor plot linear --over seed -m loss         means over runs that differ in their seed
  flor plot -m loss -x samples                 over the samples seen, which were logged there, too
  flor plot --follow                           while the run goes on
)";
  }
  void setup(Syntax& syntax) override {
    syntax.operands("RUN", runs_, "the runs; without any the latest");
    syntax.option("-m,--metric", "METRIC", metrics_, "draw a panel for it; A,B draws both in one");
    syntax.option("--where", "CONDITION", where_,
                  "choose only runs for which this holds, as 'lr<0.01'");
    groups_.declare(syntax);
    syntax.option("-o,--output", "FILE", file_, "write an .svg or .png file");
    syntax.option("-x,--by", "AXIS", by_,
                  "draw by epoch, step or time, or over the values of another metric");
    syntax.option("--smooth", "WEIGHT", smooth_, "draw a moving average, from 0 (none) to below 1");
    syntax.flag("--log", logarithmic_, "give every power of ten the same room");
    syntax.option("--epochs", "EPOCHS", epochs_, "draw only these: A..B, both included, 0-based");
    syntax.flag("-f,--follow", follow_, "redraw when new values arrive, until the runs end");
    syntax.option("--size", "WxH", size_, "set the size: pixels with -o, else columns and lines");
    syntax.flag("--ascii", ascii_, "draw with plain letters instead of dots of braille");
  }
  int run(Context& context) override;

 private:
  void check_options(const Context& context);
  void choose_axis(const store::Catalog& catalog);
  void require_places(const std::vector<PlottedRun>& runs) const;
  std::vector<std::string> read_metrics(const store::Catalog& catalog,
                                        std::span<const store::Run> runs);
  std::vector<PlottedRun> ask(Context& context);
  std::vector<PlottedRun> grouped(Context& context, std::vector<PlottedRun> runs) const;
  void choose_panels(const std::vector<PlottedRun>& runs);
  void require_numbers(const std::vector<PlottedRun>& runs) const;
  TerminalForm terminal_form(Context& context) const;
  bool draw(Context& context);
  void draw_here(Context& context, const Figure& figure);
  void print_json(Context& context, const std::vector<PlottedRun>& runs) const;

  std::vector<std::string> runs_, metrics_, where_;
  GroupWish groups_;
  std::string file_, by_, smooth_, epochs_, size_;
  bool logarithmic_ = false, follow_ = false, ascii_ = false;

  std::vector<store::Run> chosen_;
  SeriesQuestion question_;
  FigurePlan plan_;
  std::optional<PictureSize> picture_size_;
  std::optional<TerminalForm> terminal_size_;
  bool is_redrawn_ = false;
  std::size_t not_drawn_ = 0;  // without -m: number of metrics for which there is no room
};

double parse_weight(const std::string& text) {
  double weight = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), weight);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  if (!whole || !(weight >= 0 && weight < 1)) {
    throw UsageError(fmt::format("--smooth {} is no weight: use a number from 0 to below 1, as 0.9",
                                 printable(text)));
  }
  return weight;
}

TerminalForm parse_terminal_size(const std::string& text) {
  TerminalForm form;
  const std::size_t x = text.find('x');
  const auto number = [&](std::string_view digits, int& target) {
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), target);
    return error == std::errc() && end == digits.data() + digits.size();
  };
  const std::string_view view = text;
  const bool good = x != text.npos && number(view.substr(0, x), form.width) &&
                    number(view.substr(x + 1), form.height) && form.width >= 20 &&
                    form.height >= 8 && form.width <= 1000 && form.height <= 1000;
  if (good) return form;
  throw UsageError(
      fmt::format("--size {} is no size: use COLUMNSxLINES from 20x8 to 1000x1000, as 100x30",
                  printable(text)));
}

/// Splits "A,B" into two metrics, unless a metric has that very name.
std::vector<std::string> names_in(const std::string& text, const std::vector<std::string>& known) {
  const bool whole = std::ranges::find(known, text) != known.end();
  if (whole || text.find(',') == text.npos) return {text};
  std::vector<std::string> names;
  std::string_view rest = text;
  while (true) {
    const std::size_t comma = rest.find(',');
    const std::string name(rest.substr(0, comma));
    if (!name.empty() && std::ranges::find(names, name) == names.end()) names.push_back(name);
    if (comma == rest.npos) return names;
    rest.remove_prefix(comma + 1);
  }
}

bool is_running(std::span<const store::Run> runs) {
  return std::ranges::any_of(
      runs, [](const store::Run& run) { return run.state == store::RunState::running; });
}

/// Whether the environment does not rule out UTF-8. Most terminals understand it without saying so.
bool may_be_utf8() {
  for (const char* variable : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(variable);
    if (!value || !*value) continue;
    const std::string_view text = value;
    return text.find("UTF-8") != text.npos || text.find("utf8") != text.npos;
  }
  return true;
}

bool is_dumb() {
  const char* value = std::getenv("TERM");
  return !value || !*value || std::string_view(value) == "dumb";
}

void Plot::check_options(const Context& context) {
  if (!file_.empty()) check_picture_name(file_);
  if (!file_.empty() && context.json()) {
    throw UsageError("--json and -o exclude each other: give one of them");
  }
  if (!smooth_.empty()) plan_.smoothing = parse_weight(smooth_);
  plan_.logarithmic = logarithmic_;
  if (!epochs_.empty()) {
    const EpochRange range = parse_epochs(epochs_);
    question_.first_epoch = range.first;
    question_.last_epoch = range.last;
  }
  if (size_.empty()) return;
  if (file_.empty()) {
    terminal_size_ = parse_terminal_size(size_);
  } else {
    picture_size_ = parse_picture_size(size_);
  }
}

/// Takes the axis from --by: a word for one, or the name of a metric or a loop's column.
void Plot::choose_axis(const store::Catalog& catalog) {
  if (by_.empty()) return;
  if (const auto axis = axis_named(by_)) {
    plan_.axis = *axis;
    return;
  }
  const std::vector<std::string> known = metric_names(catalog, chosen_);
  constexpr std::string_view kLoopValue = "_value";
  const bool is_metric = std::ranges::find(known, by_) != known.end();
  if (!is_metric && !by_.ends_with(kLoopValue)) {
    throw UsageError(fmt::format("--by {}: use epoch, step or time, or a metric that was logged{}",
                                 printable(by_), did_you_mean(by_, known)));
  }
  if (std::ranges::find(question_.metrics, by_) != question_.metrics.end()) {
    throw UsageError(
        fmt::format("--by {}: this is what is drawn: name another metric with -m", printable(by_)));
  }
  if (groups_.any()) {
    throw UsageError(
        "means are over equal epochs or steps, not values: use --by epoch or --by step");
  }
  question_.over = plan_.over = by_;
}

/// The metrics of all panels, without duplicates.
std::vector<std::string> Plot::read_metrics(const store::Catalog& catalog,
                                            std::span<const store::Run> runs) {
  const std::vector<std::string> known = metric_names(catalog, runs);
  std::vector<std::string> all;
  for (const std::string& text : metrics_) {
    plan_.panels.push_back(names_in(text, known));
    for (const std::string& name : plan_.panels.back()) {
      if (std::ranges::find(all, name) == all.end()) all.push_back(name);
    }
  }
  return all;
}

std::vector<PlottedRun> Plot::ask(Context& context) {
  if (metrics_.empty()) {
    question_.metrics = number_names(context.catalog(), chosen_);
    std::erase(question_.metrics, question_.over);
    // Reads more metrics than there is room for, since some may have been logged outside of all
    // loops.
    constexpr std::size_t kRead = 16;
    not_drawn_ =
        context.json() || question_.metrics.size() <= kRead ? 0 : question_.metrics.size() - kRead;
    question_.metrics.resize(question_.metrics.size() - not_drawn_);
  }
  if (by_.empty()) {
    const bool samples = std::ranges::any_of(question_.metrics, store::is_machine_name);
    plan_.axis = samples                                                  ? Axis::time
                 : has_steps(context.store(), chosen_, question_.metrics) ? Axis::step
                                                                          : Axis::epoch;
  }
  if (groups_.any() && plan_.axis == Axis::time) {
    throw UsageError(
        "means are over equal epochs or steps, not times: use --by epoch or --by step");
  }
  question_.axis = plan_.axis;
  std::vector<PlottedRun> result;
  for (const store::Run& run : chosen_) {
    const store::Catalog& catalog = context.catalog();
    // The run's state is read before its values: if it has ended then, all its values are there.
    store::Run now = catalog.run(run.id).value_or(run);
    SeriesAnswer answer = question_.over.empty()
                              ? series_of(context.store(), now, question_, now_us())
                              : series_over(context.store(), now, question_);
    result.push_back({std::move(now), catalog.arguments(run.id), std::move(answer)});
  }
  if (metrics_.empty()) choose_panels(result);
  return groups_.any() ? grouped(context, std::move(result)) : std::move(result);
}

/// Replaces the runs of each group by their mean.
std::vector<PlottedRun> Plot::grouped(Context& context, std::vector<PlottedRun> runs) const {
  std::vector<store::Run> all;
  for (const PlottedRun& plotted : runs) all.push_back(plotted.run);
  std::vector<PlottedRun> result;
  for (const RunGroup& group : group_runs(context.catalog(), all, groups_)) {
    std::vector<SeriesAnswer> answers;
    PlottedRun mean{.run = group.runs.front(), .arguments = {}, .answer = {}};
    mean.label = group.label();
    for (const store::Run& run : group.runs) {
      const auto found =
          std::ranges::find(runs, run.id, [](const PlottedRun& plotted) { return plotted.run.id; });
      answers.push_back(found->answer);
      mean.keys.push_back(run.key);
      if (run.state == store::RunState::running) mean.run.state = run.state;
    }
    mean.answer = averaged(answers);
    result.push_back(std::move(mean));
  }
  return result;
}

/// Gives a panel to each of the first metrics that make a curve. The panels share the height of the
/// terminal.
void Plot::choose_panels(const std::vector<PlottedRun>& runs) {
  constexpr std::size_t kPanelsMax = 4;
  plan_.panels.clear();
  for (const std::string& metric : question_.metrics) {
    const bool drawn = std::ranges::any_of(runs, [&](const PlottedRun& plotted) {
      return std::ranges::any_of(plotted.answer.series, [&](const Series& series) {
        return (series.asked.empty() ? series.metric : series.asked) == metric;
      });
    });
    if (!drawn) continue;
    if (plan_.panels.size() < kPanelsMax) {
      plan_.panels.push_back({metric});
    } else {
      ++not_drawn_;
    }
  }
}

/// Throws NotFound if no value that is to be drawn has one of the axis at its place.
void Plot::require_places(const std::vector<PlottedRun>& runs) const {
  std::int64_t no_x = 0;
  for (const PlottedRun& plotted : runs) {
    if (!plotted.answer.series.empty()) return;
    no_x += plotted.answer.no_x;
  }
  if (no_x == 0) return;
  throw NotFound(
      printable(fmt::format("no place has both {} and {}: log them in the same iterations, or {} "
                            "further out; `flor query "
                            "{} {}` shows where they are",
                            fmt::join(question_.metrics, " or "), question_.over, question_.over,
                            question_.metrics.front(), question_.over)));
}

void Plot::require_numbers(const std::vector<PlottedRun>& runs) const {
  if (!question_.over.empty()) require_places(runs);
  if (metrics_.empty() && plan_.panels.empty()) {
    throw NotFound(fmt::format("no numbers were logged in the loops of {}: see `flor show {}`",
                               chosen_.size() == 1 ? "run " + title(chosen_.front())
                                                   : fmt::format("these {} runs", chosen_.size()),
                               short_key(chosen_.front())));
  }
  std::int64_t no_numbers = 0, no_place = 0;
  for (const PlottedRun& plotted : runs) {
    if (!plotted.answer.series.empty()) return;
    no_numbers += plotted.answer.no_numbers;
    no_place += plotted.answer.no_place;
  }
  if (no_place > 0) {
    throw NotFound(
        "these values were logged outside of every loop, which makes no curve: see `flor query`");
  }
  if (no_numbers > 0) {
    throw NotFound(
        "these values are histograms, tables or texts, and cannot be plotted as a curve: see `flor "
        "query`");
  }
  throw NotFound("no values there: see `flor show RUN` for what was logged and where");
}

TerminalForm Plot::terminal_form(Context& context) const {
  TerminalForm form;
  if (context.out().is_terminal()) {
    form.width = std::max(20, context.out().width());
    // The prompt below the plot takes a line or two.
    form.height = std::max(8, context.out().height() - 2);
    form.braille = !ascii_ && !is_dumb() && may_be_utf8();
  } else {
    form.width = kPlainWidth;
    form.height = kPlainHeight;
  }
  if (terminal_size_) {
    form.width = terminal_size_->width;
    form.height = terminal_size_->height;
  }
  form.colored = context.style().colored();
  return form;
}

void Plot::draw_here(Context& context, const Figure& figure) {
  std::string text = drawn_as_text(figure, terminal_form(context));
  if (is_redrawn_) {
    // Overwrites the last picture line by line, so that nothing flickers.
    std::string over = "\x1b[H";
    for (const char c : text) over += c == '\n' ? std::string("\x1b[K\n") : std::string(1, c);
    text = over + "\x1b[J";
  }
  context.out().write(text);
  context.out().flush();
}

/// The JSON of a group's mean curve.
Json mean_json(const PlottedRun& plotted, const Series& series) {
  Json x = Json::array();
  for (const Point& point : series.points) x.push_back(point.x);
  Json result{{"group", plotted.label},
              {"runs", plotted.keys},
              {"metric", series.metric},
              {"loop", series.path},
              {"x", std::move(x)}};
  for (const Spread& spread : series.spreads) {
    const Json one = spread_json(spread);
    for (const auto& [field, value] : one.items()) result[field].push_back(value);
  }
  return result;
}

void Plot::print_json(Context& context, const std::vector<PlottedRun>& runs) const {
  Json head = document("plot");
  head["by"] = question_.over.empty() ? std::string(to_string(question_.axis)) : question_.over;
  head["smoothing"] = plan_.smoothing;
  JsonList list(context.out(), head, "series");
  for (const PlottedRun& plotted : runs) {
    for (const Series& series : plotted.answer.series) {
      if (!plotted.label.empty()) {
        list.add(mean_json(plotted, series));
        continue;
      }
      Json x = Json::array(), y = Json::array(), origins = Json::array();
      for (const Point& point : smoothed(series.points, plan_.smoothing)) {
        constexpr const char* kOrigins[] = {"recorded", "hindsight", "evaluated"};
        x.push_back(point.x);
        y.push_back(json_number(point.y));
        origins.push_back(kOrigins[static_cast<std::size_t>(point.origin)]);
      }
      list.add({{"run", plotted.run.key},
                {"experiment", plotted.run.start.experiment},
                {"metric", series.metric},
                {"loop", series.path},
                {"doubtful", series.doubtful},
                {"x", std::move(x)},
                {"y", std::move(y)},
                {"origins", std::move(origins)}});
    }
  }
  list.end();
}

/// Draws the plot. Returns whether one of the runs is still being recorded.
bool Plot::draw(Context& context) {
  const std::vector<PlottedRun> runs = ask(context);
  const bool goes_on = std::ranges::any_of(runs, [](const PlottedRun& plotted) {
    return plotted.run.state == store::RunState::running;
  });
  if (!goes_on && !metrics_.empty()) {
    require_metrics(context.catalog(), chosen_, question_.metrics, kUsage);
  }
  if (!follow_ || !goes_on) require_numbers(runs);
  if (context.json()) {
    print_json(context, runs);
    return goes_on;
  }
  const Figure figure = make_figure(runs, plan_);
  if (file_.empty()) {
    draw_here(context, figure);
  } else {
    write_file(file_, drawn_as_picture(figure, file_, picture_size_.value_or(PictureSize{})));
  }
  if (!file_.empty() || (follow_ && goes_on)) return goes_on;
  for (const std::string& note : figure.notes) context.note(note);
  if (not_drawn_ > 0) {
    context.note(fmt::format("{} more metric{}: -m NAME draws {}", not_drawn_,
                             not_drawn_ == 1 ? "" : "s", not_drawn_ == 1 ? "it" : "one"));
  }
  return goes_on;
}

int Plot::run(Context& context) {
  check_options(context);
  const store::Catalog& catalog = context.catalog();
  chosen_ = choose_runs(context, {.words = runs_, .where = where_, .all_of_names = groups_.any()});
  question_.metrics = read_metrics(catalog, chosen_);
  choose_axis(catalog);
  if (groups_.any()) {
    const std::string remark = lone_runs(group_runs(catalog, chosen_, groups_), groups_);
    if (!remark.empty()) context.note(remark);
  }
  // A run that has just begun may log these metrics later.
  const bool may_come = metrics_.empty() || (follow_ && is_running(chosen_));
  if (!may_come) require_metrics(catalog, chosen_, question_.metrics, kUsage);
  const bool is_default = runs_.empty() && where_.empty();
  if (is_default && !groups_.any() && !context.json()) {
    context.note("run " + title(chosen_.front()));
  }
  if (!follow_) {
    draw(context);
    return 0;
  }
  is_redrawn_ = file_.empty();
  if (is_redrawn_ && (context.json() || !context.out().is_terminal())) {
    throw UsageError("--follow draws on a terminal, or to a file: name one with -o");
  }
  if (is_redrawn_) context.out().write("\x1b[?25l\x1b[2J");
  const auto show_cursor = [&] {
    if (is_redrawn_) context.out().write("\x1b[?25h");
    context.out().flush();
  };
  bool ended = false;
  try {
    ended = follow(context.store(), [&] { return draw(context); });
  } catch (...) {
    show_cursor();
    throw;
  }
  show_cursor();
  return static_cast<int>(ended ? ExitStatus::done : ExitStatus::interrupted);
}

}  // namespace

std::unique_ptr<Command> make_plot() { return std::make_unique<Plot>(); }

}  // namespace flor::cli
