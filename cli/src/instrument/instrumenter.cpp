#include "instrument/instrumenter.h"

#include "instrument/fixed.h"
#include "instrument/loop_form.h"
#include "instrument/open_questions.h"
#include "instrument/printed_values.h"
#include "instrument/text_edits.h"
#include "instrument/training.h"
#include "sources/forgotten.h"

#include <flor/store/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>

namespace flor::instrument {
namespace {

/// A variable that the new text was found to need, by the name of its loop.
using Needed = std::set<std::pair<std::string, std::string>>;

class Instrumenter {
 public:
  Instrumenter(const Request& request, const Needed& needed)
      : request_(request),
        needed_(needed),
        program_(request.texts),
        types_(program_),
        carried_(program_, types_) {}

  Instrumented run() {
    if (!program_.effects().complete()) {
      throw Error("the sources are too many to be analysed: name the file with the training alone");
    }
    require_main();
    const auto trainings = find_trainings(program_, types_, carried_, request_.line);
    if (trainings.empty()) {
      throw NotFound(
          fmt::format("{} has no loop that trains: give its line with --line LINE, or the "
                      "file that has it as another FILE",
                      program_.files().front()->path));
    }
    for (const Training& training : trainings) main_loop(training);
    if (request_.log) log_printed(trainings);
    session();
    includes();
    return finish();
  }

 private:
  // Files and names -------------------------------------------------------------------------------

  bool is_own(const Source& source) const {
    for (std::size_t i = 0; i < std::min(request_.own, program_.files().size()); ++i) {
      if (program_.files()[i].get() == &source) return true;
    }
    return false;
  }

  TextEdits& edits_of(const Source& source) {
    auto& edits = edits_[&source];
    if (!edits) edits = std::make_unique<TextEdits>(source);
    return *edits;
  }

  /// The first of these names that the function does not use.
  static std::string unused(const Body& body, std::initializer_list<const char*> names) {
    const auto is_used = [&](std::string_view name) {
      for (std::size_t k = body.piece->range.begin; k < body.piece->range.end; ++k) {
        const bool member = is_member(*body.reader, k);
        if (!member && body.reader->is(k, name)) return true;
      }
      return false;
    };
    for (const char* name : names) {
      if (!is_used(name)) return name;
    }
    const std::string first = *names.begin();
    for (int number = 2;; ++number) {
      if (!is_used(first + std::to_string(number))) return first + std::to_string(number);
    }
  }

  void ask(const Source& source, std::size_t token, const std::string& text) {
    if (!is_own(source)) {
      result_.remarks.push_back(fmt::format("{}:{}: {}", source.path, source.line(token), text));
      return;
    }
    edits_of(source).line_above(token, kQuestionMark + text);
  }

  void require_main() const {
    if (program_.entry() < 0) {
      const std::string& path = program_.files().front()->path;
      int count = 0;
      for (const Body& body : program_.model().bodies()) count += body.piece->entry ? 1 : 0;
      throw NotFound(
          count == 0
              ? fmt::format("{} has no main: name the file that has it, then the others", path)
              : fmt::format("{} mains were found: name the files of one program", count));
    }
    require_own(program_.source_of(program_.entry()), "main");
  }
  void require_own(const Source& source, std::string_view what) const {
    if (is_own(source)) return;
    throw UsageError(fmt::format("{} is in {}: flor instrument {} {}", what, source.path,
                                 program_.files().front()->path, source.path));
  }

  // Loops -----------------------------------------------------------------------------------------

  /// Whether statements can be put before the loop.
  bool has_block(Loop loop) const {
    const Reader& reader = *program_.body(loop.body).reader;
    const std::size_t at = program_.step(loop).whole.begin;
    return at > 0 && (reader.is(at - 1, "{") || reader.is(at - 1, "}") || reader.is(at - 1, ";") ||
                      reader.is_directive(at - 1));
  }

  bool is_needed(std::string_view loop, int variable) const {
    return needed_.contains({std::string(loop), std::string(program_.variable(variable).name)});
  }

  std::string main_name(const Training& training) const {
    const std::string_view variable = loop_variable(program_, training.main);
    const char* usual = training.nested.empty() ? "step" : "epoch";
    std::string name(variable.size() > 2 ? variable : usual);
    while (name.ends_with('_')) name.pop_back();
    return name.starts_with("epoch") ? "epoch" : name;
  }

