#include "instrument/open_questions.h"

#include "sources/syntax/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

namespace flor::instrument {
namespace {

using sources::one_of;

constexpr std::array<std::string_view, 9> kSeeds = {
    "seed",    "manual_seed", "srand",    "mt19937", "mt19937_64", "default_random_engine",
    "shuffle", "minstd_rand", "Generator"};
constexpr std::array<std::string_view, 10> kDraws = {
    "rand",    "randn",   "randint",   "randperm",   "uniform_",
    "normal_", "random_", "bernoulli", "bernoulli_", "multinomial"};
constexpr int kDeepMax = 5;  // a data set made of a data set made of ...

class Doubts {
 public:
  Doubts(const Program& program, const StateTypes& types, const Carried& carried,
         const Training& training)
      : program_(program), types_(types), carried_(carried), training_(training) {}

  std::vector<Doubt> run() {
    seeds();
    loaders();
    for (const int id : carried_.hidden(training_.main)) {
      const Variable& v = program_.variable(id);
      ask(
          fmt::format("the loop changes '{}', which is {}; is it state, and should it be a local "
                      "that flor::checkpoints gets?",
                      v.name,
                      v.body >= 0                         ? "kept by a function"
                      : program_.model().is_field(v.name) ? "a static member"
                                                          : "a global variable"));
    }
    for (const int id : carried_.unknown(training_.main)) {
      const Variable& v = program_.variable(id);
      ask(
          fmt::format("the loop changes '{}', {} that these sources do not show; is it state, and "
                      "which object should flor::checkpoints get?",
                      v.name, v.body < 0 ? "a variable" : "a reference to something"));
    }
    for (const int id : carried_.unsaved_members(training_.main)) {
      ask(fmt::format(
          "the loop changes '{}', a member that no checkpoint of its module has; should "
          "it be a buffer (register_buffer)?",
          program_.variable(id).name));
    }
    exits();
    calls();
    lambdas();
    files();
    return std::move(out_);
  }

 private:
  void ask(std::string text) {
    const Step& main = program_.step(training_.main);
    ask(program_.source_of(training_.main.body), main.whole.begin, std::move(text));
  }
  void ask(const Source& source, std::size_t token, std::string text) {
    const bool known = std::ranges::any_of(
        out_, [&](const Doubt& one) { return one.source == &source && one.text == text; });
    if (!known) out_.push_back({&source, token, std::move(text)});
  }

  /// The statement around `at`, in the function that contains it; nothing if it is in none.
  std::optional<Range> statement_around(const Source& source, std::size_t at) const {
    for (std::size_t b = 0; b < program_.model().bodies().size(); ++b) {
      const Body& body = program_.body(static_cast<int>(b));
      if (&body.reader->source() != &source || !body.piece->range.holds(at)) continue;
      std::optional<Range> found;
      for (const Step& step : body.steps) {
        if (step.range.holds(at) && (!found || is_within(*found, step.range))) found = step.range;
      }
      return found;
    }
    return std::nullopt;
  }

  bool has_any(const Source& source, Range range, const auto& words) const {
    for (std::size_t k = range.begin; k < range.end; ++k) {
      if (one_of(source.tokens.all[k].text, words)) return true;
    }
    return false;
  }

  /// Seeds that are others at each start: what is drawn with them before the main loop is too.
  void seeds() {
    for (const auto& file : program_.files()) {
      const auto& tokens = file->tokens.all;
      for (std::size_t k = 1; k + 2 < tokens.size(); ++k) {
        if (tokens[k].directive) continue;
        const bool device = tokens[k].is("random_device");
        const bool time = (tokens[k].is("time") || tokens[k].is("now")) && tokens[k + 1].is("(") &&
                          !tokens[k - 1].is(".");
        if (!device && !time) continue;
        const auto statement = statement_around(*file, k);
        if (!statement || (time && !has_any(*file, *statement, kSeeds))) continue;
        ask(*file, statement->begin,
            "each start draws another seed here; should flor::pinned(\"seed\", ...) keep it?");
      }
    }
  }

  /// Lambdas that the loop may call and that keep state in what they captured by value.
  void lambdas() {
    const Loop main = training_.main;
    const Range whole = program_.step(main).whole;
    const std::set<int> running = carried_.running(main);
    for (const auto& file : program_.files()) {
      for (const sources::Inner& inner : file->structure.inner) {
        if (!program_.model().lambda_at(*file, inner.range.begin) || !keeps_state(*file, inner))
          continue;
        const int body = body_around(*file, inner.range.begin);
        if (body >= 0 && running.contains(body)) continue;  // made anew in each epoch
        if (body == main.body && !may_run(inner, whole)) continue;
        const auto statement = statement_around(*file, inner.range.begin);
        ask(*file, statement ? statement->begin : inner.range.begin,
            "this lambda changes what it captured, which no checkpoint has; is it state, and "
            "should it be a local that flor::checkpoints gets?");
      }
    }
  }

