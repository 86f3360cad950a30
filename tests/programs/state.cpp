// State of every kind that Flor saves without libtorch. Each piece is changed by the training loop
// in a way that depends on what it was, and printed after it. Arguments of the program's own change
// what it registers, as an edit of its source would: wide, fewer, more, renamed, retyped, null.
#include "show.h"

#include <flor/flor.h>

#include <array>
#include <cstdint>
#include <deque>
#include <istream>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace {

/// Saves itself as text.
struct Meter {
  int count = 0;
  double total = 0;
  void save(std::ostream& out) const {
    out << count << ' ' << std::hexfloat << total << std::defaultfloat;
  }
  void load(std::istream& in) {
    std::string text;
    in >> count >> text;
    total = std::stod(text);
  }
};

/// Saves itself piece by piece; its shape is that of the program, not of the record.
struct Matrix {
  std::int64_t rows = 2, columns = 3;
  std::vector<float> values = std::vector<float>(6, 1.0F);

  void save(const flor::StateWriter& writer) const {
    writer.tensor("values", {.type = flor::ElementType::f32,
                             .sizes = {rows, columns},
                             .bytes = values.size() * sizeof(float),
                             .host = reinterpret_cast<const std::byte*>(values.data()),
                             .copy = {}});
  }
  void load(const flor::StateReader& reader) {
    reader.tensor("values", {.type = flor::ElementType::f32,
                             .sizes = {rows, columns},
                             .bytes = values.size() * sizeof(float),
                             .host = reinterpret_cast<std::byte*>(values.data()),
                             .assign = {},
                             .keep_alive = {}});
  }
};

/// Knows nothing of Flor.
struct Foreign {
  long ticks = 0;
};

enum class Phase : std::uint8_t { warm, hot, cold };

struct Everything {
  bool flag = false;
  int integer = 1;
  float real32 = 1;
  double real64 = 1;
  std::uint64_t large = 1;
  Phase phase = Phase::warm;
  std::string text = "a";
  std::vector<double> numbers{1, 2};
  std::vector<bool> bits{true};
  std::deque<std::string> names{"x"};
  std::list<int> recent{1};
  std::map<std::string, int> counts{{"a", 1}};
  std::unordered_map<int, double> table{{1, 1.5}};
  std::set<int> seen{1};
  std::optional<double> best;
  std::pair<int, std::string> pair{1, "p"};
  std::tuple<int, double> tuple{1, 2.0};
  std::array<int, 2> array{1, 2};
  std::unique_ptr<double> owned = std::make_unique<double>(1);
  std::shared_ptr<std::string> shared = std::make_shared<std::string>("s");
  std::mt19937 engine{5};
  std::ranlux24 luxury{5};
  std::normal_distribution<double> normal;  // keeps every second number for the next call
  Meter meter;
  Matrix matrix;
  Foreign foreign;

  void step() {
    const auto drawn = static_cast<int>(engine() % 100);
    flag = !flag;
    integer = integer * 3 % 1001 + drawn;
    real32 = 0.5F * real32 + static_cast<float>(drawn);
    real64 = 0.5 * real64 + normal(engine);
    large = large * 6364136223846793005U + luxury();
    phase = static_cast<Phase>((static_cast<int>(phase) + drawn) % 3);
    text = text.substr(text.size() > 8 ? 1 : 0) + static_cast<char>('a' + drawn % 26);
    numbers.push_back(numbers.back() * 0.5 + drawn);
    if (numbers.size() > 6) numbers.erase(numbers.begin(), numbers.begin() + 4);
    bits.push_back(drawn % 2 == 0);
    names.push_front(names.back() + text.back());
    if (names.size() > 3) names.pop_back();
    recent.push_back(recent.front() + drawn);
    if (recent.size() > 3) recent.pop_front();
    ++counts[std::string(1, text.back())];
    if (drawn % 5 == 0) counts.erase(counts.begin());
    table[drawn % 4] += real64;
    if (drawn % 7 == 0) table.erase(drawn % 3);  // not begin(): a copy may be ordered otherwise
    seen.insert(drawn);
    if (seen.size() > 4) seen.erase(seen.begin());
    best = drawn % 3 == 0 ? std::nullopt : std::optional(best.value_or(0) + 1);
    pair = {pair.first + drawn, pair.second.substr(0, 3) + text.back()};
    tuple = {std::get<0>(tuple) + drawn, std::get<1>(tuple) * 0.5 + real64};
    array = {array[1], array[0] + drawn};
    *owned = 0.5 * *owned + drawn;
    *shared = text + shared->substr(0, 2);
    meter.total += real64;
    ++meter.count;
    matrix.values[static_cast<std::size_t>(drawn) % matrix.values.size()] += real32;
    foreign.ticks += drawn;
  }