  void main_loop(const Training& training) {
    const Source& source = program_.source_of(training.main.body);
    require_own(source, "the main loop");
    const Loop loop = training.main;
    const std::size_t at = program_.step(loop).whole.begin;
    std::string name = main_name(training);
    for (int number = 2; !names_.insert(name).second; ++number) {
      name = main_name(training) + std::to_string(number);
    }
    std::vector<std::string> checkpoints, attached, questions;
    std::set<int> kept;
    open_.clear();
    for (const CarriedVariable& one : main_state(loop, name)) {
      keep(loop, one, checkpoints, attached, questions, kept);
    }
    const Body& body = program_.body(loop.body);
    const std::string fresh = unused(body, {name == "epoch" ? "epoch" : "step", "turn"});
    const LoopForm form =
        loop_form(program_, carried_, types_, edits_of(source), loop, name, attached, fresh);
    if (!has_block(loop)) {
      questions.push_back(
          "this loop stands where no statement can precede it; can it have braces "
          "around it?");
    } else if (!checkpoints.empty()) {
      const std::string state = state_name(loop);
      TextEdits& edits = edits_of(source);
      const std::string indent = edits.indentation(at),
                        first = fmt::format("const auto {} =", state),
                        rest = fmt::format("flor::checkpoints({});", fmt::join(checkpoints, ", "));
      const bool fits = indent.size() + first.size() + 1 + rest.size() <= edits.width();
      edits.line_in_gap(at, indent, first + (fits ? " " : edits.continued(indent)) + rest);
      registers_.insert(&source);
      registered(loop, state);
    }
    result_.registered.insert(result_.registered.end(), checkpoints.begin(), checkpoints.end());
    for (const Doubt& doubt : find_doubts(program_, types_, carried_, training)) {
      ask(*doubt.source, doubt.token, doubt.text);
    }
    for (const std::string& question : questions) ask(source, at, question);
    if (!form.obstacle.empty()) {
      ask(source, at,
          fmt::format("flor::loop cannot drive this loop, since {}; which range would be the same?",
                      form.obstacle));
      return;
    }
    wrap(loop, name, form, attached);
    for (const Loop nested : training.nested) nested_loop(training, nested, kept);
  }

  std::vector<CarriedVariable> main_state(Loop loop, std::string_view name) const {
    std::vector<CarriedVariable> state = carried_.of_main(loop);
    for (CarriedVariable& one : carried_.changed(loop)) {
      const bool known = std::ranges::any_of(
          state, [&](const CarriedVariable& other) { return other.variable == one.variable; });
      if (!known && is_needed(name, one.variable)) state.push_back(std::move(one));
    }
    return state;
  }

  /// The block around the loop, in which what is written before it lives.
  Range block_of(Loop loop) const {
    const Reader& reader = *program_.body(loop.body).reader;
    const auto around = reader.bracket_around(program_.step(loop).whole.begin);
    return around ? Range{*around, reader.behind(*around)} : program_.body(loop.body).block;
  }

  /// A name for the object that flor::checkpoints gives: other ones may be in scope there, and the
  /// same name would be declared twice in a block.
  std::string state_name(Loop loop) const {
    const Range block = block_of(loop);
    for (int number = 0;; ++number) {
      const Body& body = program_.body(loop.body);
      std::string name = unused(body, {"state", "kept", "flor_state"});
      if (number > 0) {
        const std::string other = name + std::to_string(number + 1);
        name = unused(body, {other.c_str()});
      }
      const bool taken = std::ranges::any_of(registrations_, [&](const Registration& one) {
        return one.body == loop.body && one.name == name &&
               (is_within(one.block, block) || is_within(block, one.block));
      });
      if (!taken) return name;
    }
  }

  /// Whether an object of flor::checkpoints that lives where the loop begins has the variable.
  bool is_registered(Loop loop, int variable) const {
    const std::size_t at = program_.step(loop).whole.begin;
    return std::ranges::any_of(registrations_, [&](const Registration& one) {
      return one.body == loop.body && one.block.holds(at) && one.variables.contains(variable);
    });
  }

  void registered(Loop loop, const std::string& name) {
    registrations_.push_back({loop.body, block_of(loop), name, std::move(open_)});
    open_.clear();
  }