  int body_around(const Source& source, std::size_t at) const {
    for (std::size_t b = 0; b < program_.model().bodies().size(); ++b) {
      const Body& body = program_.body(static_cast<int>(b));
      if (&body.reader->source() == &source && body.piece->range.holds(at))
        return static_cast<int>(b);
    }
    return -1;
  }

  /// Whether it is a mutable lambda that captures something by value.
  static bool keeps_state(const Source& source, const sources::Inner& inner) {
    const auto& tokens = source.tokens.all;
    const auto& partner = source.structure.brackets.partner;
    const std::size_t close = partner[inner.range.begin], open = partner[inner.range.end - 1];
    if (close >= inner.range.end || open >= inner.range.end) return false;
    bool changes = false, by_value = false;
    for (std::size_t k = close; k < open; ++k) changes = changes || tokens[k].is("mutable");
    for (std::size_t k = inner.range.begin + 1; k < close; ++k) {
      const bool first = tokens[k - 1].is("[") || tokens[k - 1].is(",");
      by_value = by_value || (first && !tokens[k].is("&") && !tokens[k].is("this"));
    }
    return changes && by_value;
  }

  /// Whether a lambda of the loop's function is one that the loop calls, or that something else
  /// may.
  bool may_run(const sources::Inner& inner, Range whole) const {
    const Body& body = program_.body(training_.main.body);
    if (is_within(whole, inner.range)) return false;
    if (inner.name.empty()) return true;
    for (std::size_t k = body.block.begin; k < body.block.end; ++k) {
      if (!body.reader->is(k, inner.name) || body.reader->is(k + 1, "=")) continue;
      if (whole.holds(k) || !body.reader->is(k + 1, "(")) return true;
    }
    return false;
  }

  /// Files that the loop writes: a replay writes them again.
  void files() {
    const Loop main = training_.main;
    const Range whole = program_.step(main).whole;
    const std::set<int> running = carried_.running(main);
    std::vector<std::pair<int, Range>> places = {{main.body, whole}};
    for (const int id : running) places.emplace_back(id, program_.body(id).block);
    bool writes = false;
    for (const auto& [id, range] : places) {
      const Reader& reader = *program_.body(id).reader;
      for (std::size_t k = range.begin; k < range.end; ++k) {
        writes = writes || writes_to_file(reader, k);
        if (opens_for_writing(reader, k) || saves(reader, k)) ask_about_file(id, k);
      }
    }
    for (std::size_t b = 0; b < program_.model().bodies().size() && writes; ++b) {
      const auto id = static_cast<int>(b);
      const Body& body = program_.body(id);
      if (running.contains(id)) continue;
      for (std::size_t k = body.block.begin; k < body.block.end; ++k) {
        const bool inside = id == main.body && whole.holds(k);
        const bool kept = body.reader->is(k, "fopen") || body.reader->is(k, "freopen");
        if (!inside && kept && opens_for_writing(*body.reader, k)) ask_about_file(id, k);
      }
    }
    loaded_files(places);
  }

  void ask_about_file(int body, std::size_t at) {
    const auto statement = statement_around(program_.source_of(body), at);
    ask(program_.source_of(body), statement ? statement->begin : at,
        "a replay would write this file again; should its path be flor::output(path)?");
  }

  /// Whether a stream or file is opened there, but for one that is only read.
  bool opens_for_writing(const Reader& reader, std::size_t k) const {
    if (is_member(reader, k)) return false;
    if (reader.is(k, "ofstream") || reader.is(k, "fstream")) {
      const std::size_t open = reader.is_name(k + 1) ? k + 2 : k + 1;
      return reader.is(open, "(") || reader.is(open, "{");
    }
    if (!(reader.is(k, "fopen") || reader.is(k, "freopen")) || !reader.is(k + 1, "(")) return false;
    const auto parts = reader.split({k + 2, reader.behind(k + 1) - 1});
    if (parts.size() < 2) return false;
    const std::string_view mode = reader.text(parts[1].begin);
    return !reader.is_literal(parts[1].begin) || mode.find_first_of("wa+x") != mode.npos;
  }

