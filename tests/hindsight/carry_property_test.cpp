// Random programs, random older versions of them, random log statements: what is carried is where a
// person would put it, or it is refused; and nothing else changes. The versions are made of
// statements with identities, so that the right place is known without looking at texts.
#include "carry/carrier.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace flor::carry {
namespace {

using Random = std::mt19937;

int below(Random& random, int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); }
bool chance(Random& random, int percent) { return below(random, 100) < percent; }

struct Node {
  int id = 0;
  enum class Kind { plain, repeated, log, branch, loop, named_loop } kind = Kind::plain;
  std::string text;  ///< of a plain statement, or what opens the block; names as $0 $1 ...
  std::vector<Node> inside;
  bool has_block() const { return kind >= Kind::branch; }
};

struct Program {
  std::vector<Node> body;          ///< of main
  std::vector<std::string> names;  ///< $0, $1, ...
  std::vector<Node> moved;         ///< body of a function of its own; empty: none
  int moved_loop = 0;              ///< id of the loop that moved
};

constexpr int kNames = 6;
int g_next = 1;

Node statement(Random& random, int depth) {
  Node node;
  node.id = g_next++;
  const auto name = [&] { return fmt::format("${}", below(random, kNames)); };
  const int what = below(random, depth > 0 ? 12 : 8);
  if (what == 7) {
    node.kind = Node::Kind::repeated;
    node.text = "$0 += 1;";
  } else if (what == 6) {
    node.kind = Node::Kind::log;
    node.text = fmt::format("flor::log(\"m{}\", {});", node.id, name());
  } else if (what < 3) {
    node.text = fmt::format("{} = work{}({}, {});", name(), node.id, name(), name());
  } else if (what < 6) {
    node.text = fmt::format("{} += {} * {}.{};", name(), name(), node.id, below(random, 90) + 10);
  } else {
    node.kind = what == 8   ? Node::Kind::branch
                : what == 9 ? Node::Kind::loop
                            : Node::Kind::named_loop;
    if (what == 8) node.text = fmt::format("if ({} > {}.5)", name(), node.id);
    if (what == 9) node.text = fmt::format("for (int i{0} = 0; i{0} < {0}; ++i{0})", node.id);
    if (what > 9) node.text = fmt::format("for (int i{0} : flor::loop(\"loop{0}\", 3))", node.id);
    const int count = below(random, 5);
    for (int i = 0; i < count; ++i) node.inside.push_back(statement(random, depth - 1));
  }
  return node;
}

Program program(Random& random) {
  g_next = 1;
  Program made;
  for (int i = 0; i < kNames; ++i) made.names.push_back(fmt::format("value{}", i));
  const int count = 3 + below(random, 6);
  for (int i = 0; i < count; ++i) made.body.push_back(statement(random, 3));
  return made;
}

std::string with_names(const std::string& text, const std::vector<std::string>& names) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '$') {
      out += names[static_cast<std::size_t>(text[++i] - '0')];
    } else {
      out += text[i];
    }
  }
  return out;
}

/// What a text looks like; tokens stay.
struct Layout {
  std::string indentation = "  ";
  bool brace_below = false, comments = false, tight = false;
};

void write(const std::vector<Node>& nodes, const std::vector<std::string>& names,
           const Layout& layout, int depth, std::string& out) {
  std::string margin;
  for (int i = 0; i < depth; ++i) margin += layout.indentation;
  for (const Node& node : nodes) {
    std::string text = with_names(node.text, names);
    if (layout.tight) {
      for (std::size_t at = 0; (at = text.find(", ", at)) != text.npos;) text.erase(at + 1, 1);
    }
    if (layout.comments && node.id % 3 == 0) out += margin + fmt::format("// step {}\n", node.id);
    out += margin + text;
    if (!node.has_block()) {
      out += layout.comments && node.id % 5 == 0 ? "  // so\n" : "\n";
      continue;
    }
    out += layout.brace_below ? "\n" + margin + "{\n" : " {\n";
    write(node.inside, names, layout, depth + 1, out);
    out += margin + "}\n";
  }
}

std::string written(const Program& program, const Layout& layout = {}) {
  std::string out = "#include <flor/flor.h>\n\n";
  if (program.moved_loop > 0) {
    out += "void moved(double& value) {\n";
    write(program.moved, program.names, layout, 1, out);
    out += "}\n\n";
  }
  out += "int main() {\n";
  for (int i = 0; i < kNames; ++i) {
    out += with_names(fmt::format("{}double ${} = start{}(7);\n", layout.indentation, i, i),
                      program.names);
  }
  write(program.body, program.names, layout, 1, out);
  return out + "}\n";
}

