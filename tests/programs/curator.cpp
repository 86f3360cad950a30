// A store of features and labels: one program logs what it found out about documents, another what
// people said of them, and a third trains on both, which it asks for: --kwargs what=NAME. LABELS
// are words as a.pdf=1. And a registry: `fit` trains, `serve` answers with the best that was
// fitted. And questions that are answered with an error, or could be.
#include <flor/flor.h>

#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <limits>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace {

void log_features() {
  const std::vector<std::string> files{"a.pdf", "b.pdf", "c.pdf", "d.pdf"};
  for (const auto& file : flor::loop("document", files)) {
    for (const int page : flor::loop("page", 2)) flor::log("ink", (file[0] - 'a') * 0.25 + page);
    flor::log("pages", 2);
    flor::log("language", file < "c" ? "en" : "de");
    flor::log("scanned", file == "d.pdf");
  }
}

void log_labels() {
  const char* const told = std::getenv("LABELS");
  std::map<std::string, int> said;
  std::istringstream words(told ? told : "a.pdf=0 d.pdf=1");
  for (std::string word; words >> word;) {
    said[word.substr(0, word.find('='))] = std::stoi(word.substr(word.find('=') + 1));
  }
  std::int64_t number = 0;
  for (const auto& [file, label] : said) {
    const auto scope = flor::iteration("document", number++, file);
    flor::log("label", label);
  }
}

struct Sample {
  double ink = 0;
  std::int64_t label = 0;
};

/// The features of the documents that have a label.
std::vector<Sample> dataset() {
  std::map<std::string, std::int64_t> labels;
  for (const auto row : flor::query({"label"}, {.experiment = "labels", .latest = true})) {
    labels[row.text("document_value")] = row.integer("label");
  }
  std::vector<Sample> samples;
  for (const auto row :
       flor::query({"ink", "pages", "language", "scanned"}, {.run = {"features"}})) {
    const auto label = labels.find(row.text("document_value"));
    if (label == labels.end() || row.integer("page") != 0) continue;
    samples.push_back({row.number("ink") / row.number("pages"), label->second});
    std::cout << "sample " << row.text("document_value") << ' ' << row.number("ink") << ' '
              << row.text("language") << ' ' << row.boolean("scanned") << ' ' << label->second
              << '\n';
  }
  return samples;
}

/// Corrections of earlier labels, which need not exist.
std::size_t corrections() {
  try {
    return flor::query({"label"}, {.experiment = "corrections"}).size();
  } catch (const flor::NotFound& error) {
    std::cout << "none: " << error.what() << '\n';
    return 0;
  }
}

/// In the epoch FIFO_AT, -1 and -2 are questions before the first, rank 1 asks after rank 0 has,
/// and after something was logged in between.
template <typename Ask>
auto ask_in_turn(int epoch, Ask ask) {
  const char *const fifo = std::getenv("FIFO"), *const rank = std::getenv("RANK");
  const char* const at = std::getenv("FIFO_AT");
  const bool waits = fifo && epoch == (at ? std::atoi(at) : -1);
  if (waits && rank == std::string("1")) {
    std::ifstream(fifo).get();
    if (std::system(std::getenv("MEANWHILE")) != 0) std::abort();
  }
  auto answer = ask();
  if (waits && rank == std::string("0")) std::ofstream(fifo) << 'x';
  return answer;
}

void train() {
  const char* const told = std::getenv("DIES_AT");
  const int dies_at = told ? std::atoi(told) : -1;
  const auto samples = ask_in_turn(-1, dataset);
  const std::size_t corrected = ask_in_turn(-2, corrections);
  std::cout << "corrections " << corrected << '\n';
  double weight = 0, bias = 0;
  const auto state = flor::checkpoints(weight, bias);
  for (const int epoch : flor::loop("epoch", flor::arg("epochs", 4))) {
    if (epoch == dies_at) std::raise(SIGKILL);
    if (flor::arg("fresh", false) ||
        std::getenv("ASKS_MORE")) {  // labels that come while it trains
      const auto rows =
          ask_in_turn(epoch, [] { return flor::query({"label"}, {.experiment = "labels"}); });
      std::cout << "fresh " << epoch << ' ' << rows.size() << '\n';
    }
    double loss = 0;
    for (const int step : flor::loop("step", static_cast<int>(samples.size()), flor::with(loss))) {
      const Sample& sample = samples[static_cast<std::size_t>(step)];
      const double p = 1 / (1 + std::exp(-(weight * sample.ink + bias)));
      const double gradient = p - static_cast<double>(sample.label);
      weight -= 0.5 * gradient * sample.ink;
      bias -= 0.5 * gradient;
      flor::log("gradient", gradient);
      loss += gradient * gradient;
    }
    flor::log("loss", loss);
#ifdef HINDSIGHT
    flor::log("weight", weight);
#endif
  }
  std::cout << "weights " << weight << ' ' << bias << '\n';
}