  static bool writes_to_file(const Reader& reader, std::size_t k) {
    static constexpr std::array<std::string_view, 6> kWriters = {"fprintf", "vfprintf", "fputs",
                                                                 "fputc",   "fwrite",   "putc"};
    if (!one_of(reader.text(k), kWriters) || !reader.is(k + 1, "(")) return false;
    for (std::size_t i = k + 2; i < reader.behind(k + 1); ++i) {
      if (reader.is(i, "stderr") || reader.is(i, "stdout")) return false;
    }
    return true;
  }

  /// Whether libtorch writes a file there: torch::save(net, path), archive.save_to(path).
  static bool saves(const Reader& reader, std::size_t k) {
    const bool torch = k > 1 && reader.is(k - 1, "::") && reader.is(k - 2, "torch");
    const bool member = is_member(reader, k);
    return reader.is(k + 1, "(") &&
           ((torch && reader.is(k, "save")) || (member && reader.is(k, "save_to")));
  }

  static std::string path_of(const Reader& reader, std::size_t k) {
    const auto parts = reader.split({k + 2, reader.behind(k + 1) - 1});
    std::string path;
    if (parts.empty()) return path;
    for (std::size_t i = parts.back().begin; i < parts.back().end; ++i) path += reader.text(i);
    return path;
  }

  /// A file that the loop saves, and that is loaded in it or after it, carries state.
  void loaded_files(const std::vector<std::pair<int, Range>>& places) {
    std::set<std::string> saved;
    for (const auto& [id, range] : places) {
      const Reader& reader = *program_.body(id).reader;
      for (std::size_t k = range.begin; k < range.end; ++k) {
        if (saves(reader, k)) saved.insert(path_of(reader, k));
      }
    }
    if (saved.empty()) return;
    const auto is_text = [](const std::string& path) { return path.starts_with('"'); };
    for (std::size_t b = 0; b < program_.model().bodies().size(); ++b) {
      const auto id = static_cast<int>(b);
      const Body& body = program_.body(id);
      const Reader& reader = *body.reader;
      const bool here = id == training_.main.body;
      const std::size_t first = here ? program_.step(training_.main).whole.begin : body.block.begin;
      for (std::size_t k = std::max<std::size_t>(first, 2); k < body.block.end; ++k) {
        const bool loads = (reader.is(k, "load") && reader.is(k - 1, "::") &&
                            (reader.is(k - 2, "torch") || reader.is(k - 2, "jit"))) ||
                           (reader.is(k, "load_from") && !reader.is_name(k - 1));
        if (!loads || !reader.is(k + 1, "(")) continue;
        const std::string path = path_of(reader, k);
        const bool same = std::ranges::any_of(saved, [&](const std::string& one) {
          return one == path || !is_text(one) || !is_text(path);
        });
        if (!same) continue;
        const auto statement = statement_around(reader.source(), k);
        ask(reader.source(), statement ? statement->begin : k,
            "this loads what an epoch saved, which a replay of other epochs does not save; should "
            "it be an object that flor::checkpoints gets?");
      }
    }
  }

  void exits() {
    const Body& body = program_.body(training_.main.body);
    const Range whole = program_.step(training_.main).whole;
    for (const int s : program_.steps_in(training_.main.body, whole)) {
      const Step& step = program_.step({training_.main.body, s});
      if (step.function != body.block) continue;
      const std::string_view word = body.reader->text(step.range.begin);
      if (word != "return" && word != "goto" && word != "co_return") continue;
      ask(
          fmt::format("line {} leaves the loop by {}: may a replay of earlier epochs go on after "
                      "the loop?",
                      body.reader->source().line(step.range.begin), word));
      return;
    }
  }

  /// Calls of what keeps its state where no checkpoint reaches.
  void calls() {
    std::set<int> seen;
    std::vector<std::pair<int, Range>> open = {
        {training_.main.body, program_.step(training_.main).whole}};
    while (!open.empty()) {
      const auto [id, range] = open.back();
      open.pop_back();
      const Reader& reader = *program_.body(id).reader;
      for (std::size_t k = range.begin; k < range.end; ++k) {
        const bool qualified = k > 1 && reader.is(k - 1, "::");
        const bool member = is_member(reader, k);
        const bool standard = !member && (!qualified || reader.is(k - 2, "std"));
        if (!standard ||
            !(reader.is(k + 1, "(") || reader.is(k + 1, "{") || reader.is_name(k + 1))) {
          continue;
        }
        const std::string_view word = reader.text(k);
        if ((word == "rand" || word == "random_shuffle" || word == "drand48") &&
            reader.is(k + 1, "(") && program_.model().functions(word).empty()) {
          ask(
              fmt::format("{} calls {}, whose position no checkpoint has; could an engine such as "
                          "std::mt19937 take its place?",
                          program_.place(id, k), word));
        }
        if (qualified && (word == "thread" || word == "jthread" || word == "async")) {
          ask(fmt::format("{} starts a thread; does it change the training?",
                          program_.place(id, k)));
        }
      }
      for (const int callee : program_.called_in(id, range)) {
        if (seen.insert(callee).second) open.emplace_back(callee, program_.body(callee).block);
      }
    }
  }

