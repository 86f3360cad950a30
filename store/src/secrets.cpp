#include <flor/store/secrets.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <mutex>
#include <set>

namespace flor::store {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_letter(char c) { return is_upper(c) || (c >= 'a' && c <= 'z'); }
bool is_gap(char c) { return c == ' ' || c == '\t'; }
char small_letter(char c) { return is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c; }

template <std::size_t N>
bool stands_in(std::string_view word, const std::array<std::string_view, N>& words) {
  return std::ranges::find(words, word) != words.end();
}

// ---------------------------------------------------------------------------------------------
// Names.

/// The parts of a name, in small letters: "AWS_SECRET-key" has three, "apiKey" two.
std::vector<std::string> parts_of(std::string_view name) {
  if (name.starts_with("-D") && name.size() > 2) name.remove_prefix(2);  // as compilers have it
  std::vector<std::string> parts(1);
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    if (!is_letter(c) && !is_digit(c)) {
      if (!parts.back().empty()) parts.emplace_back();
      continue;
    }
    const bool after_small = i > 0 && !is_upper(name[i - 1]) && is_letter(name[i - 1]);
    const bool before_small = i > 0 && is_upper(name[i - 1]) && i + 1 < name.size() &&
                              is_letter(name[i + 1]) && !is_upper(name[i + 1]);
    if (is_upper(c) && (after_small || before_small) && !parts.back().empty()) {
      parts.emplace_back();
    }
    parts.back() += small_letter(c);
  }
  if (parts.back().empty()) parts.pop_back();
  return parts;
}

std::string joined_parts(std::string_view name) {
  return fmt::format("{}", fmt::join(parts_of(name), "_"));
}

struct ExtraNames {
  std::mutex mutex;
  std::set<std::string> names;
};
ExtraNames& extra_names() {
  static ExtraNames names;
  return names;
}

/// Their values are secrets, whatever they are.
constexpr std::array<std::string_view, 9> kAlways = {
    "password", "passwd", "passphrase", "passcode", "secret", "secrets", "authorization",
    "cookie",   "apikey"};
constexpr std::array<std::string_view, 12> kAlwaysEnding = {
    "password",  "passwd",     "passphrase", "apikey",   "authkey",   "accesskey",
    "secretkey", "privatekey", "authtoken",  "apitoken", "accesstoken", "clientsecret"};
/// A "pass" and a "pwd" of these are words to be let in by; others are passes over data.
constexpr std::array<std::string_view, 22> kAccounts = {
    "db",    "database", "user", "smtp",  "imap",  "redis", "mysql", "postgres", "pg",
    "mongo", "ftp",      "ssh",  "root",  "admin", "login", "proxy", "http",     "https",
    "basic", "sudo",     "vault", "rabbitmq"};
/// A "key" of these opens something; others sort, or are looked up.
constexpr std::array<std::string_view, 46> kLocks = {
    "api",     "access",  "private", "secret",   "auth",    "encryption", "signing",   "account",
    "storage", "master",  "service", "ssh",      "deploy",  "wandb",      "openai",    "anthropic",
    "aws",     "shared",  "license", "webhook",  "client",  "rsa",        "gpg",       "pgp",
    "hmac",    "jwt",     "hf",      "azure",    "gcp",     "google",     "neptune",   "comet",
    "mlflow",  "clearml", "kaggle",  "sendgrid", "stripe",  "gemini",     "groq",      "mistral",
    "cohere",  "host",    "tls",     "ssl",      "subscription",          "app"};
/// Tokens of texts, which models are trained on.
constexpr std::array<std::string_view, 62> kTextTokens = {
    "eos",     "bos",     "pad",      "unk",      "mask",     "sep",         "cls",
    "special", "stop",    "start",    "end",      "begin",    "image",       "audio",
    "video",   "max",     "min",      "num",      "n",        "per",         "first",
    "last",    "next",    "new",      "prev",     "previous", "each",        "every",
    "class",   "register", "prompt",  "text",     "word",     "sub",         "null",
    "blank",   "sot",     "eot",      "sos",      "fim",      "think",       "extra",
    "oov",     "placeholder", "newline", "space", "separator", "padding",    "unknown",
    "masked",  "trigger", "target",   "source",   "input",    "output",      "control",
    "instance", "initializer", "modifier", "concept", "by",   "visual"};
/// Options that begin so say how a secret is come by.
constexpr std::array<std::string_view, 13> kNoValue = {"no",   "use",  "with",    "without", "ask",
                                                       "has",  "show", "require", "enable",  "skip",
                                                       "prompt", "disable", "read"};