  /// Why the object behind a pointer cannot be registered before the loop; empty if it can.
  std::string moving_object(Loop loop, const CarriedVariable& one) const {
    const Variable& v = program_.variable(one.variable);
    const bool holder = one.type.kind == StateKind::module && types_.is_holder(one.type.own);
    if (!is_pointer(one.type) && !holder && !one.type.objects) return "";
    const Fixed fixed(program_, types_, carried_, loop);
    const bool rebound = fixed.is_rebound(one.variable);
    const bool null = is_pointer(one.type) && fixed.is_maybe_null(one.variable);
    if (!rebound && !null) return "";
    return fmt::format("'{}' ({}) {}; is what it then holds state, and how would it be saved?",
                       v.name, one.type.name,
                       one.type.objects ? "may get other objects in the loop"
                       : rebound        ? "may get another object in the loop"
                                        : "may hold no object where the loop begins");
  }

  void keep(Loop loop, const CarriedVariable& one, std::vector<std::string>& checkpoints,
            std::vector<std::string>& attached, std::vector<std::string>& questions,
            std::set<int>& kept) {
    const Variable& v = program_.variable(one.variable);
    const std::string name(v.name);
    if (v.binding || one.type.kind == StateKind::other) {
      const std::string type = one.type.name.empty() ? "" : fmt::format(" ({})", one.type.name);
      const bool file = one.type.name.ends_with("stream");
      questions.push_back(
          file
              ? fmt::format("a replay would write to '{}'{} again; should it be opened by "
                            "flor::output(path)?",
                            name, type)
              : fmt::format("does '{}'{} carry state from one iteration to the next, and how would "
                            "it be saved?",
                            name, type));
      return;
    }
    if (std::string question = moving_object(loop, one); !question.empty()) {
      questions.push_back(std::move(question));
      return;
    }
    if (types_.is_constant(one.variable) && !is_pointer(one.type)) {
      questions.push_back(
          fmt::format("the loop changes what '{}' leads to, and a constant is not restored; can it "
                      "be declared without const, and be given to flor::checkpoints?",
                      name));
      return;
    }
    kept.insert(one.variable);
    const bool plain =
        one.type.kind == StateKind::number ||
        (one.type.kind == StateKind::container && !one.type.tensors && !one.type.objects);
    if (plain) {
      attached.push_back(name);
    } else if (!is_registered(loop, one.variable)) {
      open_.insert(one.variable);
      const bool script = one.type.kind == StateKind::script;
      script_ = script_ || script;
      checkpoints.push_back(is_pointer(one.type) ? "*" + name : name);
    }
  }

  void wrap(Loop loop, const std::string& name, const LoopForm& form,
            const std::vector<std::string>& attached) {
    const Reader& reader = *program_.body(loop.body).reader;
    write(form, edits_of(reader.source()), reader);
    uses_.insert(&reader.source());
    result_.loops.push_back(
        fmt::format("{} {}", program_.place(loop.body, program_.step(loop).whole.begin), name));
    result_.attached.insert(result_.attached.end(), attached.begin(), attached.end());
  }

  /// Wraps a loop inside the main loop where its end can be restored.
  void nested_loop(const Training& training, Loop loop, const std::set<int>& kept) {
    const Source& source = program_.source_of(loop.body);
    const std::size_t at = program_.step(loop).whole.begin;
    const auto remark = [&](std::string_view why) {
      result_.remarks.push_back(
          fmt::format("{} stays as it is, since {}", program_.place(loop.body, at), why));
    };
    if (!is_own(source)) return remark(source.path + " was not named");
    const std::string base = nested_name(training, loop);
    std::string name = base;
    for (int number = 2; !names_.insert(name).second; ++number)
      name = base + std::to_string(number);
    const bool here = loop.body == training.main.body;
    const Range region = here ? program_.step(training.main).whole : program_.body(loop.body).block;
    std::vector<std::string> attached;
    for (const CarriedVariable& one : carried_.changed(loop)) {
      const Variable& v = program_.variable(one.variable);
      if (kept.contains(one.variable) || (!here && is_given(loop.body, v, kept))) continue;
      const bool reference = !here && v.parameter >= 0 && (v.type.reference || v.type.pointer);
      if (!reference && !is_needed(name, one.variable) &&
          !carried_.is_read_after(loop, one.variable, region)) {
        continue;
      }
      const bool can =
          !v.binding && !types_.is_constant(one.variable) && moving_object(loop, one).empty() &&
          (one.type.kind == StateKind::number || one.type.kind == StateKind::container ||
           one.type.kind == StateKind::tensor || one.type.kind == StateKind::engine);
      if (!can)
        return remark(fmt::format("its end leaves '{}' in a state that is not kept", v.name));
      attached.emplace_back(v.name);
    }
    const std::string fresh = unused(program_.body(loop.body), {"step", "turn"});
    const LoopForm form =
        loop_form(program_, carried_, types_, edits_of(source), loop, name, attached, fresh);
    if (!form.obstacle.empty()) return remark(form.obstacle);
    wrap(loop, name, form, attached);
  }

