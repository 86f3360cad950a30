// State that a loop changes under another name, or where another name reads it.
#include "inputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace flor::instrument::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// A training without libtorch whose epochs also carry `w`.
std::string plain(const std::string& top, const std::string& before, const std::string& each,
                  const std::string& after = "") {
  return "#include <vector>\n" + top + "\nint main() {\n  double w = 1;\n  " + before +
         "\n  for (int epoch = 0; epoch < 5; ++epoch) {\n    w = 0.5 * w + epoch;\n    " + each +
         "\n  }\n  " + after + "\n}\n";
}

struct Case {
  std::string top, before, each, after;
  std::vector<std::string> attached;
};

void expect(const std::vector<Case>& cases) {
  for (const Case& one : cases) {
    const Instrumented result = of(plain(one.top, one.before, one.each, one.after));
    EXPECT_EQ(result.attached, one.attached) << one.before << " " << one.each;
    EXPECT_THAT(result.questions, IsEmpty()) << one.before << " " << one.each;
  }
}

TEST(References, WhatTheyStandForIsCarried) {
  const std::string three = "std::vector<double> h(3);", shows = "std::printf(\"%f\", h[0]);";
  const std::string pair = "std::pair<double, int> stats;",
                    first = "std::printf(\"%f\", stats.first);";
  expect({
      {"", three, "for (double& v : h) v += w;", shows, {"w", "h"}},
      {"", three, "for (auto& v : h) v += w;", shows, {"w", "h"}},
      {"", "std::map<int, double> h{{1, 1}};", "for (auto& [k, v] : h) v += w;", shows, {"w", "h"}},
      {"double f(double a) { return a; }",
       three,
       "for (auto& v : h) v += f(w);",
       shows,
       {"w", "h"}},
      {"",
       "double a = 0; double& s = a;",
       "a = 0.9 * s + 0.1 * w; std::printf(\"%f\", a);",
       "",
       {"w", "a"}},
      {"", "double a = 0;", "double& s = a; s += w;", "std::printf(\"%f\", a);", {"w", "a"}},
      {"",
       "double a = 0, b = 0; std::tuple<double&, double&> both(a, b);",
       "std::get<1>(both) += w;",
       "std::printf(\"%f\", a + b);",
       {"w", "a", "b"}},
      {"", pair, "auto& [sum, n] = stats; sum += w;", first, {"w", "stats"}},
      {"", pair + " auto& [sum, n] = stats;", "sum += w;", first, {"w", "stats"}},
      {"",
       "std::map<int, double> h{{1, 1}};",
       "auto it = h.find(1); it->second += w;",
       shows,
       {"w", "h"}},
      {"", three, "auto& v = h[1]; v += w;", shows, {"w", "h"}},
      {"",
       three,
       "std::for_each(h.begin(), h.end(), [&](double& v) { v += w; });",
       shows,
       {"w", "h"}},
      {"",
       "double a = 0, b = 0;",
       "auto& v = epoch % 2 ? a : b; v += w;",
       "std::printf(\"%f\", a + b);",
       {"w", "a", "b"}},
  });
}

TEST(References, ToObjectsOfTheProgramAndToUnknownOnesAreAskedAbout) {
  const auto asked = [](const std::string& top, const std::string& before,
                        const std::string& each) {
    return questions_of(plain(top, before, each, "std::printf(\"%f\", h[0].s);"));
  };
  const std::string part = "struct A { double s = 0; };";
  EXPECT_THAT(asked(part, "std::vector<A> h(3);", "for (auto& a : h) a.s += w;"),
              ElementsAre(HasSubstr("does 'h'")));
  EXPECT_THAT(asked(part, "A h[3];", "auto& v = h[0].s; v += w;"),
              ElementsAre(HasSubstr("does 'h'")));
  EXPECT_THAT(asked(part, "std::vector<double> k(3); auto* p = &k;", "(*p)[0] += w;"),
              ElementsAre(HasSubstr("does 'p' (a pointer)")));
  EXPECT_THAT(asked("double& get();", "", "auto& v = get(); v += w;"),
              ElementsAre(HasSubstr("changes 'v', a reference to something")));
  EXPECT_THAT(
      asked("double& get() { static double a = 0; return a; }", "", "auto& v = get(); v += w;"),
      ElementsAre(HasSubstr("changes 'a', which is kept by a function")));
}