bool reads_as_number(std::string_view text) {
  const bool digits = std::ranges::all_of(text, [](char c) {
    return is_digit(c) || c == '.' || c == '-' || c == '+' || c == 'e' || c == 'E';
  });
  return digits && text.size() < 9;
}

/// Values where a word like "token" names something else than a secret.
bool is_ordinary(std::string_view value) {
  std::string text(value);
  std::ranges::transform(text, text.begin(), small_letter);
  constexpr std::array<std::string_view, 10> kWords = {"true", "false", "yes",  "no",   "none",
                                                       "null", "auto",  "basic", "bearer", "off"};
  if (reads_as_number(text) || stands_in(text, kWords)) return true;
  const char first = text.front(), last = text.back();
  if ((first == '<' && last == '>') || (first == '[' && last == ']')) return true;
  constexpr std::array<std::string_view, 4> kPlaces = {"/", "./", "../", "~/"};
  constexpr std::array<std::string_view, 10> kFiles = {".json", ".txt", ".pem", ".key",  ".yaml",
                                                       ".yml",  ".ini", ".cfg", ".toml", ".env"};
  return std::ranges::any_of(kPlaces, [&](auto place) { return text.starts_with(place); }) ||
         std::ranges::any_of(kFiles, [&](auto ending) { return text.ends_with(ending); });
}

/// Judges the last part of a name by the one before it.
enum class NameSays { nothing, mostly, always };
NameSays what_says(const std::vector<std::string>& parts) {
  const std::string& last = parts.back();
  const std::string before = parts.size() > 1 ? parts[parts.size() - 2] : std::string();
  if (stands_in(last, kAlways)) return NameSays::always;
  if (std::ranges::any_of(kAlwaysEnding, [&](auto word) { return last.ends_with(word); })) {
    return NameSays::always;
  }
  if (last == "pass" || last == "pwd" || last == "pw") {
    return stands_in(before, kAccounts) ? NameSays::always : NameSays::nothing;
  }
  if (last == "key") {
    if (std::ranges::find(parts, "secret") != parts.end()) return NameSays::always;
    return stands_in(before, kLocks) ? NameSays::mostly : NameSays::nothing;
  }
  if (last == "token") return stands_in(before, kTextTokens) ? NameSays::nothing : NameSays::mostly;
  constexpr std::array<std::string_view, 8> kOthers = {
      "credential", "credentials", "creds", "bearer", "jwt", "auth", "oauth", "signature"};
  if (last == "signature" && before != "amz") return NameSays::nothing;
  if (stands_in(last, kOthers)) return NameSays::mostly;
  const bool many = last == "tokens" || last == "keys";
  constexpr std::array<std::string_view, 4> kOfAccess = {"api", "access", "auth", "secret"};
  return many && stands_in(before, kOfAccess) ? NameSays::mostly : NameSays::nothing;
}

// ---------------------------------------------------------------------------------------------
// Texts.

struct FoundPart {
  std::size_t begin = 0, end = 0;
};

bool is_name_byte(char c) {
  return is_letter(c) || is_digit(c) || c == '_' || c == '-' || c == '.';
}

/// Finds what is to be masked in one text. Parts come in their order and do not overlap.
class SecretFinder {
 public:
  /// `whole`: the text is one word of a command line, so that a value at its end has no other end.
  SecretFinder(std::string_view text, bool whole) : text_(text), whole_(whole) {}

  std::vector<FoundPart> run() {
    names();
    addresses();
    for (std::size_t at = 0; at < text_.size();) {
      const auto found = find_secret(text_.substr(at));
      if (!found) break;
      parts_.push_back({at + found->at, at + found->at + found->size});
      at += found->at + found->size;
    }
    std::ranges::sort(parts_, {}, &FoundPart::begin);
    std::vector<FoundPart> merged;
    for (const FoundPart& part : parts_) {
      if (!merged.empty() && part.begin < merged.back().end) {
        merged.back().end = std::max(merged.back().end, part.end);
      } else {
        merged.push_back(part);
      }
    }
    return merged;
  }

 private:
  bool is(std::size_t at, char c) const { return at < text_.size() && text_[at] == c; }
  std::size_t after_blanks(std::size_t at) const {
    while (at < text_.size() && is_gap(text_[at])) ++at;
    return at;
  }

