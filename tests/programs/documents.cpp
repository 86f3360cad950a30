// Documents that are parsed, and labels that people gave to their pages: --kwargs what=NAME. The
// files are those that DOCUMENTS names, so that a replay may find others.
#include <flor/flor.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <list>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

std::vector<std::filesystem::path> documents() {
  const char* const named = std::getenv("DOCUMENTS");
  std::istringstream words(named ? named : "b.pdf a.pdf c.pdf");
  std::vector<std::filesystem::path> files;
  for (std::string word; words >> word;) files.emplace_back(word);
  return files;
}

/// Whatever a program would find out about a page.
double feature(const std::filesystem::path& file, int page) {
  return static_cast<double>(file.native()[0]) + page * 0.5;
}

/// Features of pages; a process that is told to dies at that document, in its second page.
void parse() {
  const char* const told = std::getenv("DIES_AT");
  const int dies_at = told ? std::atoi(told) : -1;
  double total = 0;
  const auto state = flor::checkpoints(total);
  int number = 0;
  for (const auto& file : flor::loop("document", documents())) {
    for (const int page : flor::loop("page", 2)) {
      flor::log("feature", total += feature(file, page));
      if (number == dies_at && page == 1) std::raise(SIGKILL);
      for (const std::string_view word : flor::loop("word", {"one", "two"})) {
        flor::log("length", word.size() + static_cast<std::size_t>(page));
      }
    }
    ++number;
    flor::log("total", total);
  }
}

/// What a handler of a web server does with an answer, in any order, and again.
void label() {
  const auto files = documents();
  const auto answer = [&](std::int64_t document, const std::string& text) {
    const auto scope = flor::iteration("document", document, files.at(document));
    for (const int page : flor::loop("page", 2)) {
      flor::log("label", text + std::to_string(page));
    }
    flor::log("by", "me");
  };
  answer(1, "letter");
  std::thread([&] { answer(0, "bill"); }).join();
  answer(1, "bill");
  flor::log("answers", 3);
}

enum class Kind { odd = 7, even = 8 };

/// Elements of every kind, and those that have no value.
void every_kind() {
  for (const int year : flor::loop("year", {2024, 2025})) flor::log("year_seen", year);
  for (const double rate : flor::loop("rate", std::list<double>{0.5, 0.25})) {
    flor::log("rate_seen", rate);
  }
  for (const Kind kind : flor::loop("kind", {Kind::odd, Kind::even})) {
    flor::log("kind_seen", static_cast<int>(kind));
  }
  for (const int plain : flor::loop("plain", {0, 1})) flor::log("plain_seen", plain);
  for (const int sparse : flor::loop("sparse", {0, 5})) flor::log("sparse_seen", sparse);
  for (const char letter : flor::loop("letter", std::string("ab"))) {
    flor::log("letter_seen", static_cast<int>(letter));
  }
  const std::vector<std::vector<int>> batches{{1}, {2}};
  for (const auto& batch : flor::loop("batch", batches)) flor::log("batch_seen", batch[0]);
  int computed = 0;
  const auto next = [&computed] { return computed += 10; };
  struct Computing {
    decltype(next)* make;
    int left;
    int operator*() const { return (*make)(); }
    Computing& operator++() {
      --left;
      return *this;
    }
    bool operator!=(const Computing& other) const { return left != other.left; }
  };
  struct Range {
    decltype(next)* make;
    Computing begin() const { return {make, 2}; }
    Computing end() const { return {make, 0}; }
  };
  for (const int value : flor::loop("computed", Range{&next})) flor::log("computed_seen", value);
  for (const int from_one : flor::loop("from_one", flor::range(1, 3))) {
    for (const int down : flor::loop("down", flor::range(2, 0, -1))) {
      const auto hand = flor::iteration("hand", from_one, "left");
      flor::log("down_seen", down);
    }
  }
}

/// Texts as hostile files may have for their names.
void texts() {
  const std::string key = "ghp_" + std::string(36, 'q');
  const std::vector<std::string> names{"h\xc3\xa9", "bad\xff byte", key, "two\nlines",
                                       std::string(1020, 'x') + "\xe2\x82\xac\xe2\x82\xac",
                                       std::string(1024, 'y'), ""};
  for (const auto& name : flor::loop("text", names)) flor::log("bytes", name.size());
  for (const auto& secret : flor::loop("password", {std::string("tr0ub4dor&3")})) {
    flor::log("length", secret.size());
  }
}

}  // namespace

int main(int argc, char** argv) {
  auto session = flor::init(argc, argv);
  const std::string what = flor::arg("what", std::string("parse"));
  if (what == "parse") parse();
  if (what == "label") label();
  if (what == "kinds") every_kind();
  if (what == "texts") texts();
  if (what == "wrong") {
    try {
      const auto scope = flor::iteration("document", -1);
    } catch (const flor::UsageError& error) {
      std::cout << error.what() << '\n';
    }
  }
}