  /// Whether callers pass kept objects for the parameter, or objects without state.
  bool is_given(int body, const Variable& v, const std::set<int>& kept) const {
    if (v.parameter < 0) return false;
    const auto& callers = program_.callers(body);
    return !callers.empty() && std::ranges::all_of(callers, [&](const Program::Caller& caller) {
      const auto index = static_cast<std::size_t>(v.parameter);
      if (index >= caller.call->arguments.size()) return false;
      for (const auto& [given, extent] : caller.call->arguments[index]) {
        const StateKind kind = types_.of(given).kind;
        const bool plain = kind == StateKind::constant || kind == StateKind::loader;
        if (extent == sources::Extent::whole && !plain && !kept.contains(given)) return false;
      }
      return true;
    });
  }

  std::string nested_name(const Training& training, Loop loop) const {
    if (loop.body == training.main.body) return "train";
    const auto& names = program_.body(loop.body).piece->names;
    return names.empty() ? "train" : std::string(names.back());
  }

  // Values, main, includes ------------------------------------------------------------------------

  void log_printed(const std::vector<Training>& trainings) {
    for (const PrintedValue& value : find_printed(program_, types_, trainings)) {
      const Source& source = program_.source_of(value.body);
      if (!is_own(source) || !edits_of(source).is_literal(value.range)) continue;
      edits_of(source).insert_around(value.range, fmt::format("flor::log(\"{}\", ", value.name),
                                     ")", value.dividable);
      uses_.insert(&source);
      result_.logged.push_back(value.name);
    }
  }

  void session() {
    const Body& main = program_.body(program_.entry());
    const Source& source = main.reader->source();
    const Reader& reader = *main.reader;
    TextEdits& edits = edits_of(source);
    const std::string call = arguments_of_main(main, edits);
    const std::size_t first = main.block.begin + 1;
    const bool own_line = source.line(first) != source.line(main.block.begin);
    const std::string indent = own_line && !reader.is(first, "}")
                                   ? edits.indentation(first)
                                   : edits.indentation(main.block.begin) + edits.indentation_unit();
    edits.line_in_gap(first, indent,
                      fmt::format("const auto {} = flor::init({});",
                                  unused(main, {"session", "flor_session"}), call));
    uses_.insert(&source);
  }

  /// The arguments of flor::init in this main, whose parameters are completed if it has none.
  static std::string arguments_of_main(const Body& main, TextEdits& edits) {
    const Reader& reader = *main.reader;
    std::size_t open = main.head.begin;
    while (open < main.head.end && !(reader.is(open, "(") && reader.is(open - 1, "main"))) ++open;
    if (open >= main.head.end) return "";
    const std::size_t close = reader.behind(open) - 1;
    const bool none = close == open + 1 || (close == open + 2 && reader.is(open + 1, "void"));
    if (none) {
      if (unused(main, {"argc"}) != "argc" || unused(main, {"argv"}) != "argv") return "";
      edits.replace({open, close + 1}, "(int argc, char** argv)");
      return "argc, argv";
    }
    const auto parts = reader.split({open + 1, close});
    if (parts.size() < 2) return "";
    const auto name = [&](Range part) -> std::string {
      std::size_t k = part.end - 1;
      if (reader.is(k, "]")) k = reader.opening(k) - 1;
      return reader.is_name(k) && k > part.begin ? std::string(reader.text(k)) : "";
    };
    const std::string count = name(parts[0]), values = name(parts[1]);
    const bool plain = parts[0].end - parts[0].begin == 2 && reader.is(parts[0].begin, "int");
    if (!plain || count.empty() || values.empty()) return "";
    for (std::size_t k = parts[1].begin; k < parts[1].end; ++k) {
      if (reader.is(k, "const") && k > parts[1].begin) return "";  // char* const argv[]
    }
    return count + ", " + values;
  }

  void includes() {
    for (const auto& file : program_.files()) {
      if (!uses_.contains(file.get()) && !registers_.contains(file.get())) continue;
      std::vector<std::string> lines = {"#include <flor/flor.h>"};
      if (program_.uses_torch()) lines.emplace_back("#include <flor/torch.h>");
      if (script_ && registers_.contains(file.get()))
        lines.emplace_back("#include <flor/torch_script.h>");
      include(*file, lines);
    }
  }