TEST(References, ThatOnlyReadCarryNothing) {
  expect({
      {"",
       "std::vector<double> h(3);",
       "double t = 0; for (const auto& v : h) t += v; std::printf(\"%f\", t);",
       "",
       {"w"}},
      {"",
       "std::vector<double> h(3);",
       "double t = 0; for (double v : h) { v += 1; t += v; } std::printf(\"%f\", t);",
       "",
       {"w"}},
      {"", "double e = 0;", "e = w * 2; std::printf(\"%f\", e);", "", {"w"}},
  });
}

TEST(References, AValueThatAnotherNameReadsIsNotSetFirst) {
  const std::string reads = "{ return 0.9 * s + 0.1 * v; }",
                    each = "s = ema(w); std::printf(\"%f\", s);";
  expect({
      {"", "double s = 0; auto ema = [&](double v) " + reads + ";", each, "", {"w", "s"}},
      {"",
       "double s = 0; std::function<double(double)> ema = [&](double v) " + reads + ";",
       each,
       "",
       {"w", "s"}},
      {"#define EMA(v) (0.9 * s + 0.1 * (v))",
       "double s = 0;",
       "s = EMA(w); std::printf(\"%f\", s);",
       "",
       {"w", "s"}},
      {"struct Ema { double& s; double operator()(double v) const " + reads + " };",
       "double smooth = 0; Ema ema{smooth};",
       "smooth = ema(w); std::printf(\"%f\", smooth);",
       "",
       {"w", "smooth"}},
      {"",
       "std::vector<double> h; auto last = [&] { return h.empty() ? 0 : h.back(); };",
       "h.assign(2, last() + w); std::printf(\"%f\", h[0]);",
       "",
       {"w", "h"}},
  });
}

std::vector<std::string> registered_in(const Torch& parts) {
  const Instrumented result = of(program(parts));
  EXPECT_THAT(result.questions, IsEmpty()) << parts.before << " " << parts.step;
  return result.registered;
}

TEST(References, TensorsChangedUnderAnotherName) {
  const std::string h = "auto h = torch::zeros({2});",
                    all = "std::vector<torch::Tensor> h(2, torch::zeros({2}));";
  const std::vector<Torch> cases = {
      {.before = all, .step = "for (auto& v : h) v.mul_(0.9);"},
      {.before = all, .step = "auto& v = h[1]; v.mul_(0.9);"},
      {.before = all, .step = "auto v = h[1]; v.mul_(0.9);"},
      {.before = all,
       .step = "std::for_each(h.begin(), h.end(), [](torch::Tensor& v) { v.mul_(0.9); });"},
      {.top = "void decay(std::vector<torch::Tensor>& all) { for (auto& v : all) v.mul_(0.9); }",
       .before = all,
       .step = "decay(h);"},
      {.before = all, .step = "h.push_back(loss);", .after = "std::cout << h.size();"},
      {.top = "void bump(torch::Tensor h, torch::Tensor x) { h.add_(x); }",
       .before = h,
       .step = "bump(h, x);"},
      {.top = "void bump(const torch::Tensor& h) { h.add_(1); }", .before = h, .step = "bump(h);"},
      {.top = "void bump(torch::Tensor h);", .before = h, .step = "bump(h);"},
      {.before = h + " auto f = [&] { h.add_(1); };", .step = "f();"},
      {.before = h + " auto f = [&] { h = h + 1; };", .step = "f(); (void)h.sum();"},
      {.before = h + " auto f = [](torch::Tensor t) { t.add_(1); };", .step = "f(h);"},
      {.before = h, .step = "torch::add_out(h, h, x);"},
      {.before = h + " auto k = torch::zeros({2});", .step = "std::swap(h, k); (void)h.sum();"},
      {.before = h, .step = "auto row = h[0]; row.fill_(2); (void)h.sum();"},
      {.before = h, .step = "torch::Tensor& r = h; r.add_(1);"},
      {.before = "torch::nn::Linear h(2, 1); auto a = h->parameters();",
       .step = "for (size_t j = 0; j < a.size(); ++j) a[j].mul_(0.9);"},
      {.before = "torch::nn::Linear h(2, 1);",
       .step = "for (auto& p : h->parameters()) p.mul_(2);"},
      // A constant handle changes what it leads to.
      {.before = h + " std::vector<torch::Tensor> all = {h, torch::zeros({2})};",
       .step = "for (const auto& p : all) p.mul_(0.9);"},
      {.before = h + " std::vector<torch::Tensor> all = {h};",
       .step = "const auto& p = all[0]; p.mul_(0.9);"},
      {.before = h, .step = "const auto& p = h; p.mul_(2);"},
      {.before = h, .step = "for (const torch::Tensor& p : {h, h}) p.mul_(2);"},
      {.before = "torch::nn::Linear h(2, 1); const auto a = h->parameters();",
       .step = "a[0].mul_(0.9);"},
      {.before = h, .step = "for (auto p : std::vector<torch::Tensor>{h}) p.mul_(2);"},
      {.before = "auto h = at::detail::createCPUGenerator(5);",
       .step = "auto z = torch::rand({2}, h);"},
      {.before = "auto h = torch::make_generator<at::CPUGeneratorImpl>(5);",
       .step = "auto z = torch::rand({2}, h);"},
  };
  for (const Torch& parts : cases) {
    EXPECT_THAT(registered_in(parts), Contains("h")) << parts.before << " " << parts.step;
  }
  // The tensors of `h` are those of the other name, which is restored in place.
  const std::vector<Torch> shared = {
      {.before = h + " torch::Tensor all = h;", .step = "all.mul_(2);"},
      {.before = h + " auto all = std::vector<torch::Tensor>{h};",
       .step = "for (auto& p : all) p.mul_(2);"},
      {.before = h + " auto all = std::vector<torch::Tensor>({h});",
       .step = "for (auto& p : all) p.mul_(2);"},
      {.before = h + " torch::Tensor all[] = {h};", .step = "all[0].mul_(2);"},
  };
  for (const Torch& parts : shared) {
    EXPECT_THAT(registered_in(parts), Contains("all")) << parts.before << " " << parts.step;
  }
  EXPECT_THAT(
      registered_in({.top = "torch::Tensor mix(const torch::Tensor& h) { return h.sum(); }",
                     .before = h,
                     .step = "auto y = mix(h); auto z = h * 2; z.mul_(2); auto c = h.clone(); "
                             "c.add_(1); auto e = torch::mse_loss(h, x);"}),
      ElementsAre("net", "optimizer"));
}

