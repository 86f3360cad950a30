// Learns as it is told from outside: each answer is another one, since a file counts the questions.
#include "raise.h"
#include "show.h"

#include <flor/flor.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

/// The number of the question, over all processes.
std::int64_t count_question() {
  const char* file = std::getenv("QUESTIONS");
  std::int64_t count = 0;
  std::ifstream(file) >> count;
  std::ofstream(file) << count + 1;
  return count;
}

bool pins = true;
template <typename F>
auto ask(const char* name, F f) {
  return pins ? flor::pinned(name, f) : f();
}

struct Weather : std::out_of_range {
  using std::out_of_range::out_of_range;
};

/// Every value that has a form of its own in a record.
void ask_for_every_type() {
  const auto n = count_question;
  show("types", ask("yes", [&] { return n() % 2 == 0; }),
       ask("small", [&] { return static_cast<std::int8_t>(-n()); }),
       ask("large", [&] { return std::numeric_limits<std::uint64_t>::max() - n(); }),
       ask("letter", [&] { return static_cast<char>('a' + n() % 26); }),
       ask("float", [&] { return static_cast<float>(n()) * 0.1F; }),
       ask("zero", [&] { return n() < 0 ? 1.0 : -0.0; }),
       ask("endless", [&] { return n() < 0 ? 1.0 : -std::numeric_limits<double>::infinity(); }));
  const float signalling = ask("signalling", [&] {
    const auto pattern = static_cast<std::uint32_t>(0x7F800100 + n());
    float value = 0;
    std::memcpy(&value, &pattern, sizeof value);
    return value;
  });
  std::uint32_t pattern = 0;
  std::memcpy(&pattern, &signalling, sizeof pattern);
  show("signalling", pattern);
  const double nan = ask("nan", [&] { return std::nan(std::to_string(n() + 5).c_str()); });
  std::uint64_t bits = 0;
  std::memcpy(&bits, &nan, sizeof bits);
  show("nan", bits);
  show("texts", ask("word", [&] { return "word " + std::to_string(n()); }),
       ask("literal", [&] { return n() < 0 ? "" : "literal"; }));
  const auto show_row = [](const char* name, const auto& row) {
    std::printf("row %s %zu:", name, row.size());
    for (const auto value : row) std::printf(" %a", static_cast<double>(value));
    std::printf("\n");
  };
  const std::string raw = ask("raw", [&] {
    std::string bytes(100'000, static_cast<char>(n()));
    bytes[7] = '\0';
    bytes[8] = '\xFF';
    return bytes;
  });
  show_row("raw", std::vector<char>(raw.begin(), raw.begin() + 12));
  show("length", raw.size());
  show_row("floats", ask("floats", [&] {
             const auto k = static_cast<float>(n());
             return std::vector<float>{k, -0.0F, k / 3};
           }));
  show_row("flags", ask("flags", [&] { return std::vector<bool>{n() % 2 == 0, true, false}; }));
  show_row("none", ask("none", [&] { return n(), std::vector<std::int16_t>(); }));
}

/// The text of the refusal, or the value.
template <typename F>
std::string try_to_ask(const char* name, F f) {
  try {
    return std::to_string(ask(name, f).size());
  } catch (const flor::UsageError& error) {
    return error.what();
  }
}

/// Values that are refused, and behind each a value of the same name, which is not.
void ask_what_is_refused(int epoch) {
  const auto plain = [] { return std::string(static_cast<std::size_t>(count_question()), 'x'); };
  show("refused", epoch, try_to_ask("password", [] { return std::string("hunter2-and-more"); }),
       try_to_ask("password", [] {
         return std::vector<std::uint8_t>{'h', 'u', 'n', 't', '3'};
       }));
  {
    const auto page = flor::iteration("page", epoch, "a.pdf");
    show("refused", epoch, try_to_ask("length", plain));
  }
  show("told", epoch, try_to_ask("length", plain), try_to_ask("length", plain));
}

/// Its elements are pinned, or logged, one after another.
struct Answers {
  struct iterator {
    int at = 0;
    bool logs = false;
    int operator*() const { return at; }
    iterator& operator++() {
      if (logs) flor::log("gone", ++at);
      if (!logs) at += static_cast<int>(flor::pinned("answer", count_question)) >= 0 ? 1 : 0;
      return *this;
    }
    bool operator==(int end) const { return at == end; }
  };
  bool logs = false;
  iterator begin() const { return {0, logs}; }
  int end() const { return 6; }
};

}  // namespace

int main(int argc, char** argv) {
  auto session = flor::init(argc, argv);
  pins = flor::arg("pins", true);
  const std::string how = flor::arg("how", "");
  std::vector<double> weights(4, 1.0);
  const auto state = flor::checkpoints(flor::named("weights", weights));
  weights[0] += static_cast<double>(ask("start", count_question));
  if (how == "types") ask_for_every_type();
  if (how == "secret") {
    ask("api_key", [] { return std::string("q8Zr1vLx0Tf5Wn3kYb7Cm2Hd9Gs4Pj6E"); });
  }
  if (how == "nested") ask("outer", [] { return ask("inner", count_question); });
  if (how == "logged") {
    ask("logs", [] { return flor::log("inside", 1), count_question(); });
    flor::log("pinned:start", 1);
  }
  if (how == "thread") {
    std::thread([] {
      try {
        flor::pinned("elsewhere", count_question);
      } catch (const flor::UsageError& error) {
        std::printf("refused: %s\n", error.what());
      }
    }).join();
  }
  if (how == "range" || how == "logging range") {
    for (const int element : flor::loop("element", Answers{how == "logging range"})) {
      flor::log("element", element);
    }
    return 0;
  }
  for (const int epoch : flor::loop("epoch", flor::arg("epochs", 5))) {
    if (how == "refused") ask_what_is_refused(epoch);
#ifdef HINDSIGHT
    if (how == "later" && epoch == 2) flor::log("later", flor::pinned("later", count_question));
#endif
#ifdef OTHER_TYPE
    const auto rate = static_cast<double>(ask("rate", [] { return std::string("fast"); }).size());
#else
    const double rate = ask("rate", [] { return 1.0 / (1.0 + double(count_question())); });
#endif
    try {
      weights[1] += static_cast<double>(ask("weather", [&] {
        const std::int64_t n = count_question();
        if (epoch % 2) throw Weather("storm " + std::to_string(n));
        return n;
      }));
    } catch (const std::out_of_range& error) {
      weights[1] += static_cast<double>(std::string(error.what()).size());
      show("storm", epoch, error.what());
    }
    for (const int step : flor::loop("train", 3)) {
      raise_when_due();
      const double pull = ask("rate", [] { return double(count_question()); });
      const double more = ask("rate", [] { return 0.5 * double(count_question()); });
      for (const int inner : flor::loop("inner", 2)) {
        weights[static_cast<std::size_t>(inner)] +=
            rate * static_cast<double>(ask("push", count_question));
      }
      weights[2] += rate * pull - more;
      flor::log("weight", weights[2]);
      show("step", epoch, step, weights[0], weights[2]);
#ifdef HINDSIGHT
      flor::log("first", weights[0]);
#endif
    }
    for (const double value :
         ask("row", [] { return std::vector<double>(3, double(count_question())); })) {
      weights[3] += value;
    }
    show("tail", epoch, weights[1], weights[3]);
    std::fflush(stdout);
  }
  show("end", ask("start", count_question));
}
