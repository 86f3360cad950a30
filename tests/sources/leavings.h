// Ways in which a loop leaves something behind that a later log statement reads: how it is written,
// by which name, where the loop stands, and how it is read, combined. Each is a whole program.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace flor::testing {

/// A program before and after a question was added, without what it includes. Names of its own end
/// with a number of its own, so that many fit into one file.
struct Leaving {
  std::string name;
  std::string before, asked;  ///< declarations, and `void run_N()` with the loops
};

inline std::string replace_all(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
  return text;
}

/// What the programs have in common.
inline constexpr const char* kLeavingsPrelude = R"code(#include <flor/flor.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

double learn(std::vector<double>& weights, int i) {
  double loss = 0;
  for (double& w : weights) loss += (w -= 0.1 * (w - 0.3 * i)) * w;
  return loss;
}
)code";

namespace leavings {

struct Thing {
  const char* type;
  const char* initial;
  const char* value;  ///< of M
};
inline constexpr Thing kNumber{"double", "0.5", "M"};
inline constexpr Thing kVector{"std::vector<double>", "std::vector<double>(2, 0.5)",
                               "std::accumulate(M.begin(), M.end(), 0.0)"};
inline constexpr Thing kObject{"Meter$", "Meter$()", "M.mean()"};

struct Write {
  const Thing* thing;
  const char* name;
  const char* code;  ///< in the loop: changes M by l
};
inline const std::vector<Write>& writes() {
  static const std::vector<Write> all = {
      {&kNumber, "adds", "M += l;"},
      {&kNumber, "assigns", "M = 0.5 * M + l;"},
      {&kNumber, "increments", "++M;"},
      {&kNumber, "increments_behind", "M++;"},
      {&kNumber, "swaps", "{ double other = M + l; std::swap(M, other); }"},
      {&kNumber, "exchanges", "std::exchange(M, M + l);"},
      {&kNumber, "by_reference", "bump$(M, l);"},
      {&kNumber, "by_pointer", "bump_at$(&M, l);"},
      {&kNumber, "by_template", "bump_any$(M, l);"},
      {&kNumber, "by_two_calls", "bump_twice$(M, l);"},
      {&kNumber, "by_lambda", "[&] { M += l; }();"},
      {&kNumber, "by_named_lambda", "auto add = [&](double x) { M += x; }; add(l);"},
      {&kNumber, "by_lambda_parameter", "auto add = [](auto& to, double x) { to += x; }; add(M, l);"},
      {&kNumber, "by_function_object", "std::function<void(double)> f = [&](double x) { M += x; }; f(l);"},
      {&kNumber, "by_tie", "int n; std::tie(M, n) = std::pair(M + l, 1);"},
      {&kNumber, "by_condition", "double other = 0; (i >= 0 ? M : other) += l;"},
      {&kNumber, "by_returned_reference", "itself$(M) += l;"},
      {&kNumber, "by_macro", "ADD$(M, l);"},
      {&kNumber, "by_holder", "Adder$ adder{M}; adder.add(l);"},
      {&kNumber, "by_temporary_holder", "Adder$(M).add(l);"},
      {&kNumber, "by_address", "*std::addressof(M) += l;"},
      {&kNumber, "by_ref", "std::ref(M).get() += l;"},
      {&kNumber, "by_invoke", "std::invoke(bump$, M, l);"},
      {&kNumber, "by_function_pointer", "void (*f)(double&, double) = bump$; f(M, l);"},
      {&kNumber, "by_for_each", "const double xs[] = {l}; std::for_each(xs, xs + 1, [&](double x) { M += x; });"},
      {&kNumber, "by_header", "for (int k = 0; k < 2; M += l, ++k) {}"},
      {&kNumber, "by_comma", "int k = 0; k++, M += l;"},
      {&kNumber, "by_destructor", "{ AtEnd$ end(M, l); }"},
      {&kNumber, "by_if", "if ((M += l) > 1e9) return;"},
      {&kVector, "push_back", "M.push_back(l);"},
      {&kVector, "insert", "M.insert(M.end(), l);"},
      {&kVector, "resize", "M.resize(M.size() + 1, l);"},
      {&kVector, "index", "M[static_cast<std::size_t>(i % 2)] = l;"},
      {&kVector, "at", "M.at(0) += l;"},
      {&kVector, "front", "M.front() += l;"},
      {&kVector, "data", "*M.data() += l;"},
      {&kVector, "begin", "*M.begin() += l;"},
      {&kVector, "iterator", "auto it = M.begin(); ++it; *it += l;"},
      {&kVector, "range_for", "for (auto& x : M) x += l;"},
      {&kVector, "range_for_typed", "for (double& x : M) x = 0.5 * x + l;"},
      {&kVector, "fill", "std::fill(M.begin(), M.end(), l);"},
      {&kVector, "back_inserter", "std::copy_n(&l, 1, std::back_inserter(M));"},
      {&kVector, "transform", "std::transform(M.begin(), M.end(), M.begin(), [&](double x) { return x + l; });"},
      {&kVector, "assigned", "M = std::vector<double>(2, l);"},
      {&kVector, "appended", "append$(M, l);"},
      {&kVector, "appended_by_pointer", "append_to$(&M, l);"},
      {&kVector, "swapped", "std::vector<double> other(3, l); M.swap(other);"},
      {&kVector, "element_reference", "double& first = M[0]; first += l;"},
      {&kVector, "element_pointer", "double* first = &M[0]; *first += l;"},
      {&kVector, "element_by_call", "bump$(M[0], l);"},
      {&kObject, "method", "M.take(l);"},
      {&kObject, "shift", "M << l;"},
      {&kObject, "shifts", "M << l << 1.0;"},
      {&kObject, "compound", "M += l;"},
      {&kObject, "call", "M(l);"},
      {&kObject, "index_operator", "M[0] += l;"},
      {&kObject, "percent", "M % l;"},
      {&kObject, "member", "M.total += l; ++M.seen;"},
      {&kObject, "copy", "M = M.with(l);"},
      {&kObject, "function", "observe$(M, l);"},
      {&kObject, "inherited", "M.inherited(l);"},
      {&kObject, "virtual_call", "Base$& base = M; base.on(l);"},
      {&kObject, "chained", "M.chain(l).chain(l);"},
      {&kObject, "getter", "M.get_total() += l; ++M.seen;"},
      {&kObject, "member_pointer", "auto method = &Meter$::take; (M.*method)(l);"},
      {&kObject, "friend", "absorb$(l, M);"},
      {&kObject, "reset", "M = {}; M.take(l);"},
  };
  return all;
}

/// How the loop names the thing T& m: `declare` stands before the loop, `name` in it.
struct Alias {
  const char* name;
  const char* declare;
  const char* spelled;
};
inline const std::vector<Alias>& aliases() {
  static const std::vector<Alias> all = {
      {"itself", "", "m"},
      {"reference", "auto& alias = m;", "alias"},
      {"typed_reference", "T& alias = m;", "alias"},
      {"braced_reference", "T& alias{m};", "alias"},
      {"pointer", "auto* alias = &m;", "(*alias)"},
      {"typed_pointer", "T* const alias(&m);", "(*alias)"},
      {"wrapper", "std::reference_wrapper<T> alias = m;", "alias.get()"},
      {"made_wrapper", "auto alias = std::ref(m);", "alias.get()"},
      {"array", "T* alias[2] = {nullptr, &m};", "(*alias[1])"},
      {"vector", "std::vector<T*> alias{&m};", "(*alias.front())"},
      {"pushed", "std::vector<T*> alias; alias.push_back(&m);", "(*alias[0])"},
      {"map", "std::map<int, T*> alias; alias[3] = &m;", "(*alias.at(3))"},
      {"holder", "Holder$<T> alias{m};", "alias.to"},
      {"pointing", "Pointing$<T> alias; alias.to = &m;", "(*alias.to)"},
      {"set", "Pointing$<T> alias; alias.set(m);", "(*alias.to)"},
      {"lambda", "auto alias = [&]() -> T& { return m; };", "alias()"},
      {"function", "std::function<T&()> alias = [&n = m]() -> T& { return n; };", "alias()"},
      {"tuple", "std::tuple<T&, int> alias(m, 1);", "std::get<0>(alias)"},
      {"binding", "auto alias_pair = std::tie(m, m); auto& [alias, again] = alias_pair;", "alias"},
      {"two_steps", "auto& between = m; auto* alias = &between;", "(*alias)"},
      {"later", "T* alias = nullptr; alias = &m;", "(*alias)"},
      {"optional", "std::optional<std::reference_wrapper<T>> alias(m);", "alias->get()"},
      {"unique", "auto alias = std::make_unique<Holder$<T>>(Holder$<T>{m});", "alias->to"},
      {"shared", "std::shared_ptr<T> alias(&m, [](T*) {});", "(*alias)"},
      {"returned", "T& alias = itself$(m);", "alias"},
  };
  return all;
}

/// How the question reads it; `before` is there already when the run is recorded.
struct Read {
  const char* name;
  const char* before;
  const char* ask;
};
inline const std::vector<Read>& reads() {
  static const std::vector<Read> all = {
      {"logs", "", "flor::log(\"q$\", V);"},
      {"copies", "const double seen = V;", "flor::log(\"q$\", seen);"},
      {"copies_braced", "const double seen{V};", "flor::log(\"q$\", seen);"},
      {"copies_parenthesized", "const double seen(V);", "flor::log(\"q$\", seen);"},
      {"decides", "", "if (V > 1.5) flor::log(\"q$\", 1); else flor::log(\"q$\", 2);"},
      {"decides_earlier", "const bool large = V > 1.5;", "flor::log(\"q$\", large ? 1 : 2);"},
      {"lambda", "", "flor::log(\"q$\", [&] { return V; }());"},
      {"old_lambda", "auto look = [&] { return V; };", "flor::log(\"q$\", look());"},
      {"function", "", "flor::log(\"q$\", look$(m));"},
      {"reference", "", "auto& read = m; flor::log(\"q$\", look$(read));"},
      {"pointer", "", "auto* read = &m; flor::log(\"q$\", look$(*read));"},
      {"pair", "const auto [seen, number] = std::pair(V, 1);", "flor::log(\"q$\", seen + number);"},
      {"tie", "double seen; int n; std::tie(seen, n) = std::pair(V, 1);", "flor::log(\"q$\", seen);"},
      {"text", "const std::string text = std::to_string(V);", "flor::log(\"q$\", text);"},
      {"collected", "std::vector<double> all; all.push_back(V);", "for (double x : all) flor::log(\"q$\", x);"},
      {"out_reference", "double seen = 0; copy_to$(V, seen);", "flor::log(\"q$\", seen);"},
      {"out_pointer", "double seen = 0; copy_at$(V, &seen);", "flor::log(\"q$\", seen);"},
      {"switch", "", "switch (static_cast<int>(V)) { case 0: flor::log(\"q$\", 0); break; default: flor::log(\"q$\", 7); }"},
      {"while", "int n = 0; while (n < 20 && n < V) ++n;", "flor::log(\"q$\", n);"},
      {"struct", "struct { double seen; } kept{V};", "flor::log(\"q$\", kept.seen);"},
      {"unique", "auto kept = std::make_unique<double>(V);", "flor::log(\"q$\", *kept);"},
      {"leaves", "if (V > 1e12) { std::puts(\"large\"); continue_or_return; }", "flor::log(\"q$\", V > 1 ? 3 : 4);"},
  };
  return all;
}

/// Where the loop stands, and whose M it changes. LOOP is the nested loop with its alias.
struct Place {
  const char* name;
  const char* declarations;
  const char* before;  ///< the main loop: declares the thing, as `m` where the question stands
  const char* epoch;   ///< in the main loop, before the question
  const char* leave = "continue";
  bool after = false;  ///< the question stands behind the main loop
};
inline const std::vector<Place>& places() {
  static const std::vector<Place> all = {
      {"main", "", "T m = I;", "LOOP"},
      {"each_epoch", "", "", "T m = I; LOOP"},
      {"function", "void train$(std::vector<double>& weights, T& m) { LOOP }\n", "T m = I;",
       "train$(weights, m);"},
      {"pointer",
       "void train$(std::vector<double>& weights, T* given) { T& m = *given; LOOP }\n", "T m = I;",
       "train$(weights, &m);"},
      {"template", "template <class X> void train$(std::vector<double>& weights, X& m) { LOOP }\n",
       "T m = I;", "train$(weights, m);"},
      {"two_calls",
       "void inner$(std::vector<double>& weights, T& m) { LOOP }\n"
       "void train$(std::vector<double>& weights, T& given) { inner$(weights, given); }\n",
       "T m = I;", "train$(weights, m);"},
      {"lambda", "", "T m = I; auto train = [&] { LOOP };", "train();"},
      {"lambda_with_parameter", "", "T m = I; auto train = [&](T& m) { LOOP };", "train(m);"},
      {"member",
       "struct Trainer$ {\n  void epoch(std::vector<double>& weights) { LOOP }\n  T m = I;\n};\n",
       "Trainer$ trainer; auto& m = trainer.m;", "trainer.epoch(weights);"},
      {"referring_member",
       "struct Trainer$ {\n  explicit Trainer$(T& given) : m(given) {}\n"
       "  void epoch(std::vector<double>& weights) { LOOP }\n  T& m;\n};\n",
       "T m = I; Trainer$ trainer(m);", "trainer.epoch(weights);"},
      {"aggregate_member",
       "struct Trainer$ {\n  T& m;\n  void epoch(std::vector<double>& weights) { LOOP }\n};\n",
       "T m = I; Trainer$ trainer{m};", "trainer.epoch(weights);"},
      {"unique_member",
       "struct Trainer$ {\n  void epoch(std::vector<double>& weights) { LOOP }\n  T m = I;\n};\n",
       "auto trainer = std::make_unique<Trainer$>(); T& m = trainer->m;",
       "trainer->epoch(weights);"},
      {"global", "T m$ = I;\n", "T& m = m$;", "{ T& m = m$; LOOP }"},
      {"global_function", "T global$ = I;\nvoid train$(std::vector<double>& weights) { T& m = global$; LOOP }\n",
       "T& m = global$;", "train$(weights);"},
      {"static_local",
       "T& the$() { static T one = I; return one; }\n"
       "void train$(std::vector<double>& weights) { T& m = the$(); LOOP }\n",
       "auto& m = the$();", "train$(weights);"},
      {"static_member",
       "struct Shared$ { static inline T m = I; };\n", "auto& m = Shared$::m;",
       "{ auto& m = Shared$::m; LOOP }"},
      {"after", "", "T m = I;", "LOOP", "return", true},
      {"function_after", "void train$(std::vector<double>& weights, T& m) { LOOP }\n", "T m = I;",
       "train$(weights, m);", "return", true},
      {"shared", "void train$(std::vector<double>& weights, std::shared_ptr<T> given) { T& m = *given; LOOP }\n",
       "auto shared = std::make_shared<T>(I); T& m = *shared;", "train$(weights, shared);"},
  };
  return all;
}

inline constexpr const char* kHelpers = R"code(
#define ADD$(to, by) (to) += (by)
void bump$(double& to, double by) { to += by; }
void bump_at$(double* to, double by) { *to += by; }
template <class X> void bump_any$(X& to, double by) { to += by; }
void bump_twice$(double& to, double by) { bump$(to, by); }
template <class X> X& itself$(X& x) { return x; }
struct Adder$ {
  explicit Adder$(double& given) : to(given) {}
  void add(double x) { to += x; }
  double& to;
};
struct AtEnd$ {
  AtEnd$(double& given, double x) : to(given), by(x) {}
  ~AtEnd$() { to += by; }
  double& to;
  double by;
};
void append$(std::vector<double>& to, double by) { to.push_back(by); }
void append_to$(std::vector<double>* to, double by) { to->push_back(by); }
struct Base$ {
  virtual ~Base$() = default;
  virtual void on(double) = 0;
  void inherited(double x) { on(x); }
};
struct Meter$ : Base$ {
  void take(double x) { total += x; ++seen; }
  void on(double x) override { take(x); }
  Meter$& chain(double x) { take(x); return *this; }
  double& get_total() { return total; }
  Meter$& operator<<(double x) { take(x); return *this; }
  Meter$& operator+=(double x) { take(x); return *this; }
  void operator%(double x) { take(x); }
  double& operator[](int) { ++seen; return total; }
  void operator()(double x) { take(x); }
  Meter$ with(double x) const { Meter$ copy = *this; copy.take(x); return copy; }
  double mean() const { return seen > 0 ? total / seen : 0; }
  double total = 0;
  int seen = 0;
};
void observe$(Meter$& meter, double x) { meter.take(x); }
void absorb$(double x, Meter$& meter) { meter.total += x; ++meter.seen; }
template <class X> struct Holder$ { X& to; };
template <class X> struct Pointing$ {
  void set(X& x) { to = &x; }
  X* to = nullptr;
};
double look$(const T& m) { return V; }
void copy_to$(double x, double& to) { to = x; }
void copy_at$(double x, double* to) { *to = x; }
)code";