  /// The words of what a variable is made of, with those of the variables in it.
  void origin_of(int id, int depth, std::set<std::string_view>& words) const {
    const Variable& v = program_.variable(id);
    if (v.body < 0 || v.at == 0 || depth > kDeepMax) return;
    const Body& body = program_.body(v.body);
    const auto statement = statement_around(body.reader->source(), v.at);
    if (!statement) return;
    for (std::size_t k = statement->begin; k < statement->end; ++k) {
      if (!body.reader->is_name(k)) continue;
      if (!words.insert(body.reader->text(k)).second) continue;
      const int other = program_.model().resolve(v.body, body.reader->text(k), k);
      if (other >= 0 && other != id) origin_of(other, depth + 1, words);
    }
  }

  void loaders() {
    for (const Variable& v : program_.model().variables()) {
      const auto id = static_cast<int>(&v - program_.model().variables().data());
      if (v.body < 0 || v.at == 0 || v.parameter >= 0) continue;
      if (types_.of(id).kind != StateKind::loader) continue;
      std::set<std::string_view> words;
      origin_of(id, 0, words);
      const Source& source = program_.source_of(v.body);
      const auto statement = statement_around(source, v.at);
      if (!statement) continue;
      const bool is_loader = std::ranges::any_of(words, [](std::string_view word) {
        return word == "make_data_loader" || word.ends_with("DataLoader");
      });
      if (!is_loader) continue;  // data that a loader is made of
      loader(source, statement->begin, v.name, words);
    }
  }

  void loader(const Source& source, std::size_t at, std::string_view name,
              const std::set<std::string_view>& words) {
    for (const std::string_view word : words) {
      const bool known =
          word == "RandomSampler" || word == "SequentialSampler" || word == "Sampler";
      if (word.ends_with("Sampler") && !known) {
        ask(source, at,
            fmt::format("does {} go on from where the last epoch ended? then '{}' needs a "
                        "sampler of <flor/data/samplers.h>?",
                        word, name));
      }
      if (word == "ChunkDataset" || word == "StatefulDataset") {
        ask(source, at,
            fmt::format("'{}' keeps its place between epochs; can each epoch begin anew?", name));
      }
    }
    if (words.contains("enforce_ordering")) {
      ask(source, at,
          fmt::format("do the batches of '{}' come in one order (enforce_ordering)?", name));
    }
    for (const std::string_view own : words) {
      if (!program_.model().is_class(own) || types_.is_module(own)) continue;
      bool moves = false, draws = false;
      for (std::size_t b = 0; b < program_.model().bodies().size(); ++b) {
        const Body& body = program_.body(static_cast<int>(b));
        if (body.piece->kind != sources::PieceKind::function || body.piece->owner != own ||
            body.is_constructor()) {
          continue;
        }
        draws = draws || has_any(body.reader->source(), body.block, kDraws);
        const auto& fields = program_.model().fields_of(own);
        for (std::size_t s = 0; s < body.steps.size(); ++s) {
          const auto& effects = program_.effects().of(static_cast<int>(b), static_cast<int>(s));
          for (const auto& [id, extent] : effects.writes) {
            const Variable& v = program_.variable(id);
            if (v.body >= 0 || std::ranges::find(fields, v.name) == fields.end()) continue;
            const bool assigned = effects.assigned.holds(id, extent);
            moves = moves || assigned || types_.of(id).kind == StateKind::engine;
          }
        }
      }
      if (moves) {
        ask(source, at,
            fmt::format("{} changes itself when samples are read; is that state, and "
                        "which object should flor::checkpoints get?",
                        own));
      }
      if (draws && words.contains("workers")) {
        ask(source, at,
            fmt::format("{} draws random numbers in several workers, in no fixed order; "
                        "can one worker do?",
                        own));
      }
    }
  }

  const Program& program_;
  const StateTypes& types_;
  const Carried& carried_;
  const Training& training_;
  std::vector<Doubt> out_;
};

}  // namespace

std::vector<Doubt> find_doubts(const Program& program, const StateTypes& types,
                               const Carried& carried, const Training& training) {
  return Doubts(program, types, carried, training).run();
}

}  // namespace flor::instrument
