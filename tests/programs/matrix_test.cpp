// Whatever a training is made of, it is exact: a run without Flor, the recorded one, its replays
// and one that was preempted and resumed print the same numbers and end in the same weights. Cells
// of the matrix are trainings; in CI those in which every two values of two properties meet, with
// the label `slow` all of them.
#include "whole_record.h"
#include "workbench.h"

#include <array>
#include <csignal>

namespace flor::testing::matrix_test {
namespace {

struct Property {
  std::string name;
  Words values;
};

const std::vector<Property>& properties() {
  static const std::vector<Property> all{
      {"optimizer", {"plain", "sgd", "adam", "adamw", "rmsprop", "adagrad", "lbfgs"}},
      {"scheduler", {"step", "cosine", "none"}},
      {"shuffle", {"1", "0"}},
      {"dropout", {"1", "0"}},
      {"norm", {"1", "0"}},
      {"early", {"1", "0"}},
      {"accumulate", {"1", "2"}},
      {"loops", {"1", "2"}},
      {"deep", {"1", "0"}},
  };
  return all;
}

using Cell = std::vector<std::size_t>;  ///< index of the value of each property

std::vector<Cell> all_cells() {
  std::vector<Cell> cells{{}};
  for (const Property& property : properties()) {
    std::vector<Cell> longer;
    for (const Cell& cell : cells) {
      for (std::size_t value = 0; value < property.values.size(); ++value) {
        longer.push_back(cell);
        longer.back().push_back(value);
      }
    }
    cells = std::move(longer);
  }
  return cells;
}

using Pair = std::array<std::size_t, 4>;  ///< two properties and their values

std::vector<Pair> pairs_of(const Cell& cell) {
  std::vector<Pair> pairs;
  for (std::size_t a = 0; a < cell.size(); ++a) {
    for (std::size_t b = a + 1; b < cell.size(); ++b) pairs.push_back({a, cell[a], b, cell[b]});
  }
  return pairs;
}

/// Cells that hold every pair of values: each time the one with the most pairs that are missing.
std::vector<Cell> covering_cells() {
  const std::vector<Cell> all = all_cells();
  std::set<Pair> missing;
  for (const Cell& cell : all) {
    for (const Pair& pair : pairs_of(cell)) missing.insert(pair);
  }
  std::vector<Cell> chosen;
  while (!missing.empty()) {
    const auto gain = [&](const Cell& cell) {
      return std::ranges::count_if(pairs_of(cell),
                                   [&](const Pair& pair) { return missing.contains(pair); });
    };
    chosen.push_back(*std::ranges::max_element(all, {}, gain));
    for (const Pair& pair : pairs_of(chosen.back())) missing.erase(pair);
  }
  return chosen;
}

Words arguments_of(const Cell& cell) {
  Words words{"--kwargs", "epochs=4"};
  for (std::size_t i = 0; i < cell.size(); ++i) {
    words.push_back(properties()[i].name + "=" + properties()[i].values[cell[i]]);
  }
  return words;
}

std::string name_of(const Cell& cell) {
  std::string name;
  for (std::size_t i = 0; i < cell.size(); ++i) {
    const std::string& value = properties()[i].values[cell[i]];
    name += i < 2                                               ? value + "_"
            : value == "0" || (value == "1" && i >= 6 && i < 8) ? ""
                                                                : properties()[i].name + "_";
  }
  name.pop_back();
  return name;
}

/// Gradients live over the edge of an epoch. Flor finds that out in the second epoch, and drops
/// what it stored before, so the first epoch is executed again.
bool carries_gradients(const Cell& cell) { return cell[6] == 1; }

void expect_exact(const Cell& cell) {
  SCOPED_TRACE(name_of(cell));
  const Words arguments = arguments_of(cell);
  const Workbench bench;
  const auto plain = lines_of(bench.run("learner", arguments).out);
  EXPECT_GE(plain.size(), 6u);
  EXPECT_EQ(lines_of(bench.record("learner", arguments).out), plain) << "recording";
  const auto record = [&] { return whole_record(*bench.store(), bench.last_run().id); };
  const WholeRecord whole = record();

  const auto skipped = bench.replay("learner");
  EXPECT_EQ(skipped.status, 0) << skipped.err;
  Words tails = plain;
  std::erase_if(tails, [](const std::string& line) { return !line.starts_with("tail"); });
  Words again = lines_of(skipped.out);
  if (carries_gradients(cell))
    std::erase_if(again, [&](const std::string& line) {
      return line.starts_with("step 0 ") && std::ranges::count(plain, line) == 1;
    });
  EXPECT_EQ(again, tails) << "replay, training skipped";
  const auto executed = bench.replay("learner", {"--flor_probe", "train"});
  EXPECT_EQ(executed.status, 0) << executed.err;
  EXPECT_EQ(lines_of(executed.out), plain) << "replay, training executed";

  ProcessOptions options = bench.options();
  options.environment["RAISE"] = std::to_string(SIGTERM) + ":8";
  const Words recording = Words{"--flor", "test", "--flor_every", "1"} + arguments;
  const auto preempted = bench.run("learner", recording, options);
  EXPECT_EQ(preempted.status, 75) << preempted.err;
  const auto resumed = bench.run("learner", {"--flor", "test", "--flor_resume"});
  EXPECT_EQ(resumed.status, 0) << resumed.err;
  const Words rest = lines_of(resumed.out);
  ASSERT_LE(rest.size(), plain.size());
  EXPECT_EQ(rest, Words(plain.end() - static_cast<std::ptrdiff_t>(rest.size()), plain.end()));
  if (!carries_gradients(cell)) {
    EXPECT_EQ(lines_of(preempted.out + resumed.out), plain) << "nothing is computed twice";
  }
  EXPECT_EQ(record(), whole) << "resumed";
}

class Matrix : public ::testing::TestWithParam<Cell> {};

TEST_P(Matrix, IsExactInThisCell) { expect_exact(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Pairs, Matrix, ::testing::ValuesIn(covering_cells()),
                         [](const auto& parameter) { return name_of(parameter.param); });

TEST(MatrixCells, HoldEveryPairOfValues) {
  std::set<Pair> wanted, held;
  for (const Cell& cell : all_cells()) {
    for (const Pair& pair : pairs_of(cell)) wanted.insert(pair);
  }
  const auto cells = covering_cells();
  for (const Cell& cell : cells) {
    for (const Pair& pair : pairs_of(cell)) held.insert(pair);
  }
  EXPECT_EQ(held, wanted);
  std::printf("%zu cells hold all %zu pairs of values; there are %zu cells\n", cells.size(),
              wanted.size(), all_cells().size());
}

constexpr int kShares = 16;
class MatrixSlow : public ::testing::TestWithParam<int> {};

TEST_P(MatrixSlow, IsExactInEveryCellOfTheShare) {
  const auto cells = all_cells();
  for (auto i = static_cast<std::size_t>(GetParam()); i < cells.size(); i += kShares) {
    expect_exact(cells[i]);
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(All, MatrixSlow, ::testing::Range(0, kShares));

}  // namespace
}  // namespace flor::testing::matrix_test