void collect_blocks(std::vector<Node>& body, int owner, std::map<int, std::vector<Node>*>& blocks) {
  blocks[owner] = &body;
  for (Node& node : body) {
    if (node.has_block()) collect_blocks(node.inside, node.id, blocks);
  }
}

std::map<int, std::vector<Node>*> blocks_of(Program& program) {
  std::map<int, std::vector<Node>*> blocks;
  collect_blocks(program.body, 0, blocks);
  for (Node& node : program.moved) {
    if (node.has_block()) collect_blocks(node.inside, node.id, blocks);
  }
  return blocks;
}

template <typename T>
auto any_of_map(Random& random, T& map) {
  auto at = map.begin();
  std::advance(at, below(random, static_cast<int>(map.size())));
  return at;
}

struct Changes {
  int edits = 0;
  bool rename = false, move = false;
};

/// An older version: other statements, other names, another layout.
Program older_version(Random& random, Program version, const Changes& changes) {
  for (int i = 0; i < changes.edits; ++i) {
    auto blocks = blocks_of(version);
    std::vector<Node>& block = *any_of_map(random, blocks)->second;
    const int at = below(random, static_cast<int>(block.size()) + 1);
    const auto place = block.begin() + at;
    switch (below(random, 3)) {
      case 0:
        block.insert(place, statement(random, 0));
        break;
      case 1:
        if (place != block.end()) block.erase(place);
        break;
      default:
        if (place != block.end() && !place->has_block()) *place = statement(random, 0);
    }
  }
  if (changes.rename) {
    for (int i = 0; i < kNames; ++i) {
      if (chance(random, 50))
        version.names[static_cast<std::size_t>(i)] = fmt::format("older{}", i);
    }
  }
  if (changes.move) {
    const auto loop = std::ranges::find(version.body, Node::Kind::named_loop, &Node::kind);
    if (loop != version.body.end()) {
      version.moved_loop = loop->id;
      version.moved = {*loop};
      *loop = {.id = g_next++, .kind = Node::Kind::plain, .text = "moved($0);", .inside = {}};
    }
  }
  return version;
}

/// A log statement at a place of the newest version.
struct Question {
  int block = 0;
  std::size_t index = 0;
  int name = 0;
};

Question question(Random& random, Program& program) {
  auto blocks = blocks_of(program);
  const auto block = any_of_map(random, blocks);
  return {block->first,
          static_cast<std::size_t>(below(random, static_cast<int>(block->second->size()) + 1)),
          below(random, kNames)};
}

const std::string kAsked = "flor::log(\"asked\", ${} / 2);";

void ask(Program& program, const Question& question, std::size_t index) {
  auto blocks = blocks_of(program);
  std::vector<Node>& block = *blocks.at(question.block);
  Node node;
  node.id = 1'000'001;
  node.text = fmt::format(fmt::runtime(kAsked), question.name);
  block.insert(block.begin() + static_cast<std::ptrdiff_t>(index), node);
}

/// Places in the older version that a person could defend: right beside the nearest statement that
/// is left of those before, or of those behind, and everything between.
std::vector<std::size_t> defensible(Program& newest, Program& older, const Question& question) {
  auto blocks = blocks_of(newest), there = blocks_of(older);
  if (!there.contains(question.block)) return {};
  const std::vector<Node>& block = *blocks.at(question.block);
  const std::vector<Node>& other = *there.at(question.block);
  const auto find = [&](int id) {
    return static_cast<std::size_t>(std::ranges::find(other, id, &Node::id) - other.begin());
  };
  std::size_t first = 0, last = other.size();
  for (std::size_t i = question.index; i-- > 0;) {
    const std::size_t at = find(block[i].id);
    if (at == other.size()) continue;
    first = at + 1;
    break;
  }
  for (std::size_t i = question.index; i < block.size(); ++i) {
    const std::size_t at = find(block[i].id);
    if (at == other.size()) continue;
    last = at;
    break;
  }
  std::vector<std::size_t> places;
  for (std::size_t p = first; p <= last; ++p) places.push_back(p);
  // Two statements with the same text cannot be told apart: either may be the old one or a new one.
  const auto beside_twins = [&](std::size_t neighbour, std::size_t offset) {
    if (neighbour >= block.size()) return;
    const std::string& text = block[neighbour].text;
    const bool is_gone = find(block[neighbour].id) == other.size();
    if (!is_gone && std::ranges::count(block, text, &Node::text) < 2 &&
        std::ranges::count(other, text, &Node::text) < 2) {
      return;
    }
    for (std::size_t p = 0; p < other.size(); ++p) {
      if (other[p].text == text) places.push_back(p + offset);
    }
  };
  beside_twins(question.index - 1, 1);
  beside_twins(question.index, 0);
  return places;
}