inline std::string filled(std::string text, const Write& write, const Alias& alias,
                          const Place& place, int number) {
  // Of words that hold the letter of a placeholder the rest is not one.
  const std::string changed = replace_all(
      replace_all(replace_all(write.code, "Meter$", "\x01"), "M", alias.spelled), "\x01", "Meter$");
  std::string loop = std::string(alias.declare) +
                     "\n    for (int i : flor::loop(\"train$\", 4)) {\n"
                     "      const double l = learn(weights, i);\n      " +
                     changed + "\n    }";
  text = replace_all(text, "LOOP", loop);
  text = replace_all(text, "continue_or_return", place.leave);
  const auto word = [&](std::string in, char name, const std::string& to) {
    std::string out;
    const auto part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
    for (std::size_t i = 0; i < in.size(); ++i) {
      const bool alone = in[i] == name && (i == 0 || !part(in[i - 1])) &&
                         (i + 1 == in.size() || (!part(in[i + 1]) && in[i + 1] != '$'));
      alone ? out += to : out += in[i];
    }
    return out;
  };
  text = word(text, 'V', replace_all(write.thing->value, "M", "m"));
  text = word(text, 'T', write.thing->type);
  text = word(text, 'I', write.thing->initial);
  return replace_all(text, "$", std::to_string(number));
}