// A constant object has handles that lead to what is not constant.
TEST(References, ConstantObjectsHaveTensorsThatChange) {
  const std::string top =
      "struct State { torch::Tensor t = torch::zeros({2}); void bump() const { t.mul_(2); } };\n"
      "struct Other { std::shared_ptr<double> p = std::make_shared<double>(0); mutable int n = 0; "
      "void count() const { ++n; } };\n"
      "void by_reference(const State& s) { s.t.mul_(2); }\n"
      "void by_pointer(const State* s) { s->t.mul_(2); }\n"
      "void by_value(const State s) { s.t.mul_(2); }\n";
  const std::vector<Torch> asked = {
      {.before = "const State h;", .step = "h.t.mul_(2);"},
      {.before = "const auto h = State{};", .step = "h.t.mul_(2);"},
      {.before = "const auto h = std::make_shared<State>();", .step = "h->t.mul_(2);"},
      {.before = "const State h;", .step = "h.bump();"},
      {.before = "const State h;", .step = "by_reference(h);"},
      {.before = "const State h;", .step = "by_pointer(&h);"},
      {.before = "const State h;", .step = "by_value(h);"},
      {.before = "const State h;", .step = "const auto& t = h.t; t.mul_(2);"},
      {.before = "State h; const auto& r = h;", .step = "r.t.mul_(2);"},
      {.before = "State h;", .step = "const auto& [t] = h; t.mul_(2);"},
      {.before = "State h;", .step = "std::as_const(h).t.mul_(2);"},
      {.before = "std::vector<State> h(2);", .step = "for (const auto& s : h) s.t.mul_(2);"},
      {.before = "const std::vector<State> h(2);", .step = "h[0].t.mul_(2);"},
      {.before = "const Other h;", .step = "*h.p += 1;"},
      {.before = "const Other h;", .step = "h.count();"},
  };
  for (const Torch& parts : asked) {
    EXPECT_THAT(questions_of(program({.top = top, .before = parts.before, .step = parts.step})),
                ElementsAre(HasSubstr("does 'h'")))
        << parts.before << " " << parts.step;
  }
  const std::string h = "auto h = torch::zeros({2});",
                    pair = "std::pair<torch::Tensor, torch::Tensor> h;";
  const std::vector<Torch> kept = {
      {.before = h, .step = "std::as_const(h).mul_(2);"},
      {.before = h, .step = "(h).mul_(2);"},
      {.before = "std::tuple<torch::Tensor, torch::Tensor> h;", .step = "std::get<0>(h).mul_(2);"},
      {.before = "std::vector<torch::Tensor> h(2);", .step = "std::as_const(h)[0].mul_(2);"},
      {.before = pair + " const auto& [a, b] = h;", .step = "a.mul_(2);"},
  };
  for (const Torch& parts : kept) {
    EXPECT_THAT(registered_in(parts), Contains("h")) << parts.before << " " << parts.step;
  }
  for (const char* shared :
       {"const torch::Tensor kept = torch::zeros({2});", "const State kept;"}) {
    const bool tensor = std::string(shared).find("zeros") != std::string::npos;
    EXPECT_THAT(questions_of(program(
                    {.top = top + shared, .step = tensor ? "kept.mul_(2);" : "kept.t.mul_(2);"})),
                ElementsAre(HasSubstr("changes 'kept', which is a global variable")));
  }
}

