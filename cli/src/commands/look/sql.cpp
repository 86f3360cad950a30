// flor sql: executes one SELECT on the catalog.
#include "commands/commands.h"
#include "index/values/sql.h"
#include "output/csv.h"
#include "output/json.h"
#include "output/table.h"
#include "output/terminal_text.h"
#include "output/values.h"
#include "shell/context.h"
#include "shell/interrupt.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>
#include <iostream>
#include <iterator>
#include <set>

namespace flor::cli {
namespace {

using store::SqlValue;

/// Rows that a table shows unless --limit says more: it is held in memory until its last row is
/// read.
constexpr std::uint64_t kTableRows = 10'000;

std::string hex(std::span<const std::byte> bytes) {
  std::string text = "x'";
  for (const std::byte byte : bytes) text += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
  return text + "'";
}

std::string text_of(const SqlValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return fmt::format("{}", *integer);
  if (const auto* real = std::get_if<double>(&value)) return exact(*real);
  if (const auto* text = std::get_if<std::string_view>(&value)) return std::string(*text);
  if (const auto* blob = std::get_if<std::span<const std::byte>>(&value)) return hex(*blob);
  return {};
}

Json json_of(const SqlValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return *integer;
  if (const auto* real = std::get_if<double>(&value)) return json_number(*real);
  if (std::holds_alternative<std::nullptr_t>(value)) return nullptr;
  return text_of(value);
}

bool is_number(const SqlValue& value) {
  return std::holds_alternative<std::int64_t>(value) || std::holds_alternative<double>(value);
}

/// Writes the rows in one output format.
class Rows {
 public:
  virtual ~Rows() = default;
  virtual void begin(const std::vector<std::string>& names) = 0;
  virtual void add(std::span<const SqlValue> row) = 0;
  virtual void end() = 0;
};

class TableRows final : public Rows {
 public:
  explicit TableRows(Context& context) : context_(context) {}
  void begin(const std::vector<std::string>& names) override { names_ = names; }
  void add(std::span<const SqlValue> row) override {
    if (!table_) open(row);
    for (const SqlValue& value : row) {
      const bool is_null = std::holds_alternative<std::nullptr_t>(value);
      table_->add(is_null ? "-" : text_of(value), is_null ? Tone::faint : Tone::plain);
    }
  }
  void end() override {
    if (!table_) open({});
    table_->print(context_.out(), context_.style());
  }

 private:
  /// Begins the table. A column whose value in the first row is a number is aligned to the right.
  void open(std::span<const SqlValue> row) {
    std::vector<Table::Column> columns;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      const bool right = i < row.size() && is_number(row[i]);
      columns.push_back({names_[i], right ? Align::right : Align::left, false});
    }
    table_.emplace(std::move(columns));
  }

  Context& context_;
  std::vector<std::string> names_;
  std::optional<Table> table_;
};

class CsvRows final : public Rows {
 public:
  explicit CsvRows(Output& out) : csv_(out) {}
  void begin(const std::vector<std::string>& names) override {
    for (const std::string& name : names) csv_.field(name);
    csv_.end_row();
  }
  void add(std::span<const SqlValue> row) override {
    for (const SqlValue& value : row) csv_.field(text_of(value));
    csv_.end_row();
  }
  void end() override {}

 private:
  CsvWriter csv_;
};

class JsonRows final : public Rows {
 public:
  JsonRows(Output& out, bool lines) : out_(out), lines_(lines) {}
  void begin(const std::vector<std::string>& names) override {
    // Two columns may have the same name, but two members of an object may not.
    std::set<std::string> taken;
    for (const std::string& name : names) {
      std::string key = name;
      for (int i = 2; !taken.insert(key).second; ++i) key = fmt::format("{}_{}", name, i);
      keys_.push_back(key);
    }
    if (lines_) return;
    Json head = document("sql");
    head["columns"] = keys_;
    list_.emplace(out_, head, "rows");
  }
  void add(std::span<const SqlValue> row) override {
    Json object = Json::object();
    for (std::size_t i = 0; i < row.size(); ++i) object[keys_[i]] = json_of(row[i]);
    if (list_) {
      list_->add(object);
    } else {
      out_.write(compact(object) + "\n");
    }
  }
  void end() override {
    if (list_) list_->end();
  }