  void names() {
    // Where values of the form NAME=VALUE reach to the end of the word.
    bool first = whole_;
    for (std::size_t at = 0; at < text_.size();) {
      if (!is_name_byte(text_[at])) {
        ++at;
        first = false;
        continue;
      }
      std::size_t end = at;
      while (end < text_.size() && is_name_byte(text_[end])) ++end;
      const auto part = value_after(text_.substr(at, end - at), end, first);
      first = first && is(end, '=');
      at = first ? end + 1 : end;
      if (!part) continue;
      parts_.push_back(*part);
      at = std::max(at, part->end);
    }
  }

  /// The value of a secret that the name, which ends before `at`, has.
  std::optional<FoundPart> value_after(std::string_view name, std::size_t at,
                                       bool to_the_end) const {
    const bool option = name.starts_with('-');
    const std::size_t closed = is(at, '\\') ? at + 1 : at;
    const bool quoted = is(closed, '"') || is(closed, '\'');
    std::size_t begin = after_blanks(quoted ? closed + 1 : at);
    const bool header = is(begin, ':');
    if (is(begin, '=') || header) {
      const bool equals = !header;
      begin = after_blanks(begin + 1);
      if (is(begin, '>')) begin = after_blanks(begin + 1);
      const bool spaced = begin > at + 1;
      return part_at(name, begin, header, to_the_end && equals && !quoted && !spaced);
    }
    if (!option || begin == at || is(begin, '-')) return std::nullopt;
    return part_at(name, begin, false, false);
  }

  std::optional<FoundPart> part_at(std::string_view name, std::size_t begin, bool header,
                              bool to_the_end) const {
    std::size_t end = text_.size();
    if (!to_the_end) {
      std::string_view closing = header && is_header(name) ? "\r\n\"'" : " \t\r\n,;&\"'}])";
      const bool escaped = is(begin, '\\') && begin + 1 < text_.size();
      const std::size_t quote = escaped ? begin + 1 : begin;
      if (is(quote, '"') || is(quote, '\'')) {
        closing = text_.substr(quote, 1);
        begin = quote + 1;
      }
      end = std::min(text_.find_first_of(closing, begin), text_.size());
      if (escaped && end < text_.size() && is(end - 1, '\\')) --end;
    }
    if (begin >= end || text_.substr(begin, 2) == "//") return std::nullopt;
    if (!is_secret(name, text_.substr(begin, end - begin))) return std::nullopt;
    return FoundPart{begin, end};
  }

  static bool is_header(std::string_view name) {
    const std::string joined_name = joined_parts(name);
    return joined_name.ends_with("authorization") || joined_name.ends_with("cookie");
  }

  /// "scheme://user:password@host", and "Bearer x" without a name before it.
  void addresses() {
    for (std::size_t at = text_.find("://"); at != text_.npos; at = text_.find("://", at + 3)) {
      const std::size_t begin = at + 3;
      const std::size_t space = std::min(text_.find_first_of(" \t\r\n\"'<>", begin), text_.size());
      const std::string_view rest = text_.substr(begin, space - begin);
      std::size_t host = rest.substr(0, rest.find_first_of("/?#")).rfind('@');
      const std::size_t colon = rest.find(':');
      if (host == rest.npos && colon != rest.npos) {  // a password may have a slash
        const std::size_t next = rest.find_first_not_of("0123456789", colon + 1);
        const bool port = next == rest.npos || (next > colon + 1 && rest[next] == '/') ||
                          rest.find('/') < colon;
        if (!port) host = rest.rfind('@');
      }
      if (host == rest.npos || host == 0) continue;
      constexpr std::size_t kToken = 16;  // a user of this length is none
      if (colon < host) {
        if (colon + 1 < host) parts_.push_back({begin + colon + 1, begin + host});
      } else if (host >= kToken) {
        parts_.push_back({begin, begin + host});
      }
    }
    for (const std::string_view scheme : {"Bearer ", "bearer ", "Basic "}) {
      for (std::size_t at = text_.find(scheme); at != text_.npos; at = text_.find(scheme, at + 1)) {
        const std::size_t begin = after_blanks(at + scheme.size());
        const std::size_t end =
            std::min(text_.find_first_of(" \t\r\n\"',;", begin), text_.size());
        const std::string_view token = text_.substr(begin, end - begin);
        const bool is_word = std::ranges::all_of(token, is_letter) && token.size() < 20;
        if (token.size() >= 8 && !is_word) parts_.push_back({begin, end});
      }
    }
  }