  static std::vector<std::size_t> includes_of(const Source& source) {
    const auto& tokens = source.tokens.all;
    std::vector<std::size_t> found;
    for (std::size_t k = 0; k + 2 < tokens.size(); ++k) {
      if (!tokens[k].starts_directive || sources::directive_name(tokens, k) != "include") continue;
      const auto& conditionals = source.structure.brackets.conditionals;
      const bool always = std::ranges::none_of(conditionals, [&](const sources::Conditional& one) {
        return one.branches.front() <= k && k < one.end;
      });
      if (always) found.push_back(k);
    }
    return found;
  }

  void include(const Source& source, const std::vector<std::string>& lines) {
    const auto& tokens = source.tokens.all;
    const auto found = includes_of(source);
    TextEdits& edits = edits_of(source);
    std::size_t at = 0;
    const auto angle = std::ranges::find_if(
        found, [&](std::size_t k) { return tokens[k + 2].text.starts_with('<'); });
    if (angle != found.end()) {
      at = *angle;
    } else if (!found.empty()) {
      at = sources::directive_end(tokens, found.back());
      for (const std::string& line : lines) edits.line_in_gap(at, "", line);
      return;
    }
    for (const std::string& line : lines) edits.line_above(at, line);
  }

  Instrumented finish() {
    for (const auto& file : program_.files()) {
      const auto edits = edits_.find(file.get());
      if (edits == edits_.end() || edits->second->empty()) continue;
      ChangedFile changed{file->path, file->text, edits->second->applied()};
      std::uint32_t line = 1;
      for (std::size_t at = 0; at < changed.after.size(); ++line) {
        const std::size_t end = std::min(changed.after.find('\n', at), changed.after.size());
        std::string_view text(changed.after.data() + at, end - at);
        if (text.ends_with('\r')) text.remove_suffix(1);
        const std::size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
        text.remove_prefix(begin);
        if (text.starts_with(kQuestionMark) && text.ends_with('?')) {
          text.remove_prefix(std::string_view(kQuestionMark).size());
          result_.questions.push_back({file->path, line, std::string(text)});
        }
        at = end + 1;
      }
      result_.files.push_back(std::move(changed));
    }
    return std::move(result_);
  }

  const Request& request_;
  const Needed& needed_;
  Program program_;
  StateTypes types_;
  Carried carried_;
  std::map<const Source*, std::unique_ptr<TextEdits>> edits_;
  std::set<const Source*> uses_, registers_;
  std::set<std::string> names_;

  /// An object of flor::checkpoints, which ends with its block.
  struct Registration {
    int body;
    Range block;
    std::string name;
    std::set<int> variables;
  };
  std::vector<Registration> registrations_;
  std::set<int> open_;  ///< what the next of them gets

  bool script_ = false;
  Instrumented result_;
};

/// The variables that the new sources still forget, found by the analysis that every recording
/// makes.
Needed forgotten(const Request& request, const Instrumented& result) {
  std::vector<sources::SourceText> texts = request.texts;
  for (sources::SourceText& text : texts) {
    for (const ChangedFile& file : result.files) {
      if (file.path == text.path) text.text = file.after;
    }
  }
  Needed needed;
  for (const sources::Forgotten& one : sources::find_forgotten(texts)) {
    needed.insert({one.loop, one.variable});
  }
  return needed;
}

}  // namespace

std::uint32_t line_with_flor(const std::string& text) {
  const sources::Tokens tokens = sources::lex(text);
  for (std::size_t i = 0; i + 1 < tokens.all.size(); ++i) {
    const sources::Token& token = tokens.all[i];
    const bool header =
        token.directive && (token.text.starts_with("<flor/") || token.text.starts_with("\"flor/"));
    if (header || (token.is("flor") && tokens.all[i + 1].is("::"))) return token.line;
  }
  return 0;
}

Instrumented instrument(Request request) {
  for (std::size_t i = 0; i < std::min(request.own, request.texts.size()); ++i) {
    if (const std::uint32_t line = line_with_flor(request.texts[i].text)) {
      Instrumented nothing;
      nothing.already = fmt::format("{}:{}", request.texts[i].path, line);
      return nothing;
    }
  }
  Needed needed;
  Instrumented result = Instrumenter(request, needed).run();
  if (Needed more = forgotten(request, result); !more.empty()) {
    needed = std::move(more);
    result = Instrumenter(request, needed).run();
  }
  return result;
}

}  // namespace flor::instrument