/// The patched text without what was inserted.
std::string taken_back(const Carried& carried) {
  std::string text = carried.files.at(0).text;
  for (auto range = carried.inserted.rbegin(); range != carried.inserted.rend(); ++range) {
    text.erase(range->begin, range->end - range->begin);
  }
  return text;
}

bool same_program(const std::string& a, const std::string& b) {
  const Source first("a", a), second("b", b);
  return same_tokens(first, {0, first.tokens.all.size()}, second, {0, second.tokens.all.size()});
}

Layout layout(Random& random) {
  return {.indentation = chance(random, 50) ? "  " : "\t",
          .brace_below = chance(random, 50),
          .comments = chance(random, 50),
          .tight = chance(random, 50)};
}

struct Trial {
  Program newest, older;
  Question asked;
  std::string older_text;
  Carried carried;
};

Trial trial(unsigned seed, const Changes& changes) {
  Random random(seed);
  Trial made;
  made.newest = program(random);
  made.asked = question(random, made.newest);
  made.older = older_version(random, made.newest, changes);
  Program work = made.newest;
  ask(work, made.asked, made.asked.index);
  made.older_text = written(made.older, layout(random));
  const Carrier carrier({{"t.cpp", written(made.newest)}}, {{"t.cpp", written(work)}});
  if (carrier.hunks().size() == 1) made.carried = carrier.carry({{"t.cpp", made.older_text}});
  return made;
}

/// What is wrong with a trial; empty if nothing is.
std::string problem(Trial& made) {
  const Carried& carried = made.carried;
  if (carried.placed.size() + carried.refused.size() != 1) return "not one hunk";
  if (carried.placed.empty()) {
    if (!carried.files.empty()) return "refused, and yet changed";
    return carried.refused[0].reason.empty() ? "no reason" : "";
  }
  if (carried.files.size() != 1) return "nothing changed";
  if (taken_back(carried) != made.older_text) return "other code changed";
  for (const std::size_t place : defensible(made.newest, made.older, made.asked)) {
    Program by_hand = made.older;
    ask(by_hand, made.asked, place);
    if (same_program(carried.files[0].text, written(by_hand))) return {};
  }
  return fmt::format(
      "no person would put it there\nnewest:\n{}asked in block {} before {}\nolder:\n{}"
      "carried:\n{}",
      written(made.newest), made.asked.block, made.asked.index, made.older_text,
      carried.files[0].text);
}

RC_GTEST_PROP(CarryProperty, InAnyOlderVersionItIsRightOrRefused, ()) {
  const auto seed = *rc::gen::arbitrary<unsigned>();
  const Changes changes{.edits = *rc::gen::inRange(0, 8),
                        .rename = *rc::gen::arbitrary<bool>(),
                        .move = *rc::gen::arbitrary<bool>()};
  Trial made = trial(seed, changes);
  const std::string wrong = problem(made);
  RC_LOG() << wrong;
  RC_ASSERT(wrong.empty());
}

TEST(CarryProperty, AnEmptyIfIsNoEmptyLoop) {
  Trial made = trial(41557289, {.edits = 6});
  EXPECT_EQ(problem(made), "");
}

TEST(CarryProperty, AValueIsNotAnotherValue) {
  Trial made = trial(47471614, {.edits = 3, .rename = true});
  EXPECT_EQ(problem(made), "");
}

TEST(CarryProperty, OfStatementsThatReadTheSameEitherMayBeMeant) {
  Trial left = trial(271617891, {.edits = 2});
  EXPECT_EQ(problem(left), "");
  Trial written_anew = trial(29630610, {.edits = 5});
  EXPECT_EQ(problem(written_anew), "");
  Trial beside_another = trial(736573629, {.edits = 2});
  EXPECT_EQ(problem(beside_another), "");
}

int carried_of(unsigned trials, const std::function<Changes(unsigned)>& changes) {
  int carried = 0;
  for (unsigned seed = 1; seed <= trials; ++seed) {
    Trial made = trial(seed, changes(seed));
    EXPECT_EQ(problem(made), "") << "seed " << seed;
    carried += static_cast<int>(made.carried.placed.size());
  }
  return carried;
}

// Where only the layout and names differ there is nothing to refuse, unless equal statements follow
// each other.
TEST(CarryPropertyOfAll, WithOtherNamesAndAnotherLayoutNearlyAllIsCarried) {
  const int carried = carried_of(150, [](unsigned) { return Changes{.edits = 0, .rename = true}; });
  EXPECT_GE(carried, 135);
}

TEST(CarryPropertyOfAll, WithSomeEditsMostIsCarried) {
  const int carried = carried_of(150, [](unsigned seed) {
    return Changes{.edits = 3, .rename = seed % 2 == 0, .move = seed % 3 == 0};
  });
  EXPECT_GE(carried, 90);
}

}  // namespace
}  // namespace flor::carry