  std::string print() const {
    std::ostringstream out;
    out << std::hexfloat << flag << integer << ' ' << real32 << ' ' << real64 << ' ' << large << ' '
        << static_cast<int>(phase) << ' ' << text;
    for (const double number : numbers) out << ' ' << number;
    for (const bool bit : bits) out << bit;
    for (const std::string& name : names) out << ' ' << name;
    for (const int number : recent) out << ' ' << number;
    for (const auto& [name, count] : counts) out << ' ' << name << count;
    for (const auto& [key, value] : std::map<int, double>(table.begin(), table.end())) {
      out << ' ' << key << ':' << value;
    }
    for (const int number : seen) out << ' ' << number;
    out << ' ' << best.value_or(-1) << ' ' << pair.first << pair.second << ' ' << std::get<0>(tuple)
        << ' ' << std::get<1>(tuple) << ' ' << array[0] << ' ' << array[1] << ' ' << *owned << ' '
        << *shared << ' ' << meter.count << ' ' << meter.total;
    for (const float value : matrix.values) out << ' ' << value;
    out << ' ' << foreign.ticks;
    return std::move(out).str();
  }
};

}  // namespace

template <>
struct flor::StateTraits<Foreign> {
  static constexpr std::string_view kind = "ticks";
  static void save(const Foreign& value, const StateWriter& writer) {
    writer.number("", value.ticks);
  }
  static void load(Foreign& value, const StateReader& reader) { reader.number("", value.ticks); }
};

int main(int argc, char** argv) {
  auto session = flor::init(argc, argv);
  const std::string what = argc > 1 ? argv[1] : "";
  Everything all;
  if (what == "wide") {
    all.matrix.columns = 4;
    all.matrix.values.resize(8);
  }
  if (what == "null") all.owned.reset();
  const auto numbers = flor::checkpoints(all.flag, all.integer, all.real32, all.real64, all.large,
                                         all.phase, all.text);
  const auto containers = flor::checkpoints(all.numbers, all.bits, all.names, all.recent,
                                            all.counts, all.table, all.seen);
  const auto pieces =
      flor::checkpoints(all.best, all.pair, all.tuple, all.array, all.owned, all.shared);
  const auto engines = flor::checkpoints(all.engine, all.luxury, all.normal);
  std::vector<flor::Checkpoints> own;
  short narrow = 0;
  if (what != "fewer") own.push_back(flor::checkpoints(flor::named("meter", all.meter)));
  own.push_back(
      flor::checkpoints(flor::named(what == "renamed" ? "weights" : "matrix", all.matrix)));
  if (what == "retyped") {
    own.push_back(flor::checkpoints(flor::named("ticks", narrow)));
  } else {
    own.push_back(flor::checkpoints(all.foreign));
  }
  if (what == "more") own.push_back(flor::checkpoints(flor::named("extra", narrow)));
  if (what == "twice") own.push_back(flor::checkpoints(flor::named("meter", narrow)));

  for (const int epoch : flor::loop("epoch", 5)) {
    for (const int step : flor::loop("train", 3)) {
      all.step();
      show("step", epoch, step, all.print());
    }
    flor::log("printed", all.print());
    show("tail", epoch, all.print());
  }
}