/// Finds the minimum of (x - 3)^2, as far as its epochs reach.
void fit() {
  double x = 0;
  const auto state = flor::checkpoints(flor::named("x", x));
  const double rate = flor::arg("rate", 0.1);
  for ([[maybe_unused]] const int epoch : flor::loop("epoch", 5)) {
    for ([[maybe_unused]] const int step : flor::loop("step", 2)) x -= rate * 2 * (x - 3);
    flor::log("distance", std::abs(x - 3));
  }
}

/// Answers with the run whose last distance is the least.
void serve() {
  std::string best;
  double least = std::numeric_limits<double>::infinity();
  for (const auto row : flor::query({"distance"}, {.experiment = "fit", .where = {"rate<1"}})) {
    if (row.integer("epoch") != 4 || row.number("distance") >= least) continue;
    least = row.number("distance");
    best = row.text("run");
  }
  double x = 0;
  flor::load(best + "@latest", flor::named("x", x));
  for (const int request : flor::loop("request", 3)) flor::log("answer", x * request);
  std::cout << "serves " << x << '\n';
}

/// With DRIFT in the environment of a replay, what it logs is another loss.
void log_source() {
  double x = 0;
  const auto state = flor::checkpoints(flor::named("x", x));
  const bool extra = flor::arg("extra", false), drifts = std::getenv("DRIFT");
  for (const int epoch : flor::loop("epoch", 2)) {
    for ([[maybe_unused]] const int step : flor::loop("step", 2, flor::with(x))) {
      x += 1;
      if (drifts) flor::log("loss", x);
    }
    flor::log("loss", drifts ? x + 1 : x);
    if (extra || drifts) flor::log("extra", x);
    flor::log("epoch", epoch * 10);
    if (const char* const note = std::getenv("NOTE")) flor::log("note", note);
  }
}

void say_answer(const std::vector<std::string>& names, const flor::QueryOptions& options) {
  try {
    const flor::Rows rows = flor::query(names, options);
    std::cout << "rows " << rows.size();
    for (const std::string& column : rows.columns()) std::cout << ' ' << column;
    std::cout << '\n';
  } catch (const flor::Error& error) {
    std::cout << "refused " << static_cast<int>(error.status()) << ' ' << error.what() << '\n';
  }
}

void ask() {
  say_answer({flor::arg("name", std::string("label"))},
             {.experiment = flor::arg("of", std::string()), .latest = flor::arg("latest", false)});
  for (const int epoch : flor::loop("epoch", 2)) flor::log("asked", epoch);
}

/// The index of the store is damaged while it trains.
void ask_damaged() {
  for (const int epoch : flor::loop("epoch", 3)) {
    const char* const home = std::getenv("FLOR_HOME");
    if (epoch == 1) std::ofstream(std::string(home) + "/catalog.db").flush();
    say_answer({"label"}, {.experiment = "labels"});
  }
  std::cout << "trained" << std::endl;
}

void ask_what_is_wrong() {
  for (const auto& [names, options] :
       std::vector<std::pair<std::vector<std::string>, flor::QueryOptions>>{
           {{}, {.run = {"features"}}},
           {{"inc"}, {.run = {"features"}}},
           {{"ink"}, {.run = {"features"}, .experiment = "features"}},
           {{"ink"}, {.experiment = "fetures"}},
           {{"ink"}, {.where = {"rate<"}}},
           {{"ink"}, {.run = {"features"}, .epochs = "x"}}}) {
    say_answer(names, options);
  }
  const auto scope = flor::iteration("document", 0);
  say_answer({"ink"}, {.run = {"features"}});
}

struct Answers {
  struct iterator {
    int at = 0;
    int operator*() const { return at; }
    iterator& operator++() {
      (void)flor::query({"ink"}, {.run = {"features"}});
      ++at;
      return *this;
    }
    bool operator==(int end) const { return at == end; }
  };
  iterator begin() const { return {}; }
  int end() const { return 2; }
};

}  // namespace

int main(int argc, char** argv) {
  auto session = flor::init(argc, argv);
  const std::string what = flor::arg("what", std::string("train"));
  if (what == "features") log_features();
  if (what == "labels") log_labels();
  if (what == "train") train();
  if (what == "fit") fit();
  if (what == "serve") serve();
  if (what == "source") log_source();
  if (what == "ask") ask();
  if (what == "damaged") ask_damaged();
  if (what == "wrong") ask_what_is_wrong();
  if (what == "range") {
    for (const int answer : flor::loop("answer", Answers{})) flor::log("answer", answer);
  }
}