TEST(References, ConstantObjectsThatAreOnlyReadCarryNothing) {
  const std::string top =
                        "struct Sample { torch::Tensor x, y; };\nstd::vector<Sample> load();\n"
                        "struct Options { double rate = 1; const char* path = \"\"; };\n",
                    loss = "{ auto l = torch::mse_loss(net(s.x), s.y); l.backward(); }";
  for (const char* before :
       {"std::vector<Sample> data = load();", "const std::vector<Sample> data = load();",
        "std::vector<Sample> own = load(); const auto& data = own;"}) {
    for (const std::string& step :
         {"for (const auto& s : data) " + loss, "for (auto& s : data) " + loss,
          "const Sample& s = data[i]; " + loss,
          std::string(
              "for (const auto& [p, q] : data) { auto l = torch::mse_loss(net(p), q); }")}) {
      EXPECT_THAT(registered_in({.top = top, .before = before, .step = step}),
                  ElementsAre("net", "optimizer"));
    }
  }
  EXPECT_THAT(registered_in({.top = top,
                             .before = "const Options o;",
                             .step = "auto y = (x * o.rate).add_(1); (void)o.path;"}),
              ElementsAre("net", "optimizer"));
}

TEST(References, TensorsOutsideOfTheFunction) {
  EXPECT_THAT(questions_of(program({.top = "torch::Tensor kept;\n"
                                           "void f(torch::Tensor x) { kept.add_(x); }",
                                    .step = "f(x);"})),
              ElementsAre(HasSubstr("changes 'kept', which is a global variable")));
  EXPECT_THAT(
      questions_of(program({.top = "struct Own : torch::nn::Module { torch::Tensor kept = "
                                   "torch::zeros({2}); torch::Tensor forward(torch::Tensor x) { "
                                   "kept.add_(1); return x + kept; } };",
                            .before = "auto own = std::make_shared<Own>();",
                            .step = "own->forward(x);"})),
      ElementsAre(HasSubstr("changes 'kept', a member that no checkpoint")));
  const Instrumented method = of(R"(#include <torch/torch.h>
struct Trainer {
  torch::nn::Linear net{2, 1};
  torch::optim::SGD sgd{net->parameters(), 0.1};
  torch::Tensor kept = torch::zeros({2});
  void bump(torch::Tensor x) { kept.add_(x); }
  void fit(torch::Tensor x) {
    for (int epoch = 0; epoch < 3; ++epoch) {
      auto loss = net(x).sum();
      loss.backward();
      sgd.step();
      bump(x);
    }
  }
};
int main() {
  Trainer trainer;
  trainer.fit(torch::rand({4, 2}));
}
)");
  EXPECT_THAT(method.registered, ElementsAre("net", "sgd", "kept"));
}

TEST(References, WhatThePreprocessorDecidesIsNotTakenToBeSetFirst) {
  const std::string best = "double best = 0;", rises = "if (w > best) best = w;\n",
                    shows = "std::printf(\"%f\", best);";
  expect({
      {"",
       best,
       "\n#ifdef TRACK\n" + rises + "#else\nbest = w;\n#endif\n" + shows,
       "",
       {"w", "best"}},
      {"",
       best,
       "\n#ifdef TRACK\nbest = w;\n#else\n" + rises + "#endif\n" + shows,
       "",
       {"w", "best"}},
      {"", best, "\n#ifdef TRACK\nbest = w;\n#endif\n" + shows, "", {"w", "best"}},
  });
}

