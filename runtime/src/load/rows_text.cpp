#include "load/rows_text.h"

#include "base/text.h"

#include <flor/store/error.h>

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <cstdint>
#include <set>
#include <utility>
#include <variant>
#include <vector>

namespace flor::detail {
namespace {

using Cell = Rows::Cell;

constexpr std::string_view kRowsHead = "flor rows 1\n";

template <typename T>
void append_number(std::string& out, T number, int base = 10) {
  char buffer[24];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, number, base);
  out.append(buffer, end);
}

void append_text(std::string& out, std::string_view text) {
  append_number(out, text.size());
  out += ':';
  out += text;
}

struct CellWriter {
  std::string& out;
  void operator()(std::monostate) const { out += '-'; }
  void operator()(bool value) const { out += value ? "b1" : "b0"; }
  void operator()(std::int64_t value) const {
    out += 'i';
    append_number(out, value);
  }
  void operator()(double value) const {
    out += 'r';
    append_number(out, std::bit_cast<std::uint64_t>(value), 16);
  }
  void operator()(const std::string& value) const {
    out += 't';
    append_text(out, value);
  }
};

class RowsReader {
 public:
  explicit RowsReader(std::string_view bytes) : left_(bytes) {}

  Rows read() {
    expect(kRowsHead);
    expect("columns ");
    const auto columns = number<std::size_t>();
    expect("\n");
    std::vector<std::string> names;
    for (std::size_t i = 0; i < columns; ++i) {
      names.push_back(text());
      expect("\n");
    }
    expect("rows ");
    const auto rows = number<std::size_t>();
    expect("\n");
    // A cell has at least two bytes, so that the loop ends where the bytes do.
    std::vector<Cell> cells;
    for (std::size_t row = 0; row < rows && columns > 0; ++row) {
      for (std::size_t i = 0; i < columns; ++i) {
        cells.push_back(cell());
        expect(i + 1 < columns ? " " : "\n");
      }
    }
    if (!left_.empty() || (columns == 0 && rows > 0)) wrong();
    if (std::set(names.begin(), names.end()).size() != names.size()) wrong();
    return {std::move(names), std::move(cells)};
  }

 private:
  [[noreturn]] static void wrong() {
    throw Damaged("the recorded rows of a question cannot be read: 'flor fsck' examines the store");
  }
  void expect(std::string_view text) {
    if (!left_.starts_with(text)) wrong();
    left_.remove_prefix(text.size());
  }
  template <typename T>
  T number(int base = 10) {
    T value{};
    const auto [end, error] =
        std::from_chars(left_.data(), left_.data() + left_.size(), value, base);
    if (error != std::errc()) wrong();
    const auto length = static_cast<std::size_t>(end - left_.data());
    std::string again;
    append_number(again, value, base);
    if (again != left_.substr(0, length)) wrong();  // "007", "-0", "FF"
    left_.remove_prefix(length);
    return value;
  }
  std::string text() {
    const auto size = number<std::size_t>();
    expect(":");
    if (size > left_.size()) wrong();
    std::string value(left_.substr(0, size));
    left_.remove_prefix(size);
    return value;
  }
  Cell cell() {
    if (left_.empty()) wrong();
    const char type = left_.front();
    left_.remove_prefix(1);
    switch (type) {
      case '-':
        return {};
      case 'b': {
        const auto bit = number<unsigned>();
        if (bit > 1) wrong();
        return bit == 1;
      }
      case 'i':
        return number<std::int64_t>();
      case 'r':
        return std::bit_cast<double>(number<std::uint64_t>(16));
      case 't':
        return text();
      default:
        wrong();
    }
  }

  std::string_view left_;
};

}  // namespace

std::string encode_rows(const Rows& rows, std::size_t most) {
  const auto check = [&](const std::string& out) {
    if (out.size() <= most) return;
    throw Error(fmt::format("the answer has more than {}: ask for fewer runs, names or epochs",
                            store::print_bytes(most)));
  };
  std::string out(kRowsHead);
  out += fmt::format("columns {}\n", rows.columns().size());
  for (const std::string& name : rows.columns()) {
    append_text(out, name);
    out += '\n';
  }
  out += fmt::format("rows {}\n", rows.size());
  const std::size_t columns = rows.columns().size();
  for (std::size_t i = 0; i < rows.cells().size(); ++i) {
    std::visit(CellWriter{out}, rows.cells()[i]);
    out += (i + 1) % columns == 0 ? '\n' : ' ';
    check(out);
  }
  check(out);
  return out;
}

Rows decode_rows(std::string_view bytes) { return RowsReader(bytes).read(); }

}  // namespace flor::detail
