#include "secrets/secret_values.h"

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

/// Returns the parts of a name in lower case: three for "AWS_SECRET-key", two for "apiKey".
std::vector<std::string> parts_of(std::string_view name) {
  if (name.starts_with("-D") && name.size() > 2) name.remove_prefix(2);  // -DNAME=VALUE
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

/// Names whose values are always secrets.
constexpr std::array<std::string_view, 19> kAlways = {
    "password", "passwd",   "passphrase", "passcode",   "secret",    "secrets", "authorization",
    "cookie",   "cookies",  "apikey",     "apikeys",    "sessionid", "otp",     "mnemonic",
    "passwort", "kennwort", "contrasena", "wachtwoord", "motdepasse"};
/// After these words "pat" means a personal access token; otherwise it means a pattern.
constexpr std::array<std::string_view, 8> kHosts = {"gh",    "github", "gitlab",    "git",
                                                    "azure", "ado",    "bitbucket", "devops"};
constexpr std::array<std::string_view, 15> kAlwaysEnding = {
    "sessionid",  "sessid",    "password", "passwords",   "passwd",
    "passphrase", "apikey",    "authkey",  "accesskey",   "secretkey",
    "privatekey", "authtoken", "apitoken", "accesstoken", "clientsecret"};
/// After these words "pass" and "pwd" mean passwords; otherwise "pass" means a pass over data.
constexpr std::array<std::string_view, 22> kAccounts = {
    "db",   "database", "user",  "smtp", "imap",  "redis",   "mysql", "postgres",
    "pg",   "mongo",    "ftp",   "ssh",  "root",  "admin",   "login", "proxy",
    "http", "https",    "basic", "sudo", "vault", "rabbitmq"};
/// After these words "key" means a secret; other keys are for sorting or lookup.
constexpr std::array<std::string_view, 46> kLocks = {
    "api",      "access",    "private",      "secret",  "auth",    "encryption", "signing",
    "account",  "storage",   "master",       "service", "ssh",     "deploy",     "wandb",
    "openai",   "anthropic", "aws",          "shared",  "license", "webhook",    "client",
    "rsa",      "gpg",       "pgp",          "hmac",    "jwt",     "hf",         "azure",
    "gcp",      "google",    "neptune",      "comet",   "mlflow",  "clearml",    "kaggle",
    "sendgrid", "stripe",    "gemini",       "groq",    "mistral", "cohere",     "host",
    "tls",      "ssl",       "subscription", "app"};
/// After these words "token" means a token of a text, as language models use them.
constexpr std::array<std::string_view, 62> kTextTokens = {
    "eos",      "bos",         "pad",      "unk",     "mask",      "sep",     "cls",
    "special",  "stop",        "start",    "end",     "begin",     "image",   "audio",
    "video",    "max",         "min",      "num",     "n",         "per",     "first",
    "last",     "next",        "new",      "prev",    "previous",  "each",    "every",
    "class",    "register",    "prompt",   "text",    "word",      "sub",     "null",
    "blank",    "sot",         "eot",      "sos",     "fim",       "think",   "extra",
    "oov",      "placeholder", "newline",  "space",   "separator", "padding", "unknown",
    "masked",   "trigger",     "target",   "source",  "input",     "output",  "control",
    "instance", "initializer", "modifier", "concept", "by",        "visual"};
/// Options that begin with these words say how a secret is obtained, and have no secret value.
constexpr std::array<std::string_view, 13> kNoValue = {
    "no",      "use",    "with", "without", "ask",     "has", "show",
    "require", "enable", "skip", "prompt",  "disable", "read"};

bool reads_as_number(std::string_view text) {
  const bool digits = std::ranges::all_of(text, [](char c) {
    return is_digit(c) || c == '.' || c == '-' || c == '+' || c == 'e' || c == 'E';
  });
  return digits && text.size() < 9;
}

/// Longer values are not examined, so that the time depends only on the length of the text.
constexpr std::size_t kLongestLook = 4096;

bool begins_as_path(std::string_view text) {
  if (text.size() > kLongestLook) return false;
  constexpr std::array<std::string_view, 5> kPlaces = {"/", "./", "../", "~/", "$"};
  return text == "." || text == ".." || text == "~" ||
         std::ranges::any_of(kPlaces, [&](auto place) { return text.starts_with(place); });
}

/// True for "[MASK]" and "[unused1]": tokens of texts.
bool is_text_token(std::string_view text) {
  return std::ranges::all_of(text.substr(1, text.size() - 2),
                             [](char c) {
                               return is_letter(c) || is_digit(c) || c == '_' || c == ' ' ||
                                      c == '/' || c == '|' || c == '-';
                             }) &&
         text.size() < 20;
}

/// True for values with which a word such as "token" does not name a secret.
bool is_ordinary(std::string_view value) {
  if (value.size() > kLongestLook) return false;
  std::string text(value);
  std::ranges::transform(text, text.begin(), small_letter);
  constexpr std::array<std::string_view, 10> kWords = {"true", "false", "yes",   "no",     "none",
                                                       "null", "auto",  "basic", "bearer", "off"};
  if (reads_as_number(text) || stands_in(text, kWords)) return true;
  const char first = text.front(), last = text.back();
  if ((first == '<' && last == '>') || (first == '[' && last == ']')) return is_text_token(text);
  constexpr std::array<std::string_view, 10> kFiles = {".json", ".txt", ".pem", ".key",  ".yaml",
                                                       ".yml",  ".ini", ".cfg", ".toml", ".env"};
  return begins_as_path(text) ||
         std::ranges::any_of(kFiles, [&](auto ending) { return text.ends_with(ending); });
}

/// The meaning of the last part of a name, given the part before it.
enum class NameSays {
  nothing,
  mostly,    ///< a secret unless the value is ordinary (`is_ordinary`)
  no_place,  ///< a secret unless the value is a path: "Pwd=x", but not "PWD=/home/ada"
  always,
};
NameSays what_says(const std::vector<std::string>& parts) {
  const std::string& last = parts.back();
  const std::string before = parts.size() > 1 ? parts[parts.size() - 2] : std::string();
  if (stands_in(last, kAlways)) return NameSays::always;
  if (std::ranges::any_of(kAlwaysEnding, [&](auto word) { return last.ends_with(word); })) {
    return NameSays::always;
  }
  if (last == "pass" || last == "pwd" || last == "pw") {
    if (stands_in(before, kAccounts)) return NameSays::always;
    if (!before.empty()) return NameSays::nothing;
    return last == "pass" ? NameSays::mostly : NameSays::no_place;
  }
  if (last == "key") {
    if (std::ranges::find(parts, "secret") != parts.end()) return NameSays::always;
    return stands_in(before, kLocks) ? NameSays::mostly : NameSays::nothing;
  }
  if (last == "pat") return stands_in(before, kHosts) ? NameSays::always : NameSays::nothing;
  if (last == "phrase") {
    return before == "seed" || before == "recovery" ? NameSays::always : NameSays::nothing;
  }
  if (last == "id") return before == "session" ? NameSays::mostly : NameSays::nothing;
  if (last == "token") return stands_in(before, kTextTokens) ? NameSays::nothing : NameSays::mostly;
  constexpr std::array<std::string_view, 8> kOthers = {
      "credential", "credentials", "creds", "bearer", "jwt", "auth", "oauth", "signature"};
  if (last == "signature" && before != "amz" && before != "goog") return NameSays::nothing;
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

/// Distinguishes an option's value from the next option.
bool may_be_value(std::string_view option, std::string_view word) {
  if (word.size() < 2 || word[0] != '-') return true;
  if (word[1] == '-') {
    const std::string_view name = word.substr(2, word.find('=') - 2);
    const bool plain = !name.empty() && is_letter(name[0]) &&
                       std::ranges::all_of(name, [](char c) { return is_name_byte(c); });
    return !plain && word != "--";
  }
  if (is_secret(option, "x1")) {
    const std::vector<std::string> parts = parts_of(option);
    if (!parts.empty() && what_says(parts) == NameSays::always) return true;
  }
  return !std::ranges::all_of(word.substr(1, word.find('=') - 1),
                              [](char c) { return is_letter(c) || c == '-' || c == '_'; });
}

struct UserInfo {
  std::size_t colon = std::string_view::npos, at = std::string_view::npos;
};

/// True for "db.example.org" and "db.example.org:5432/x".
bool begins_with_domain(std::string_view text) {
  const std::string_view host = text.substr(0, text.find_first_of(":/?#"));
  const std::size_t dot = host.rfind('.');
  return dot != host.npos && host.size() > dot + 2 &&
         std::ranges::all_of(host.substr(dot + 1), is_letter);
}

/// Finds the colon and the '@' in "user:password@host/path". A password may contain characters that
/// otherwise end the host. With a web scheme the text is read as "host:port/path@more" if possible.
UserInfo user_info(std::string_view scheme, std::string_view rest) {
  UserInfo found{.colon = rest.find(':'),
                 .at = rest.substr(0, rest.find_first_of("/?#")).rfind('@')};
  if (found.at != rest.npos || found.colon == rest.npos) return found;
  const std::size_t slash = rest.find_first_of("/?#");
  if (slash < found.colon) return found;
  const std::size_t last = rest.rfind('@');
  if (last == rest.npos) return found;
  const std::string_view host = rest.substr(0, found.colon);
  const std::string_view port = rest.substr(found.colon + 1, slash - found.colon - 1);
  const bool is_port = port.size() <= 5 && std::ranges::all_of(port, is_digit);
  constexpr std::array<std::string_view, 8> kWeb = {"http", "https", "ws",  "wss",
                                                    "tcp",  "grpc",  "git", "file"};
  const bool is_host = host.find('.') != host.npos || host == "localhost" || host.empty() ||
                       !begins_with_domain(rest.substr(last + 1));
  if (is_port && stands_in(scheme, kWeb) && is_host) return found;
  found.at = last;
  return found;
}

/// True for names like "--proxy" and "db_url", whose values may be "user:password@host".
bool names_address(std::string_view name) {
  constexpr std::array<std::string_view, 14> kAddresses = {
      "proxy", "proxies", "url",      "uri",      "dsn",        "server",   "broker",
      "host",  "address", "endpoint", "registry", "connection", "database", "db"};
  const std::vector<std::string> parts = parts_of(name);
  return !parts.empty() && stands_in(parts.back(), kAddresses);
}

/// True for "-u", "--user" and the like, whose value is "user:password" in curl and other programs.
bool names_user(std::string_view option) {
  constexpr std::array<std::string_view, 6> kUsers = {"-u",        "--user",       "--login",
                                                      "--userpwd", "--proxy-user", "--basic-auth"};
  return stands_in(option, kUsers);
}

/// True if a value with this name may be masked, so that only such names need to be searched for.
bool may_name_secret(std::string_view name) {
  constexpr std::string_view kNoOrdinaryValue = "x1y2z3x4y5";
  return is_secret(name, kNoOrdinaryValue) || names_address(name) || names_user(name) ||
         name == "sig" || name == "key";
}

/// Finds the password in "user:password". Not in "1000:1000", the ids of a user and a group.
std::optional<FoundPart> password_of_user(std::string_view value) {
  const std::size_t colon = value.find(':');
  if (colon == value.npos || colon == 0 || colon + 1 >= value.size()) return std::nullopt;
  const bool is_name = std::ranges::all_of(value.substr(0, colon), [](char c) {
    return is_letter(c) || is_digit(c) || c == '.' || c == '_' || c == '-' || c == '@';
  });
  const bool are_numbers =
      std::ranges::all_of(value, [](char c) { return is_digit(c) || c == ':'; });
  if (!is_name || are_numbers || value.substr(colon).starts_with("://")) return std::nullopt;
  return FoundPart{colon + 1, value.size()};
}

/// Finds the password in the value of a name that holds a user or an address.
std::optional<FoundPart> password_in(std::string_view name, std::string_view value) {
  if (names_user(name)) return password_of_user(value);
  if (!names_address(name)) return std::nullopt;
  if (value.find("://") != value.npos) return std::nullopt;
  const std::size_t colon = value.find(':'), at = value.rfind('@');
  if (at == value.npos || colon == value.npos || colon + 1 >= at) return std::nullopt;
  if (value.substr(at + 1).starts_with("sha256:")) return std::nullopt;  // an image's digest
  if (value.substr(0, colon).find_first_of("/ \t\"'{}=;&,") != value.npos) return std::nullopt;
  const std::string_view port = value.substr(colon + 1, value.find('/', colon) - colon - 1);
  const bool is_port = port.size() <= 5 && std::ranges::all_of(port, is_digit);
  if (is_port && value.find('/') < at) return std::nullopt;
  return FoundPart{colon + 1, at};
}

/// Finds the parts of a text that must be masked, in order and without overlaps.
class SecretFinder {
 public:
  /// `whole`: the text is one word of a command line, so that a value may extend to its end.
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
    // True where a value of the form NAME=VALUE extends to the end of the word.
    bool first = whole_;
    for (std::size_t at = 0; at < text_.size();) {
      if (!is_name_byte(text_[at])) {
        ++at;
        first = false;
        continue;
      }
      std::size_t end = at;
      while (end < text_.size() && is_name_byte(text_[end])) ++end;
      const auto found = value_after(text_.substr(at, end - at), end, first);
      first = first && is(end, '=');
      at = first ? end + 1 : end;
      if (!found) continue;
      parts_.push_back(*found);
      at = std::max(at, found->end);
    }
  }

  /// Returns the secret value of the name that ends before `at`; nullopt if there is none.
  std::optional<FoundPart> value_after(std::string_view name, std::size_t at, bool to_the_end) {
    const bool option = name.starts_with('-');
    const std::size_t slashes = std::min(text_.find_first_not_of('\\', at), text_.size()) - at;
    const bool quoted = is(at + slashes, '"') || is(at + slashes, '\'');
    std::size_t begin = after_blanks(quoted ? at + slashes + 1 : after_index(at));
    const bool header = is(begin, ':');
    if (is(begin, '=') || header) {
      if (!may_name_secret(name)) return std::nullopt;
      const bool equals = !header;
      begin = after_blanks(begin + 1);
      if (is(begin, '>')) begin = after_blanks(begin + 1);
      const bool spaced = begin > after_index(at) + 1;
      const bool is_field = whole_ && is(at, ']') && text_.find_first_of(" \t") > at;
      const bool to_end = (to_the_end || is_field) && equals && !quoted && !spaced;
      if (to_end) return part(name, begin, {begin, text_.size(), text_.size()});
      const std::string_view ends = header ? ends_of_header(name, at - name.size(), quoted)
                                           : ends_of_value(at - name.size(), option, quoted);
      return part(name, begin,
                  value_at(looked_at(name, begin), begin, ends, quotes().around(begin)));
    }
    if (!option || begin == at || !may_name_secret(name)) return std::nullopt;
    if (!may_be_value(name, rest_of_word(begin))) return std::nullopt;
    return part(name, begin,
                value_at(looked_at(name, begin), begin, ends_of_value(0, true, false),
                         quotes().around(begin)));
  }

  std::optional<FoundPart> part(std::string_view name, std::size_t begin, const ValueRange& found) {
    if (found.begin >= found.end || text_.substr(begin, 2) == "//") return std::nullopt;
    // The brackets are kept, as they show whether it is a list of secrets or a token like "[MASK]".
    const bool is_list = found.begin > begin && closes_list(found.end);
    const std::size_t from = is_list ? begin : found.begin, to = is_list ? found.after : found.end;
    const bool secret = is_secret(name, text_.substr(from, to - from)) ||
                        (is_key_of_query(name, begin, found.end - found.begin) &&
                         !is_ordinary(text_.substr(found.begin, found.end - found.begin)));
    if (secret) return FoundPart{found.begin, found.end};
    auto password = password_in(name, text_.substr(found.begin, found.end - found.begin));
    if (!password) return std::nullopt;
    return FoundPart{found.begin + password->begin, found.begin + password->end};
  }

  bool closes_list(std::size_t at) const { return is(at, ']') || is(at, '}') || is(at, ')'); }

  /// True for "?sv=2022-11-02&sig=..." (the signature of a shared access to Azure's storage) and
  /// for "?key=..." with a long value.
  bool is_key_of_query(std::string_view name, std::size_t value, std::size_t size) const {
    constexpr std::size_t kKey = 16;  // shorter keys are for lookup
    if ((name != "sig" && (name != "key" || size < kKey)) || value < 5) return false;
    const char before = text_[value - 5];
    return before == '?' || before == '&';
  }

  /// Returns the text in which a value is searched. The value of an address ends only at a space,
  /// so its length is limited.
  std::string_view looked_at(std::string_view name, std::size_t begin) const {
    constexpr std::size_t kLongestAddress = 512;
    return names_address(name) ? text_.substr(0, begin + kLongestAddress) : text_;
  }

  /// Skips "[0]" or "]" after a name, as in lists and forms.
  std::size_t after_index(std::size_t at) const {
    if (is(at, ']')) return at + 1;
    constexpr std::size_t kLongest = 12;
    if (!is(at, '[')) return at;
    const std::size_t end = text_.find(']', at);
    return end != text_.npos && end - at < kLongest && is(end + 1, '=') ? end + 1 : at;
  }

  std::string_view rest_of_word(std::size_t at) const {
    return text_.substr(at, std::min(text_.find_first_of(" \t\r\n", at), text_.size()) - at);
  }

  /// Returns the characters that end a value. They depend on the character before the name, at
  /// `at`.
  std::string_view ends_of_value(std::size_t at, bool option, bool quoted) const {
    constexpr std::string_view kShell = " \t\r\n;&|", kJson = " \t\r\n,;}])",
                               kQuery = " \t\r\n&#<>";
    if (option) return kShell;
    const char before = at > 0 ? text_[at - 1] : ' ';
    if (before == '&' || before == '?') return kQuery;
    return quoted || before == ',' || before == '{' || before == '[' || before == '(' ? kJson
                                                                                      : kShell;
  }
  std::string_view ends_of_header(std::string_view name, std::size_t at, bool quoted) const {
    const bool is_line = !quoted && (at == 0 || text_[at - 1] == '\n');
    return is_line || is_header(name) ? "\r\n" : " \t\r\n,;}])";
  }

  const OpenQuotes& quotes() {
    if (!quotes_) quotes_.emplace(text_);
    return *quotes_;
  }

  static bool is_header(std::string_view name) {
    const std::string joined_name = joined_parts(name);
    return joined_name.ends_with("authorization") || joined_name.ends_with("cookie");
  }

  /// Finds passwords in "scheme://user:password@host" and "proxy=user:password@host", and the token
  /// in "Bearer x", which has no name.
  void addresses() {
    for (std::size_t at = text_.find("://"); at != text_.npos; at = text_.find("://", at + 3)) {
      std::size_t begin = at;
      while (begin > 0 && (is_name_byte(text_[begin - 1]) || text_[begin - 1] == '+')) --begin;
      const bool in_quotes = begin > 0 && (text_[begin - 1] == '"' || text_[begin - 1] == '\'');
      const std::string_view ends = whole_ && !in_quotes ? " \t\r\n" : " \t\r\n\"'<>";
      const std::string_view rest = text_.substr(at + 3, kLongestLook);
      const std::size_t end = std::min(rest.find_first_of(ends), rest.size());
      address(text_.substr(begin, at - begin), at + 3, at + 3 + end);
    }
    authorizations();
  }

  void address(std::string_view scheme, std::size_t begin, std::size_t end) {
    const std::string_view rest = text_.substr(begin, end - begin);
    const auto [colon, host] = user_info(scheme, rest);
    if (host == rest.npos || host == 0) return;
    constexpr std::size_t kToken = 16;  // a longer name is a token, not a user
    const bool is_redis = scheme == "redis" || scheme == "rediss";
    if (colon < host) {
      if (colon + 1 < host) parts_.push_back({begin + colon + 1, begin + host});
    } else if (host >= kToken || is_redis) {
      parts_.push_back({begin, begin + host});
    }
  }

  void authorizations() {
    for (const std::string_view scheme : {"Bearer ", "bearer ", "Basic "}) {
      for (std::size_t at = text_.find(scheme); at != text_.npos; at = text_.find(scheme, at + 1)) {
        const std::size_t begin = after_blanks(at + scheme.size());
        const std::size_t end = std::min(text_.find_first_of(" \t\r\n\"',;", begin), text_.size());
        const std::string_view token = text_.substr(begin, end - begin);
        const bool is_word = std::ranges::all_of(token, is_letter) && token.size() < 20;
        if (token.size() >= 8 && !is_word) parts_.push_back({begin, end});
      }
    }
  }

  std::string_view text_;
  bool whole_;
  std::optional<OpenQuotes> quotes_;
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

/// Masks repeatedly until nothing more is found, because a mask may separate a name from text that
/// seemed to belong to it.
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

/// True for options such as "--api-keys", whose values are the following words.
bool takes_values(std::string_view word) {
  const std::vector<std::string> parts = parts_of(word);
  return !parts.empty() && parts.back().ends_with('s') && !parts.back().ends_with("pass") &&
         may_name_secret(word) && !names_address(word);
}

/// True for "--password" and "-password", whose value is the following word.
bool takes_value(std::string_view word) {
  if (!word.starts_with('-') || !std::ranges::all_of(word, is_name_byte)) return false;
  const std::vector<std::string> parts = parts_of(word);
  return !parts.empty() && !stands_in(parts.front(), kNoValue);
}

/// Returns the name in a word "NAME=value"; empty if there is none.
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
  return known == NameSays::always || (known == NameSays::mostly && !is_ordinary(value)) ||
         (known == NameSays::no_place && !begins_as_path(value));
}

std::string masked(std::string_view text) { return with_all_masks(text, false); }

std::string masked_value(std::string_view name, std::string_view value) {
  if (is_secret(name, value)) return std::string(kMasked);
  if (const auto password = password_in(name, value)) {
    return masked_word(with_masks(value, {*password}));
  }
  return masked_word(value);
}

bool is_masked(std::string_view value) { return value.find(kMasked) != value.npos; }

std::string secret_variable(std::string_view name) {
  std::string variable = "FLOR_SECRET_" + joined_parts(name);
  std::ranges::transform(variable, variable.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return variable;
}

RecordedCommand::RecordedCommand(const std::vector<std::string>& words) {
  std::string option;  // option whose value is the next word
  for (const std::string& word : words) {
    const bool follows = !option.empty() && may_be_value(option, word);
    words_.push_back(follows ? masked_value(option, word) : masked_word(word));
    if (!follows) {
      option = takes_value(word) ? word : "";
    } else if (!takes_values(option)) {
      option.clear();
    }
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
