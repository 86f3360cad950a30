#include "sources/syntax/model.h"

#include "sources/syntax/step_finder.h"

#include <algorithm>
#include <cctype>

namespace flor::sources {
namespace {

const std::vector<int> kNoFunctions;
const std::vector<std::string_view> kNoFields;

bool is_word(std::string_view word) {
  const auto first = static_cast<unsigned char>(word.front());
  return std::isalpha(first) || first == '_' || first >= 0x80;
}

bool is_type_declaration(const Reader& reader, Range range) {
  for (std::size_t k = range.begin; k < range.end; ++k) {
    if (reader.is(k, "class") || reader.is(k, "struct") || reader.is(k, "union") ||
        reader.is(k, "enum") || reader.is(k, "using") || reader.is(k, "typedef") ||
        reader.is(k, "namespace") || reader.is(k, "template")) {
      return true;
    }
    if (reader.is(k, "=") || reader.is(k, "(") || reader.is(k, "{")) return false;
  }
  return false;
}

bool has_word(const Reader& reader, Range tokens, std::string_view word) {
  for (std::size_t k = tokens.begin; k < tokens.end; ++k) {
    if (reader.is(k, word)) return true;
  }
  return false;
}

/// Whether a variable of a namespace has C linkage, by extern "C" int n; or inside the braces of
/// extern "C".
bool has_c_linkage(const Reader& reader, Range type, std::size_t at) {
  if (has_word(reader, type, "static")) return false;
  for (std::size_t k = type.begin; k < type.end; ++k) {
    if (reader.is(k, "extern") && reader.text(k + 1) == "\"C\"") return true;
  }
  for (auto open = reader.bracket_around(at); open; open = reader.bracket_around(*open)) {
    if (*open >= 2 && reader.is(*open - 2, "extern") && reader.text(*open - 1) == "\"C\"") {
      return true;
    }
  }
  return false;
}

}  // namespace

bool Body::is_constructor() const {
  return !piece->owner.empty() && !piece->names.empty() && piece->names.back() == piece->owner;
}

bool Body::is_destructor() const {
  return reader->is(head.begin, "~") || reader->is(head.begin + 1, "~");
}

/// Whether this is a constructor that copies another object of its class.
bool Body::copies() const {
  if (!is_constructor() || parameters.size() > 1) return false;
  for (std::size_t k = head.begin; k + 1 < head.end; ++k) {
    if (reader->is(k, piece->owner) && !reader->is(k + 1, "(")) return true;
  }
  return false;
}

bool is_implicit(const Body& body) {
  if (body.copies()) return true;
  return std::ranges::any_of(body.piece->names, [](std::string_view name) {
    return name == "operator" || name == "begin" || name == "end" || name == "allocate" ||
           name == "deallocate";
  });
}

Model::Model(const std::vector<const Source*>& sources) {
  for (const Source* source : sources) {
    for (const ClassFacts& facts : source->structure.classes) classes_.insert(facts.name);
    const auto& tokens = source->tokens.all;
    for (std::size_t i = 0; i + 2 < tokens.size(); ++i) {
      mentions_inplace_ = mentions_inplace_ || tokens[i].is("inplace");
      if (tokens[i].is("namespace")) {
        std::size_t k = i + 1;
        while (k + 2 < tokens.size() && tokens[k + 1].is("::"))
          namespaces_.insert(tokens[k].text), k += 2;
        if (k + 1 < tokens.size() && tokens[k + 1].is("{")) namespaces_.insert(tokens[k].text);
      }
      uses_other_namespace_ =
          uses_other_namespace_ || (tokens[i].is("using") && tokens[i + 1].is("namespace") &&
                                    !is_library_namespace(tokens[i + 2].text));
      if (tokens[i].is("using") && tokens[i + 1].is("namespace")) {
        uses_torch_namespace_ = uses_torch_namespace_ || is_torch_namespace(tokens[i + 2].text);
      } else if (tokens[i].is("using") && is_torch_namespace(tokens[i + 1].text)) {
        std::size_t k = i + 1;
        while (k + 2 < tokens.size() && tokens[k + 1].is("::")) k += 2;
        torch_names_.insert(tokens[k].text);
      }
      if (tokens[i].text.starts_with("TORCH_MODULE") && tokens[i + 1].is("(")) {
        classes_.insert(tokens[i + 2].text);
      }
    }
  }
  outside_ = add_variable({.name = {}, .type = {}, .persistent = true});
  for (const Source* source : sources) find_aliases(*source);
  for (const Source* source : sources) add_source(*source);
  for (Body& body : bodies_) find_steps(body);
  find_foreign_bases(sources);
  find_foreign_names(sources);
  for (const Source* source : sources) find_unions(*source);
}

bool Model::is_loss(const Reader& reader, std::size_t k) const {
  if (!is_loss_name(reader.text(k))) return false;
  if (k >= 2 && reader.is(k - 1, "::")) return is_torch_namespace(reader.text(k - 2));
  return is_torch_name(reader.text(k));
}

void Model::find_unions(const Source& source) {
  const auto& tokens = source.tokens.all;
  for (std::size_t i = 0; i + 2 < tokens.size(); ++i) {
    const std::size_t open = tokens[i + 1].is("{") ? i + 1 : i + 2;
    if (!tokens[i].is("union") || !tokens[open].is("{")) continue;
    const std::size_t close = source.structure.brackets.partner[open];
    if (close == Brackets::kNone || close < open) continue;
    std::vector<std::string_view> members;
    for (std::size_t k = open + 1; k < close; ++k) {
      if (is_field(tokens[k].text)) members.push_back(tokens[k].text);
    }
    for (const std::string_view name : members) {
      unions_[name].insert(unions_[name].end(), members.begin(), members.end());
    }
  }
}

const std::vector<std::string_view>& Model::in_union_with(std::string_view name) const {
  const auto found = unions_.find(name);
  return found == unions_.end() ? kNoFields : found->second;
}

void Model::find_foreign_names(const std::vector<const Source*>& sources) {
  for (const Source* source : sources) {
    const auto& tokens = source->tokens.all;
    for (std::size_t i = 0; i + 4 < tokens.size(); ++i) {
      if (!tokens[i].is("using") || !tokens[i + 2].is("::")) continue;
      std::size_t k = i + 3;
      while (k + 2 < tokens.size() && tokens[k + 1].is("::")) k += 2;
      if (!is_library_namespace(tokens[i + 1].text) && !is_scope(tokens[k - 2].text)) {
        foreign_names_.insert(tokens[k].text);
      }
    }
  }
}

void Model::find_foreign_bases(const std::vector<const Source*>& sources) {
  for (bool more = true; more;) {
    more = false;
    for (const Source* source : sources) {
      for (const ClassFacts& facts : source->structure.classes) {
        if (has_foreign_base(facts.name)) continue;
        int depth = 0;
        bool foreign = false, library = false;
        for (std::size_t k = facts.bases.begin; k < facts.bases.end; ++k) {
          const Token& token = source->tokens.all[k];
          depth += token.is("<") ? 1 : token.is(">") ? -1 : token.is(">>") ? -2 : 0;
          if (token.is(",") && depth <= 0) library = false;
          if (depth > 0 || token.kind != TokenKind::identifier || token.is("public") ||
              token.is("private") || token.is("protected") || token.is("virtual")) {
            continue;
          }
          if (source->tokens.all[k + 1].is("::")) {
            library = library || is_library_namespace(token.text);
            continue;
          }
          foreign = foreign || has_foreign_base(token.text) || (!library && !is_class(token.text));
        }
        if (!foreign) continue;
        foreign_bases_.insert(facts.name);
        more = true;
      }
    }
  }
}

/// Finds aliases such as using Data = std::vector<Batch>; and typedef int& Reference;
void Model::find_aliases(const Source& source) {
  const Reader& reader = *readers_.emplace_back(std::make_unique<Reader>(source));
  for (std::size_t k = 0; k + 3 < reader.size(); ++k) {
    const bool renames = reader.is(k, "typedef");
    const bool defines = reader.is(k, "using") && reader.is_name(k + 1) && reader.is(k + 2, "=");
    if (!renames && !defines) continue;
    std::size_t end = k + 1;
    while (end < reader.size() && !reader.is(end, ";") && !(renames && reader.is(end, "{"))) ++end;
    if (defines) {
      aliases_[reader.text(k + 1)] = type_of(reader, {k + 3, end});
    } else if (reader.is(end, ";") && reader.is_name(end - 1)) {
      aliases_[reader.text(end - 1)] = type_of(reader, {k + 1, end - 1});
    }
  }
}

void Model::add_source(const Source& source) {
  const auto found = std::ranges::find_if(
      readers_, [&](const auto& other) { return &other->source() == &source; });
  const Reader& reader = **found;
  for (const Inner& inner : source.structure.inner) {
    if (source.tokens.all[inner.range.begin].starts_directive) {
      macros_[inner.name] = {&source, &inner};
    } else if (reader.is(inner.range.begin, "[")) {
      lambdas_[{&source, inner.range.begin}] = &inner;
    }
  }
  for (const Piece& piece : source.structure.pieces) {
    if (piece.kind == PieceKind::function) {
      add_body(reader, piece);
    } else if (piece.kind == PieceKind::declaration) {
      add_declaration(reader, piece);
    }
  }
  find_kept_by_owner(reader);
}

void Model::add_body(const Reader& reader, const Piece& piece) {
  const auto id = static_cast<int>(bodies_.size());
  Body& body = bodies_.emplace_back();
  body.reader = &reader;
  body.piece = &piece;
  std::size_t open = reader.opening(piece.range.end - 1);
  if (open <= piece.range.begin) open = piece.range.end - 1;
  body.head = {piece.range.begin, open};
  body.block = {open, piece.range.end};
  if (!piece.owner.empty()) {
    body.self = add_variable({.name = "this", .body = id, .type = {}});
  }
  body.result = add_variable({.name = "return", .body = id, .type = {}, .is_result = true});
  for (const std::string_view name : piece.names) functions_[name].push_back(id);
  std::size_t name = body.head.begin;
  while (name < body.head.end && !reader.is(name + 1, "(")) ++name;
  std::size_t first = name;
  while (first >= body.head.begin + 2 && reader.is(first - 1, "::")) first -= 2;
  body.result_type = type_of(reader, {body.head.begin, std::min(first, body.head.end)});
  find_locals(id, piece.range);
  if (piece.entry) {
    for (const int parameter : body.parameters) variable(parameter).type.kind = Kind::setting;
  }
}

/// Adds members, variables of namespaces, and prototypes.
void Model::add_declaration(const Reader& reader, const Piece& piece) {
  if (piece.range.empty() || is_type_declaration(reader, piece.range)) return;
  bool declares = false;
  for (std::size_t k = piece.range.begin; k < piece.range.end; ++k) {
    const auto found = reader.declared(k, piece.range.begin);
    if (!found || std::ranges::find(piece.names, reader.text(k)) == piece.names.end()) continue;
    // This may be a prototype, or a variable initialized in parentheses.
    if (reader.is(k + 1, "(") && !reader.is_literal(k + 2)) {
      prototypes_[reader.text(k)] = type_of(reader, found->type);
      continue;
    }
    const Type type = type_of(reader, found->type);
    const int id = shared(reader.text(k));
    const bool first = variable(id).at == 0;
    Variable& other = variable(id);
    other.array = other.array || reader.is(k + 1, "[");
    // An `extern` variable may belong to another library.
    const bool elsewhere = has_word(reader, found->type, "extern");
    if (piece.owner.empty()) {
      other.external = other.external || elsewhere;
      other.c_linkage = other.c_linkage || has_c_linkage(reader, found->type, k);
    }
    if (elsewhere && first) {
      declares = true;
    } else if (first) {
      other.type = type;
      other.at = k + 1;
    } else if (other.type.kind != type.kind || other.type.own != type.own) {
      other.type = {};
    } else {
      other.type.constant = other.type.constant && type.constant;
    }
    if (piece.owner.empty() || has_word(reader, found->type, "static"))
      not_only_fields_.insert(reader.text(k));
    if (!piece.owner.empty()) {
      fields_.insert(reader.text(k));
      auto& fields = class_fields_[piece.owner];
      if (std::ranges::find(fields, reader.text(k)) == fields.end()) {
        fields.push_back(reader.text(k));
      }
    }
    declares = true;
  }
  for (std::size_t k = piece.range.begin; k < piece.range.end; ++k) {
    declares =
        // A definition such as T Class::member = ..
        declares || (reader.is(k, "=") && !reader.bracket_around(k));
  }
  if (!declares) return;
  Body& body = bodies_.emplace_back();
  body.reader = &reader;
  body.piece = &piece;
  body.head = {piece.range.begin, piece.range.begin};
  body.block = piece.range;
  body.result = add_variable({.name = "return",
                              .body = static_cast<int>(bodies_.size()) - 1,
                              .type = {},
                              .is_result = true});
}

void Model::find_kept_by_owner(const Reader& reader) {
  for (std::size_t k = 0; k + 1 < reader.size(); ++k) {
    const std::string_view word = reader.text(k);
    if (!reader.is(k + 1, "(") ||
        (word != "register_module" && word != "register_parameter" && word != "register_buffer")) {
      continue;
    }
    for (std::size_t i = k + 2; i < reader.behind(k + 1); ++i) {
      if (reader.is(i, ",") && reader.is_name(i + 1) &&
          (reader.is(i + 2, ")") || reader.is(i + 2, ","))) {
        kept_by_owner_.insert(reader.text(i + 1));
      }
    }
    std::size_t before = k;
    while (before > 0 && (reader.is(before - 1, "->") || reader.is(before - 1, "this"))) --before;
    if (before >= 2 && reader.is_name(before - 2) &&
        (reader.is(before - 1, "(") || reader.is(before - 1, "{") || reader.is(before - 1, "="))) {
      kept_by_owner_.insert(reader.text(before - 2));
    }
  }
  for (const Piece& piece : reader.source().structure.pieces) {
    if (piece.kind != PieceKind::function || piece.owner.empty() ||
        std::ranges::find(piece.names, "save") == piece.names.end()) {
      continue;
    }
    for (std::size_t k = piece.range.begin; k < piece.range.end; ++k) {
      if (reader.is_name(k)) kept_by_owner_.insert(reader.text(k));
    }
  }
}

int Model::add_variable(Variable variable) {
  variables_.push_back(variable);
  return static_cast<int>(variables_.size()) - 1;
}

int Model::shared(std::string_view name) {
  const auto [found, inserted] = shared_.try_emplace(name, 0);
  if (inserted) {
    found->second = add_variable({.name = name, .type = {}, .persistent = true});
  }
  return found->second;
}

/// The range in which a variable declared at `at` is known; empty if none can be declared there.
Range Model::scope_of(const Body& body, std::size_t at) const {
  const Reader& reader = *body.reader;
  auto around = reader.bracket_around(at);
  // The brackets of auto [a, b].
  if (around && reader.is(*around, "[")) around = reader.bracket_around(*around);
  if (!around || *around < body.piece->range.begin) return {};
  if (reader.is(*around, "{")) return {at, reader.behind(*around)};
  if (!reader.is(*around, "(") || *around == 0) return {};
  const std::size_t before = *around - 1;
  if (reader.is(before, "for") || reader.is(before, "if") || reader.is(before, "while") ||
      reader.is(before, "switch") || reader.is(before, "catch") || reader.is(before, "constexpr")) {
    const bool ends = reader.is(at + 1, "=") || reader.is(at + 1, "{") || reader.is(at + 1, ":") ||
                      reader.is(at + 1, "]") || reader.is(at + 1, ",") || reader.is(at + 1, "(");
    if (!ends && !reader.is(before, "catch")) return {};
    const std::size_t keyword = reader.is(before, "constexpr") ? before - 1 : before;
    if (reader.is(keyword, "catch")) return {at, reader.behind(reader.behind(*around))};
    return {at,
            statement_end(reader.source().tokens.all, reader.source().structure.brackets, keyword)};
  }
  if (reader.is(before, "]")) {
    const Inner* lambda = lambda_at(reader.source(), reader.opening(before));
    return lambda ? Range{at, lambda->range.end} : Range{};
  }
  return *around < body.head.end ? Range{at, body.piece->range.end} : Range{};
}

void Model::find_locals(int id, Range range) {
  Body& body = bodies_[static_cast<std::size_t>(id)];
  const Reader& reader = *body.reader;
  bool parameters_over = false;
  std::optional<std::size_t> list;
  for (std::size_t k = range.begin + 1; k < range.end; ++k) {
    const auto found = reader.declared(k, range.begin);
    if (!found) continue;
    const bool in_head = body.head.holds(k);
    auto around = reader.bracket_around(k);
    const bool wrapped = around && found->type.holds(*around);  // as in double (&rows)[4]
    const std::size_t declarator = wrapped ? *around : k;
    if (wrapped) around = reader.bracket_around(*around);
    if (in_head && (!around || !body.head.holds(*around) || !reader.is(*around, "("))) continue;
    if (in_head && !list) list = around;
    parameters_over = parameters_over || (in_head && list != around);
    if (in_head && parameters_over) continue;
    const Range scope = scope_of(body, declarator);
    if (scope.empty()) continue;
    Variable variable{.name = reader.text(k),
                      .body = id,
                      .scope = scope,
                      .at = k,
                      .type = type_of(reader, found->type)};
    variable.array = reader.is(k + (wrapped ? 2 : 1), "[");
    variable.binding = found->binding;
    if (found->binding) variable.type.kind = Kind::unknown;
    // A local `extern` declaration names a variable shared by all functions.
    if (!in_head && has_word(reader, found->type, "extern")) {
      Variable& other = this->variable(shared(variable.name));
      other.external = true;
      other.array = other.array || variable.array;
      continue;
    }
    variable.persistent =
        has_word(reader, found->type, "static") || has_word(reader, found->type, "thread_local");
    if (in_head) {
      variable.parameter = static_cast<int>(reader.split({*around + 1, k}).size()) - 1;
    }
    const int number = add_variable(variable);
    if (in_head) {
      body.parameters.resize(static_cast<std::size_t>(variable.parameter) + 1, -1);
      body.parameters[static_cast<std::size_t>(variable.parameter)] = number;
    }
    body.locals[variable.name].push_back(number);
  }
  for (std::size_t i = 0; i < body.parameters.size(); ++i) {
    if (body.parameters[i] < 0) {
      body.parameters[i] =
          add_variable({.name = "", .body = id, .type = {}, .parameter = static_cast<int>(i)});
    }
  }
}

Type Model::type_of(const Reader& reader, Range tokens) const {
  Type type;
  bool pointer = false, known = false, refers = false, stars = false, foreign = false,
       names = false, tensors = false, others = false;
  int depth = 0;
  std::string_view first;  ///< the word before the outermost template arguments
  struct List {
    /// Whether it is std::array, and whether the position is after its comma: what stands there is
    /// a number, even if it is a name.
    bool array, size;
  };
  std::vector<List> lists;
  for (std::size_t k = tokens.begin; k < tokens.end; ++k) {
    const std::string_view word = reader.text(k);
    if (word == "<" && depth == 0 && k > tokens.begin) first = reader.text(k - 1);
    depth += word == "<" ? 1 : word == ">" ? -1 : 0;
    if (word == "<") lists.push_back({reader.is(k - 1, "array"), false});
    if (word == ">" && !lists.empty()) lists.pop_back();
    // The type is a member of a template's class, as std::vector<bool>::reference.
    if (word == ">" && depth == 0 && reader.is(k + 1, "::")) {
      type.kind = Kind::unknown;
      type.own = {};
      type.restarts = false;
      known = true;
    }
    if (word == "," && !lists.empty()) lists.back().size = lists.back().array;
    if (!lists.empty() && lists.back().size) continue;
    stars = stars || word == "*" || word == "&";
    // Assignments to such a type change what it refers to.
    type.reference = type.reference || word == "decltype" ||
                     (depth > 0 && word == "&" && (first == "tuple" || first == "pair"));
    pointer = pointer || word == "*" || (depth > 0 && word == "&") || word == "shared_ptr" ||
              word == "reference_wrapper" || word == "function";
    if (depth > 0) {
      const bool torch = is_torch_namespace(word) || reader.is(k - 1, "::");
      if (torch && word == "Tensor") {
        tensors = true;
      } else if (is_word(word) && !torch && word != "std" && word != "const" &&
                 !is_number_type(word) && !is_setting_type(word) && !is_loss(reader, k)) {
        others = true;
      }
      // The container may hold pointers to such elements.
      if (is_torch_namespace(word) || classes_.contains(word)) pointer = true;
      if (classes_.contains(word) && (type.element.empty() || type.element == word)) {
        type.element = word;
      } else if (is_word(word) && word != "std" && word != "const" && !is_number_type(word) &&
                 !is_setting_type(word) && !is_loss(reader, k) && !is_container_type(word)) {
        refers = true;
      }
      continue;
    }
    if (word == "const" || word == "constexpr") type.constant = true;
    if (word == "&" || word == "&&") type.reference = true;
    if (word == "auto") type.deduced = true;
    if (is_torch_namespace(word) && reader.is(k + 1, "::")) type.torch = true;
    if (word == "std" && reader.is(k + 1, "::")) type.standard = true;
    foreign = foreign || (reader.is(k + 1, "::") && depth == 0 && !reader.is(k - 1, "::") &&
                          !is_library_namespace(word) && !classes_.contains(word));
    if (reader.is(k + 1, "::") || known || !is_word(word)) continue;
    type.view = type.view || word == "string_view" || word == "IntArrayRef" || word == "ArrayRef" ||
                word == "span";
    type.file = type.file || word == "ifstream" || word == "ofstream" || word == "fstream" ||
                word == "random_device";
    names = names || (word != "const" && word != "constexpr" && word != "static" &&
                      word != "inline" && word != "auto" && word != "void");
    const auto alias = aliases_.find(word);
    type.restarts = type.restarts || is_container_type(word) ||
                    (alias != aliases_.end() && alias->second.restarts);
    known = true;
    if (is_number_type(word)) {
      type.kind = Kind::number;
    } else if (classes_.contains(word)) {
      type.kind = Kind::own;
      type.own = word;
    } else if (alias != aliases_.end()) {
      type.kind = alias->second.kind;
      type.own = alias->second.own;
      type.reference = type.reference || alias->second.reference;
      type.torch = type.torch || alias->second.torch;
    } else if (foreign) {
      known = false;  // a class of another library, even if its name is known
    } else if (word == "Tensor") {
      type.kind = Kind::tensor;
      type.torch = true;
    } else if (is_setting_type(word) || is_loss(reader, k)) {
      type.kind = Kind::setting;
    } else if (word.ends_with("DataLoader")) {
      type.kind = Kind::loader;
    } else if (is_container_type(word)) {
      // A container without an element type may hold anything.
      if (word == "string" || reader.is(k + 1, "<")) type.kind = Kind::container;
    } else if (type.torch) {
      const bool layer = k >= 2 && reader.is(k - 1, "::") && reader.is(k - 2, "nn");
      type.kind = layer ? Kind::module : Kind::library;
    } else {
      known = false;
    }
  }
  const bool holds_plainly = type.kind == Kind::container && !refers && !stars;
  type.standard = type.standard && !refers;
  if (type.kind == Kind::container && refers) type.kind = Kind::unknown;
  type.frozen = type.constant && !type.reference && holds_plainly;
  type.named = type.kind == Kind::unknown && !type.deduced && !type.torch && !type.standard &&
               (foreign || names);
  bool text = type.constant;  // const char* is usually a literal
  for (std::size_t k = tokens.begin; k < tokens.end; ++k) {
    text = text && (reader.is(k, "const") || reader.is(k, "constexpr") || reader.is(k, "static") ||
                    reader.is(k, "inline") || reader.is(k, "char") || reader.is(k, "*"));
  }
  if (pointer && text) return {.kind = Kind::setting, .constant = true, .view = true};
  if (pointer) {
    type = {.reference = type.reference,
            .deduced = type.deduced,
            .frozen = type.frozen,
            .restarts = type.restarts,
            .pointer = true,
            .tensors = tensors && !others && !stars && type.restarts,
            .element = type.element};
  }
  return type;
}

int Model::resolve(int body, std::string_view name, std::size_t at) const {
  const Body& function = bodies_[static_cast<std::size_t>(body)];
  if (const auto found = function.locals.find(name); found != function.locals.end()) {
    int best = -1;
    for (const int id : found->second) {
      if (variable(id).scope.holds(at)) best = id;  // the latest declaration is the innermost
    }
    if (best >= 0) return best;
  }
  const auto found = shared_.find(name);
  return found == shared_.end() ? -1 : found->second;
}

int Model::declared_at(int body, std::string_view name, std::size_t at) const {
  const Body& function = bodies_[static_cast<std::size_t>(body)];
  if (const auto found = function.locals.find(name); found != function.locals.end()) {
    for (const int id : found->second) {
      if (variable(id).at == at) return id;
    }
  }
  return -1;
}

const std::vector<int>& Model::functions(std::string_view name) const {
  const auto found = functions_.find(name);
  return found == functions_.end() ? kNoFunctions : found->second;
}

const std::vector<std::string_view>& Model::fields_of(std::string_view own) const {
  const auto found = class_fields_.find(own);
  return found == class_fields_.end() ? kNoFields : found->second;
}

Type Model::part_of(std::string_view own, std::size_t index, std::size_t count) const {
  const auto& fields = fields_of(own);
  if (fields.size() != count || index >= count) return {};
  const Type& type = variable(shared_.at(fields[index])).type;
  return type.reference ? Type{} : type;
}

bool Model::is_plain_class(std::string_view own) const {
  const auto& fields = fields_of(own);
  return !fields.empty() && std::ranges::all_of(fields, [this](std::string_view field) {
    const Type& type = variable(shared_.at(field)).type;
    return !type.reference && (type.kind == Kind::number || type.kind == Kind::setting ||
                               type.kind == Kind::container);
  });
}

const Type* Model::prototype(std::string_view name) const {
  const auto found = prototypes_.find(name);
  return found == prototypes_.end() ? nullptr : &found->second;
}

const Inner* Model::macro(std::string_view name) const {
  const auto found = macros_.find(name);
  return found == macros_.end() ? nullptr : found->second.second;
}
const Source* Model::source_of_macro(std::string_view name) const {
  const auto found = macros_.find(name);
  return found == macros_.end() ? nullptr : found->second.first;
}

const Inner* Model::lambda_at(const Source& source, std::size_t at) const {
  const auto found = lambdas_.find({&source, at});
  return found == lambdas_.end() ? nullptr : found->second;
}

void Model::find_steps(Body& body) {
  body.steps = StepFinder(*body.reader, *this).find(body.head, body.block);
}

}  // namespace flor::sources
