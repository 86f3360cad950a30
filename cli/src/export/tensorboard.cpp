#include "export/tensorboard.h"

#include "choose/run_spec.h"
#include "curves/course.h"
#include "export/event_file.h"
#include "export/png_image.h"
#include "index/values/value_stream.h"
#include "output/file_name.h"
#include "output/json.h"
#include "output/output_file.h"
#include "output/terminal_text.h"
#include "output/values.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <map>
#include <set>
#include <system_error>

namespace flor::cli {
namespace {

using store::Value;
using store::ValueType;

std::string escaped_cell(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '|') result += '\\';
    result += c;
  }
  return result;
}

std::string cell_text(const Json& cell) {
  return escaped_cell(cell.is_string() ? cell.get<std::string>() : cell.dump());
}

std::string markdown_row(std::span<const std::string> cells) {
  std::string row = "|";
  for (const std::string& cell : cells) row += " " + cell + " |";
  return row + "\n";
}

/// A logged table as Markdown; empty if the value is no table.
std::string markdown_table(const Json& table) {
  if (!table.is_object() || !table.contains("columns") || !table.contains("rows")) return {};
  const bool named = table.contains("row_names");
  std::vector<std::string> cells;
  if (named) cells.emplace_back();
  for (const Json& column : table["columns"]) cells.push_back(cell_text(column));
  std::string text = markdown_row(cells);
  std::ranges::fill(cells, "---");
  text += markdown_row(cells);
  for (std::size_t i = 0; i < table["rows"].size(); ++i) {
    cells.clear();
    if (named && i < table["row_names"].size()) cells.push_back(cell_text(table["row_names"][i]));
    for (const Json& cell : table["rows"][i]) cells.push_back(cell_text(cell));
    text += markdown_row(cells);
  }
  return text;
}

std::string markdown_arguments(std::span<const store::Argument> arguments) {
  std::string text = "| argument | value |\n| --- | --- |\n";
  for (const store::Argument& argument : arguments) {
    text += fmt::format("| {} | {} |\n", escaped_cell(argument.name), escaped_cell(argument.value));
  }
  return text;
}

/// How a metric's values are written.
struct Line {
  std::string tag;
  bool counts_values = false;  ///< whether the step of a value is its number, because places have
                               ///< several values
  std::int64_t written = 0;
};

class RunWriter {
 public:
  RunWriter(const store::Store& store, const store::Run& run, const ExportQuestion& question,
            std::int64_t now_us)
      : store_(store),
        run_(run),
        query_(value_query(run, question)),
        course_(store.catalog(), run, now_us) {
    look_ahead();
  }

  void write(Output& out, TensorBoardReport& report) {
    EventFile events(out, run_.start.started_us);
    const auto arguments = store_.catalog().arguments(run_.id);
    if (!arguments.empty()) {
      events.text("arguments", {0, run_.start.started_us}, markdown_arguments(arguments));
      ++report.events;
    }
    store::each_value(store_, query_, [&](Value&& value) {
      ++(add(events, value) ? report.events : report.left_out);
    });
  }

 private:
  /// A first pass over the values: finds metrics that are logged in several loops, places that have
  /// several values, and the numbers of steps of incomplete epochs.
  void look_ahead() {
    std::map<std::string, std::set<std::string>> paths;
    std::string name, path;
    std::int64_t epoch = -2, step = -2;
    store::each_value(store_, query_, [&](Value&& value) {
      course_.notice(nested_loop(value.place.path), value.place.epoch, value.place.step);
      if (value.name != name || value.place.path != path) {
        name = value.name;
        path = value.place.path;
        paths[name].insert(path);
      } else if (value.place.epoch == epoch && value.place.step == step) {
        lines_[{name, path}].counts_values = true;
      }
      epoch = value.place.epoch;
      step = value.place.step;
    });
    for (const auto& [metric, loops] : paths) {
      for (const std::string& loop : loops) {
        lines_[{metric, loop}].tag = loops.size() > 1 ? fmt::format("{}/{}", metric, loop) : metric;
      }
    }
  }

  bool add(EventFile& events, const Value& value) {
    Line& line = lines_[{value.name, value.place.path}];
    // The metric was first logged after the first pass.
    if (line.tag.empty()) line.tag = value.name;
    const EventPlace place{line.counts_values ? line.written : course_.step_number(value.place),
                           course_.clock_us(value.place)};
    ++line.written;
    switch (value.type) {
      case ValueType::boolean:
      case ValueType::integer:
      case ValueType::real:
        events.scalar(line.tag, place, number(value.type, value.value).value_or(0));
        return true;
      case ValueType::text:
      case ValueType::json:
        events.text(line.tag, place, exact(value.type, value.value));
        return true;
      case ValueType::table: {
        const std::string table = markdown_table(to_json(value.type, value.value));
        if (!table.empty()) events.text(line.tag, place, table);
        return !table.empty();
      }
      case ValueType::histogram:
        return add_histogram(events, line.tag, place, to_json(value.type, value.value));
      case ValueType::image:
        return add_image(events, line.tag, place, value);
      case ValueType::tensor:
        return false;
    }
    return false;
  }

  static bool add_histogram(EventFile& events, const std::string& tag, EventPlace place,
                            const Json& histogram) {
    if (!histogram.is_object()) return false;
    const auto edges = histogram.value("edges", std::vector<double>());
    const auto counts = histogram.value("counts", std::vector<double>());
    if (counts.empty() || edges.size() != counts.size() + 1) return false;
    events.histogram(tag, place, {edges, counts});
    return true;
  }

  bool add_image(EventFile& events, const std::string& tag, EventPlace place, const Value& value) {
    const store::Object object = store::read_object(store_, std::get<std::string>(value.value));
    const auto& sizes = object.item.sizes;
    if (sizes.size() != 3) return false;
    const std::string png = encoded_png(object.content, sizes[0], sizes[1], sizes[2]);
    events.image(tag, place, {sizes[0], sizes[1], sizes[2], png});
    return true;
  }

  const store::Store& store_;
  const store::Run& run_;
  store::ValueQuery query_;
  Course course_;
  std::map<std::pair<std::string, std::string>, Line> lines_;
};

/// A directory name, from the experiment and the key, that every file system accepts.
std::string directory_name(const store::Run& run) {
  std::string name = run.start.experiment;
  for (char& c : name) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_';
    if (!plain && c != '.') c = '_';
  }
  if (name.starts_with('.')) name[0] = '_';
  return file_name_of(name) + "-" + short_key(run);
}

}  // namespace

TensorBoardReport write_event_file(const store::Store& store, const store::Run& run,
                                   const ExportQuestion& question,
                                   const std::filesystem::path& directory, std::int64_t now_us) {
  const std::filesystem::path place = directory / directory_name(run);
  std::error_code error;
  std::filesystem::create_directories(place, error);
  if (error) {
    throw Error(fmt::format("cannot make the directory {}: {}", printable(place.string()),
                            error.message()));
  }
  constexpr std::int64_t kSecond = 1'000'000;
  TensorBoardReport report;
  report.file =
      place / fmt::format("events.out.tfevents.{:010}.{}", run.start.started_us / kSecond, run.key);
  OutputFile file(report.file);
  RunWriter(store, run, question, now_us).write(file.out(), report);
  file.finish();
  return report;
}

}  // namespace flor::cli