 private:
  Output& out_;
  bool lines_;
  std::vector<std::string> keys_;
  std::optional<JsonList> list_;
};

class Sql final : public Command {
 public:
  std::string_view name() const override { return "sql"; }
  std::string_view summary() const override { return "ask the catalog in SQL, read-only"; }
  std::string_view lesson() const override {
    return R"(One SELECT of SQLite on the catalog, which can only be read. The views runs, arguments, metrics and
points stay as docs/getting-at-the-data.md has them; the tables are those of docs/internals/format.md.
Ctrl-C ends what takes too long. A table shows 10,000 rows at most, unless --limit says more; the other
forms show all.

Examples:
  flor sql --tables
  flor sql 'SELECT experiment, count(*) FROM runs GROUP BY experiment'
  flor sql "SELECT run, last FROM metrics WHERE metric = 'accuracy' ORDER BY last DESC LIMIT 5"
  flor sql --format csv 'SELECT * FROM points' > points.csv
  flor sql - < question.sql
)";
  }
  void setup(Syntax& syntax) override {
    syntax.operand("SELECT", statement_, "the statement; - reads it from standard input", false);
    syntax.option("--format", "FORMAT", format_, "print a table, csv, json or jsonl");
    syntax.option("-n,--limit", "N", limit_, "show at most N rows");
    syntax.flag("--tables", tables_, "list the tables and views, with their columns");
  }
  int run(Context& context) override;

 private:
  std::unique_ptr<Rows> make_rows(Context& context);

  std::string statement_, format_;
  std::optional<std::uint64_t> limit_;
  bool tables_ = false;
};

std::unique_ptr<Rows> Sql::make_rows(Context& context) {
  if (context.json() && format_.empty()) format_ = "json";
  if (format_.empty() || format_ == "table") {
    if (!limit_) limit_ = kTableRows;
    return std::make_unique<TableRows>(context);
  }
  if (format_ == "csv") return std::make_unique<CsvRows>(context.out());
  if (format_ == "json" || format_ == "jsonl") {
    return std::make_unique<JsonRows>(context.out(), format_ == "jsonl");
  }
  throw UsageError(fmt::format("--format {}: use table, csv, json or jsonl", printable(format_)));
}

int Sql::run(Context& context) {
  if (statement_.empty() != tables_) {
    throw UsageError("nothing to ask: use flor sql 'SELECT ...', or flor sql --tables");
  }
  if (statement_ == "-") statement_.assign(std::istreambuf_iterator<char>(std::cin), {});
  const std::unique_ptr<Rows> rows = make_rows(context);
  store::SqlSession session(context.store());
  if (tables_) {
    rows->begin({"name", "columns"});
    for (const store::SqlTable& table : store::sql_tables(session)) {
      rows->add(
          std::array<SqlValue, 2>{std::string_view(table.name), std::string_view(table.columns)});
    }
    rows->end();
    return 0;
  }
  const Interruptible guard;
  std::uint64_t count = 0;
  bool is_cut = false;
  const store::SqlSink sink{[&](const std::vector<std::string>& names) { rows->begin(names); },
                            [&](std::span<const SqlValue> row) {
                              is_cut = limit_ && count == *limit_;
                              if (is_cut) return false;
                              ++count;
                              rows->add(row);
                              return true;
                            }};
  try {
    session.run(statement_, sink, Interruptible::came);
  } catch (const store::SqlStopped&) {
    context.note("interrupted: what was printed is not all");
    return static_cast<int>(ExitStatus::interrupted);
  }
  rows->end();
  if (is_cut) {
    context.note(
        fmt::format("only the first {} rows: --limit N shows more, --format csv all", count));
  }
  return 0;
}

}  // namespace

std::unique_ptr<Command> make_sql() { return std::make_unique<Sql>(); }

}  // namespace flor::cli
