// The promise: whatever token changes inside of a nested loop, or of something that it calls, the
// loop is executed again. Checked on the training program of the other tests and on the programs of
// this repository.
#include "corpus.h"
#include "sources/analysis.h"
#include "support/git_repository.h"
#include "support/some_points.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace flor::sources {
namespace {

using Files = std::map<std::string, std::string>;

/// A part of a file, found by how it begins, to the bracket that closes its first brace, or to its
/// last word.
struct Part {
  std::string file, begin, end;
};

/// The part's tokens as offsets into the file.
std::vector<std::pair<std::size_t, std::size_t>> token_offsets(const std::string& text,
                                                               const Part& part) {
  const std::size_t begin = text.find(part.begin);
  if (begin == std::string::npos) throw std::logic_error("no " + part.begin);
  std::size_t end = text.find(part.end, begin + part.begin.size());
  if (end == std::string::npos) throw std::logic_error("no end: " + part.end);
  end += part.end.size();
  std::vector<std::pair<std::size_t, std::size_t>> offsets;
  const Tokens tokens = lex(text);
  for (const Token& token : tokens.all) {
    if (token.text.data() < text.data() || token.text.data() >= text.data() + text.size()) continue;
    const auto at = static_cast<std::size_t>(token.text.data() - text.data());
    // Programs without matching brackets are none.
    const bool bracket = token.is("(") || token.is(")") || token.is("{") || token.is("}") ||
                         token.is("[") || token.is("]");
    // What makes it a loop of that name is not for changing.
    const std::size_t first = begin + (part.begin.starts_with("for") ? part.begin.size() : 0);
    if (at >= first && at + token.text.size() <= end && !bracket) {
      offsets.emplace_back(at, token.text.size());
    }
  }
  return offsets;
}

/// Replaces, removes or adds a token.
std::string edited(const std::string& text, std::pair<std::size_t, std::size_t> token, int kind,
                   const std::string& other) {
  std::string result = text;
  const auto [at, size] = token;
  switch (kind) {
    case 0:
      return result.replace(at, size, " " + other + " ");
    case 1:
      return result.replace(at, size, " ");
    case 2:
      return result.insert(at, " " + other + " ");
    default:
      return result.insert(at + size, " " + other + " ");
  }
}

Analysis analyse(const Files& before, const Files& now, const std::set<std::string>& nested,
                 const std::string& program) {
  AnalysisInput input;
  input.program = program;
  input.nested = nested;
  for (const auto& [path, text] : now) {
    if (before.at(path) == text) {
      input.rest.push_back({path, text});
    } else {
      input.changed.push_back({path, before.at(path), text});
    }
  }
  return Analysis(std::move(input));
}

/// As the replay asks when it comes to the loop.
bool is_touched(const Analysis& analysis, const Files& now, const Part& loop,
                const std::string& name) {
  const std::string& text = now.at(loop.file);
  const std::size_t at = text.find("flor::loop", text.find(loop.begin));
  const auto line = std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
  const std::size_t start = text.rfind('\n', at) + 1;
  const ReportedPlace place{loop.file, static_cast<std::uint32_t>(line + 1),
                        static_cast<std::uint32_t>(at - start + 1)};
  return analysis.touched(place, name).has_value();
}

void check_edits(const Files& files, const std::map<std::string, std::vector<Part>>& loops,
                 const std::string& program, int times) {
  std::set<std::string> nested;
  for (const auto& [name, parts] : loops) nested.insert(name);
  const std::vector<std::string> others = {"zzz", "17", "*", "+", "loss", "\"text\"", "&&", ","};
  EXPECT_TRUE(rc::check([&] {
    const auto loop =
        std::next(loops.begin(), *rc::gen::inRange<int>(0, static_cast<int>(loops.size())));
    for (int i = 0; i < times; ++i) {
      const Part& part = loop->second[*rc::gen::inRange<std::size_t>(0, loop->second.size())];
      const std::string& text = files.at(part.file);
      const auto offsets = token_offsets(text, part);
      const auto token = offsets[*rc::gen::inRange<std::size_t>(0, offsets.size())];
      const std::string other = others[*rc::gen::inRange<std::size_t>(0, others.size())];
      const std::string was = text.substr(token.first, token.second);
      if (was == other) continue;
      Files now = files;
      // What comes behind the last token may be outside the loop.
      const int kinds = token == offsets.back() ? 3 : 4;
      now[part.file] = edited(text, token, *rc::gen::inRange(0, kinds), other);
      RC_LOG() << part.file << ", " << part.begin << ": " << was << " and " << other << "\n";
      const Analysis analysis = analyse(files, now, nested, program);
      RC_ASSERT(is_touched(analysis, now, loop->second.front(), loop->first));
    }
  }));
}

TEST(NeverSilent, AnyTokenOfALoopAndOfWhatItCalls) {
  const Part forward{"model.h", "double forward(double x)", "y * scale_;"};
  const Part error{"metrics.cpp", "double error_of(", "absolute(y - target);"};
  const Part absolute{"metrics.cpp", "return x < 0", ";"};
  const Part square{"metrics.h", "return x * x", ";"};
  check_edits(
      testing::training_program(),
      {{"warm",
        {{"train.cpp", "for (const auto& batch : flor::loop(\"warm\"", "(batch.data);"}, forward}},
       {"train",
        {{"train.cpp", "for (const auto& batch : flor::loop(\"train\"", "report(loss, epoch);"},
         {"train.cpp", "const double loss = net.forward", "return loss;"},
         {"train.cpp", "double norm = 0;", "return norm;"},
         {"train.cpp", "decay * value", ";"},
         {"train.cpp", "if (!good)", ";"},
         {"train.cpp", "if (step % kReport", ";"},
         {"train.cpp", "check((x)", "__LINE__)"},
         {"train.cpp", "optimizer.step();  ", "optimizer.zero_grad()"},
         {"model.h", "weights_[0] += 1e-3", ";"},
         {"model.h", "{ gradient = 0", ";"},
         {"model.cpp", "for (double& p : parameters)", ";"},
         forward}},
       {"tune",
        {{"train.cpp", "for (int i : flor::loop(\"tune\"", ";"},
         {"model.h", "rate *= 1 - 0.01", ";"}}},
       {"swap",
        {{"train.cpp", "for (int j : flor::loop(\"swap\"", ";"},
         {"model.h", "std::swap(weights_[0]", ";"}}},
       {"test",
        {{"train.cpp", "for (const auto& batch : flor::loop(\"test\"", ";"},
         forward,
         error,
         absolute,
         square}},
       {"validate",
        {{"train.cpp", "for (const auto& batch : flor::loop(\"validate\"", ";"},
         forward,
         error,
         absolute,
         square}}},
      "train.cpp", 5);
}

Files read_programs() {
  Files files;
  for (const char* folder : {"examples", "tests/programs"}) {
    for (const auto& entry :
         std::filesystem::directory_iterator(std::filesystem::path(FLOR_SOURCE_DIR) / folder)) {
      if (!is_source(entry.path().string())) continue;
      files[std::string(folder) + "/" + entry.path().filename().string()] =
          testing::read_file(entry.path());
    }
  }
  return files;
}

TEST(NeverSilent, AnyTokenOfTheLoopsOfTheExamples) {
  const Files files = read_programs();
  std::vector<std::string> examples;
  for (const auto& [path, text] : files) {
    const bool trains = text.find("flor::loop(\"train\"") != text.npos;
    if (trains && path.starts_with("examples/")) examples.push_back(path);
  }
  for (const std::string& path : testing::some_of(examples, 1)) {
    const std::string& text = files.at(path);
    const std::size_t loop = text.find("flor::loop(\"train\"");
    const std::size_t begin = text.rfind("for (", loop);
    const std::string head = text.substr(begin, loop - begin + 18);
    SCOPED_TRACE(path);
    check_edits(files, {{"train", {{path, head, "    }\n"}}}}, path, 1);
  }
}

TEST(NeverSilent, ProgramsThatAreTheSameConcernNothing) {
  const Files files = read_programs();
  EXPECT_TRUE(analyse(files, files, {"train"}, "examples/linear.cpp").nothing_changed());
}

}  // namespace
}  // namespace flor::sources