TEST(References, StateThatNoLocalHoldsIsAskedAbout) {
  const auto asked = [](const std::string& top, const std::string& before, const std::string& each,
                        const std::string& after = "") {
    return questions_of(plain(top, before, each, after));
  };
  const auto captured = ElementsAre(HasSubstr("this lambda changes what it captured"));
  const std::string lambda = "[s = 0.0](double v) mutable { return s += v; };";
  EXPECT_THAT(asked("", "auto ema = " + lambda, "std::printf(\"%f\", ema(w));"), captured);
  EXPECT_THAT(
      asked("", "std::function<double(double)> ema = " + lambda, "std::printf(\"%f\", ema(w));"),
      Contains(HasSubstr("this lambda changes what it captured")));
  EXPECT_THAT(asked("auto make() { return " + lambda + " }", "auto ema = make();",
                    "std::printf(\"%f\", ema(w));"),
              Contains(HasSubstr("this lambda changes what it captured")));
  EXPECT_THAT(asked("", "", "auto ema = " + lambda + " std::printf(\"%f\", ema(w));"), IsEmpty());
  EXPECT_THAT(asked("", "auto ema = " + lambda + " w = ema(1);", ""), IsEmpty());
  EXPECT_THAT(asked("",
                    "double best = 0; std::vector<std::function<void(double)>> hooks; "
                    "hooks.push_back([best](double v) mutable { if (v > best) best = v; });",
                    "for (auto& f : hooks) f(w);"),
              Contains(HasSubstr("this lambda changes what it captured")));
  EXPECT_THAT(asked("struct Cfg { static inline int seen = 0; };", "", "++Cfg::seen;"),
              ElementsAre(HasSubstr("changes 'seen', which is a static member")));
  EXPECT_THAT(asked("struct Cfg { static int seen; };\nint Cfg::seen = 0;", "", "++Cfg::seen;"),
              ElementsAre(HasSubstr("changes 'seen', which is a static member")));
  EXPECT_THAT(asked("", "STATE(double, best);", "if (w > best) best = w;"),
              ElementsAre(HasSubstr("changes 'best', a variable that these sources do not show")));
  EXPECT_THAT(questions_of(program({.before = "EmaLoss moving; AdaptOptions turning;",
                                    .step = "moving(x); turning.next();"})),
              ElementsAre(HasSubstr("'moving' (EmaLoss)"), HasSubstr("'turning' (AdaptOptions)")));
  EXPECT_THAT(questions_of(program({.before = "torch::nn::MSELoss loss2; "
                                              "torch::optim::SGDOptions options(0.1);",
                                    .step = "loss2(x, x); options.lr();"})),
              IsEmpty());
}

TEST(References, FilesThatTheLoopWritesAreAskedAbout) {
  const auto asked = [](const std::string& before, const std::string& each,
                        const std::string& top = "") {
    return questions_of(plain(top, before, each));
  };
  const auto file = ElementsAre(HasSubstr("should its path be flor::output(path)?"));
  const std::string open = "FILE* f = std::fopen(\"a\", \"a\");",
                    print = "std::fprintf(f, \"%f\", w);",
                    stream = "std::ofstream f(\"a\", std::ios::app); f << w;";
  EXPECT_THAT(asked("", open + print + "std::fclose(f);"), file);
  EXPECT_THAT(asked(open, print), file);
  EXPECT_THAT(asked("", stream), file);
  EXPECT_THAT(asked("", "show(w);", "void show(double w) { " + stream + " }"), file);
  EXPECT_THAT(asked("", "std::ifstream f(\"a\"); double a; f >> a; std::printf(\"%f\", a);"),
              IsEmpty());
  EXPECT_THAT(asked("FILE* f = std::fopen(\"a\", \"w\"); std::fclose(f);",
                    "std::fprintf(stderr, \"%f\", w);"),
              IsEmpty());
  EXPECT_THAT(questions_of(program({.last = "torch::save(net, \"best.pt\");",
                                    .after = "torch::load(net, \"best.pt\");"})),
              ElementsAre(HasSubstr("should its path be flor::output(path)?"),
                          HasSubstr("this loads what an epoch saved")));
  EXPECT_THAT(questions_of(program({.before = "torch::load(net, \"first.pt\");",
                                    .after = "torch::save(net, \"last.pt\");"})),
              IsEmpty());
}

}  // namespace
}  // namespace flor::instrument::testing