  std::string_view text_;
  bool whole_;
  std::vector<FoundPart> parts_;
};

std::string with_masks(std::string_view text, const std::vector<FoundPart>& parts) {
  std::string out;
  std::size_t at = 0;
  for (const FoundPart& part : parts) {
    out += text.substr(at, part.begin - at);
    out += kMasked;
    at = part.end;
  }
  return out += text.substr(at);
}

/// Until nothing more is found: a mask may end what looked like one name with what follows it.
std::string with_all_masks(std::string_view text, bool whole) {
  constexpr int kRounds = 8;
  std::string out(text);
  for (int i = 0; i < kRounds; ++i) {
    const std::vector<FoundPart> parts = SecretFinder(out, whole).run();
    if (parts.empty()) break;
    std::string next = with_masks(out, parts);
    if (next == out) break;
    out = std::move(next);
  }
  return out;
}

std::string masked_word(std::string_view word) { return with_all_masks(word, true); }

/// "--password" and "-password", whose value is the next word.
bool takes_value(std::string_view word) {
  if (!word.starts_with('-') || word.find('=') != word.npos || word == "--") return false;
  const std::vector<std::string> parts = parts_of(word);
  return !parts.empty() && !stands_in(parts.front(), kNoValue);
}

bool begins_option(std::string_view word) {
  return word.size() > 1 && word[0] == '-' && (word[1] == '-' || is_letter(word[1]));
}

/// The name that a word gives to what stands after its '='; empty if it gives none.
std::string_view name_in(std::string_view word) {
  const std::size_t equals = word.find('=');
  if (equals == word.npos || equals == 0) return {};
  const std::string_view name = word.substr(0, equals);
  return std::ranges::all_of(name, is_name_byte) ? name : std::string_view();
}

}  // namespace

void add_secret_names(std::string_view names) {
  ExtraNames& extra = extra_names();
  const std::lock_guard lock(extra.mutex);
  while (!names.empty()) {
    const std::size_t end = std::min(names.find(','), names.size());
    if (std::string name = joined_parts(names.substr(0, end)); !name.empty()) {
      extra.names.insert(std::move(name));
    }
    names.remove_prefix(std::min(end + 1, names.size()));
  }
}

bool is_secret(std::string_view name, std::string_view value) {
  if (value.empty()) return false;
  const std::vector<std::string> parts = parts_of(name);
  if (parts.empty()) return false;
  ExtraNames& extra = extra_names();
  {
    const std::lock_guard lock(extra.mutex);
    if (!extra.names.empty() && extra.names.contains(fmt::format("{}", fmt::join(parts, "_")))) {
      return true;
    }
  }
  const NameSays known = what_says(parts);
  return known == NameSays::always || (known == NameSays::mostly && !is_ordinary(value));
}

std::string masked(std::string_view text) { return with_all_masks(text, false); }

std::string masked_value(std::string_view name, std::string_view value) {
  return is_secret(name, value) ? std::string(kMasked) : masked_word(value);
}

bool is_masked(std::string_view value) { return value.find(kMasked) != value.npos; }

std::string secret_variable(std::string_view name) {
  std::string variable = "FLOR_SECRET_" + joined_parts(name);
  std::ranges::transform(variable, variable.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return variable;
}

RecordedCommand::RecordedCommand(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    const bool follows = !words_.empty() && takes_value(words_.back()) && !begins_option(word);
    words_.push_back(follows ? masked_value(words_.back(), word) : masked_word(word));
  }
}

RecordedCommand::RecordedCommand(std::initializer_list<std::string> words)
    : RecordedCommand(std::vector<std::string>(words)) {}

std::string RecordedCommand::text() const { return fmt::format("{}", fmt::join(words_, " ")); }

std::vector<MaskedWord> RecordedCommand::masked_words() const {
  std::vector<MaskedWord> found;
  for (std::size_t at = 1; at < words_.size(); ++at) {
    const std::string& word = words_[at];
    if (!is_masked(word)) continue;
    std::string_view name;
    std::size_t begins = 0;
    for (std::string_view next = name_in(word); !next.empty();
         next = name_in(std::string_view(word).substr(begins))) {
      name = next;
      begins += name.size() + 1;
    }
    if (!name.empty()) {
      found.push_back({at, begins, std::string(name)});
    } else {
      const bool named = takes_value(words_[at - 1]) && at > 1;
      found.push_back({at, 0, named ? words_[at - 1] : std::to_string(at)});
    }
  }
  return found;
}

}  // namespace flor::store