inline Leaving combined(const Write& write, const Alias& alias, const Read& read,
                        const Place& place, int number) {
  const auto program = [&](const std::string& ask) {
    const std::string tail = std::string("    ") + read.before + "\n    " + ask + "\n";
    const std::string text =
        std::string(kHelpers) + place.declarations +
        "void run$() {\n  std::vector<double> weights(4, 0.5);\n"
        "  auto state = flor::checkpoints(weights);\n  " +
        place.before + "\n  for (int epoch : flor::loop(\"epoch$\", 3)) {\n    " + place.epoch +
        "\n" + (place.after ? "" : tail) +
        "    std::printf(\"%d\\n\", epoch);\n  }\n" + (place.after ? tail : "") + "}\n";
    return filled(text, write, alias, place, number);
  };
  return {.name = std::string(write.name) + ", " + alias.name + ", " + read.name + ", " +
                  place.name,
          .before = program(""),
          .asked = program(read.ask)};
}

}  // namespace leavings

/// Each way to write with each alias, each read and each place: not all with all, but each two
/// meet, as far as `every` one of them is wanted.
inline std::vector<Leaving> ways_to_leave(std::size_t every = 1) {
  using namespace leavings;
  std::vector<Leaving> all;
  std::size_t turn = 0;
  int number = 0;
  const auto add = [&](std::size_t w, std::size_t a, std::size_t r, std::size_t p) {
    if (turn++ % every != 0) return;
    // A lambda or a member declared as `auto` in a class has no place there.
    all.push_back(combined(writes()[w % writes().size()], aliases()[a % aliases().size()],
                           reads()[r % reads().size()], places()[p % places().size()], number++));
  };
  for (std::size_t w = 0; w < writes().size(); ++w) {
    for (std::size_t i = 0; i < aliases().size(); ++i) add(w, i, w + 3 * i, 5 * w + i);
    for (std::size_t i = 0; i < reads().size(); ++i) add(w, 0, i, w + 7 * i);
    for (std::size_t i = 0; i < places().size(); ++i) add(w, i + w, 5 * i + w, i);
  }
  return all;
}

}  // namespace flor::testing
