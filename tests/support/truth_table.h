// Tests a decision that depends on several facts against a table: a row for each kind of case, of
// which the first matching one decides.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace flor::testing {

/// `facts`: one character for each fact; '-' matches any.
template <typename Outcome>
struct TableRow {
  std::string_view facts;
  Outcome outcome;
};

template <typename Outcome>
Outcome first_that_fits(const std::vector<TableRow<Outcome>>& table, std::string_view facts) {
  for (const TableRow<Outcome>& row : table) {
    bool fits = row.facts.size() == facts.size();
    for (std::size_t i = 0; fits && i < facts.size(); ++i) {
      fits = row.facts[i] == '-' || row.facts[i] == facts[i];
    }
    if (fits) return row.outcome;
  }
  throw std::logic_error("no row fits " + std::string(facts));
}

/// All numbers of `count` bits as texts such as "0110", the lowest bit first.
inline std::vector<std::string> all_facts(unsigned count) {
  std::vector<std::string> all;
  for (unsigned bits = 0; bits < 1U << count; ++bits) {
    std::string& facts = all.emplace_back();
    for (unsigned i = 0; i < count; ++i) facts += (bits >> i & 1) != 0 ? '1' : '0';
  }
  return all;
}

}  // namespace flor::testing
