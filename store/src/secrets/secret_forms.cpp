// The forms by which keys and tokens are recognised without a name.
#include <flor/store/secrets.h>

#include <algorithm>
#include <array>
#include <bitset>
#include <cctype>

namespace flor::store {
namespace {

/// The characters that a token may have after its prefix.
enum class Alphabet { alnum, upper, hex, word, dashed, dotted, base64, path };

bool belongs(Alphabet bytes, char c) {
  const auto byte = static_cast<unsigned char>(c);
  if (byte >= 128) return false;
  const bool alnum = std::isalnum(byte) != 0;
  switch (bytes) {
    case Alphabet::alnum:
      return alnum;
    case Alphabet::upper:
      return std::isupper(byte) || std::isdigit(byte);
    case Alphabet::hex:
      return std::isxdigit(byte) != 0;
    case Alphabet::word:
      return alnum || c == '_';
    case Alphabet::dashed:
      return alnum || c == '_' || c == '-';
    case Alphabet::dotted:
      return alnum || c == '_' || c == '-' || c == '.';
    case Alphabet::base64:
      return alnum || c == '+' || c == '/' || c == '=';
    case Alphabet::path:
      return alnum || c == '/' || c == '_' || c == '-';
  }
  return false;
}

struct TokenForm {
  std::string_view prefix;
  Alphabet bytes;
  std::size_t least, most;  ///< number of bytes after the prefix
  std::string_view kind;
};

constexpr std::array kForms{
    TokenForm{"AKIA", Alphabet::upper, 16, 16, "AWS access key"},
    TokenForm{"ASIA", Alphabet::upper, 16, 16, "AWS access key"},
    TokenForm{"ABIA", Alphabet::upper, 16, 16, "AWS access key"},
    TokenForm{"ACCA", Alphabet::upper, 16, 16, "AWS access key"},
    TokenForm{"ghp_", Alphabet::alnum, 30, 255, "GitHub token"},
    TokenForm{"gho_", Alphabet::alnum, 30, 255, "GitHub token"},
    TokenForm{"ghu_", Alphabet::alnum, 30, 255, "GitHub token"},
    TokenForm{"ghs_", Alphabet::alnum, 30, 255, "GitHub token"},
    TokenForm{"ghr_", Alphabet::alnum, 30, 255, "GitHub token"},
    TokenForm{"github_pat_", Alphabet::word, 40, 255, "GitHub token"},
    TokenForm{"glpat-", Alphabet::dotted, 20, 300, "GitLab token"},
    TokenForm{"gldt-", Alphabet::dashed, 20, 64, "GitLab token"},
    TokenForm{"glrt-", Alphabet::dotted, 20, 300, "GitLab token"},
    TokenForm{"glptt-", Alphabet::dashed, 40, 64, "GitLab token"},
    TokenForm{"glcbt-", Alphabet::dashed, 20, 80, "GitLab token"},
    TokenForm{"glsoat-", Alphabet::dashed, 20, 64, "GitLab token"},
    TokenForm{"hf_", Alphabet::alnum, 30, 64, "Hugging Face token"},
    TokenForm{"api_org_", Alphabet::alnum, 30, 64, "Hugging Face token"},
    TokenForm{"xoxb-", Alphabet::dashed, 20, 255, "Slack token"},
    TokenForm{"xoxp-", Alphabet::dashed, 20, 255, "Slack token"},
    TokenForm{"xoxa-", Alphabet::dashed, 20, 255, "Slack token"},
    TokenForm{"xoxr-", Alphabet::dashed, 20, 255, "Slack token"},
    TokenForm{"xoxs-", Alphabet::dashed, 20, 255, "Slack token"},
    TokenForm{"xoxe-", Alphabet::dashed, 20, 255, "Slack token"},
    TokenForm{"xoxe.", Alphabet::dotted, 20, 255, "Slack token"},
    TokenForm{"xapp-", Alphabet::dashed, 20, 255, "Slack token"},
    TokenForm{"hooks.slack.com/services/", Alphabet::path, 20, 128, "Slack webhook"},
    TokenForm{"discord.com/api/webhooks/", Alphabet::path, 40, 160, "Discord webhook"},
    TokenForm{"AIza", Alphabet::dashed, 35, 35, "Google key"},
    TokenForm{"ya29.", Alphabet::dashed, 20, 2048, "Google token"},
    TokenForm{"GOCSPX-", Alphabet::dashed, 24, 32, "Google secret"},
    TokenForm{"sk-ant-", Alphabet::dashed, 20, 200, "Anthropic key"},
    TokenForm{"sk-proj-", Alphabet::dashed, 20, 300, "OpenAI key"},
    TokenForm{"sk-svcacct-", Alphabet::dashed, 20, 300, "OpenAI key"},
    TokenForm{"sk-admin-", Alphabet::dashed, 20, 300, "OpenAI key"},
    TokenForm{"sk-or-v1-", Alphabet::hex, 32, 128, "OpenRouter key"},
    TokenForm{"sk-", Alphabet::alnum, 32, 128, "OpenAI key"},
    TokenForm{"sk_live_", Alphabet::alnum, 16, 255, "Stripe key"},
    TokenForm{"sk_test_", Alphabet::alnum, 16, 255, "Stripe key"},
    TokenForm{"rk_live_", Alphabet::alnum, 16, 255, "Stripe key"},
    TokenForm{"rk_test_", Alphabet::alnum, 16, 255, "Stripe key"},
    TokenForm{"whsec_", Alphabet::base64, 24, 128, "webhook secret"},
    TokenForm{"npm_", Alphabet::alnum, 36, 36, "npm token"},
    TokenForm{"pypi-", Alphabet::dashed, 50, 512, "PyPI token"},
    TokenForm{"rubygems_", Alphabet::hex, 48, 48, "RubyGems key"},
    TokenForm{"SG.", Alphabet::dotted, 60, 80, "SendGrid key"},
    TokenForm{"key-", Alphabet::hex, 32, 32, "Mailgun key"},
    TokenForm{"SK", Alphabet::hex, 32, 32, "Twilio key"},
    TokenForm{"dop_v1_", Alphabet::hex, 64, 64, "DigitalOcean token"},
    TokenForm{"doo_v1_", Alphabet::hex, 64, 64, "DigitalOcean token"},
    TokenForm{"dor_v1_", Alphabet::hex, 64, 64, "DigitalOcean token"},
    TokenForm{"shpat_", Alphabet::hex, 32, 32, "Shopify token"},
    TokenForm{"shpss_", Alphabet::hex, 32, 32, "Shopify token"},
    TokenForm{"shpca_", Alphabet::hex, 32, 32, "Shopify token"},
    TokenForm{"sq0atp-", Alphabet::dashed, 22, 64, "Square token"},
    TokenForm{"sq0csp-", Alphabet::dashed, 43, 64, "Square secret"},
    TokenForm{"dckr_pat_", Alphabet::dashed, 20, 64, "Docker token"},
    TokenForm{"dckr_oat_", Alphabet::dashed, 20, 64, "Docker token"},
    TokenForm{"hvs.", Alphabet::dashed, 24, 300, "Vault token"},
    TokenForm{"hvb.", Alphabet::dashed, 24, 300, "Vault token"},
    TokenForm{"hvr.", Alphabet::dashed, 24, 300, "Vault token"},
    TokenForm{"tskey-", Alphabet::dashed, 20, 128, "Tailscale key"},
    TokenForm{"lin_api_", Alphabet::alnum, 32, 64, "Linear key"},
    TokenForm{"PMAK-", Alphabet::dashed, 24, 128, "Postman key"},
    TokenForm{"dapi", Alphabet::hex, 32, 34, "Databricks token"},
    TokenForm{"xai-", Alphabet::alnum, 60, 128, "xAI key"},
    TokenForm{"gsk_", Alphabet::alnum, 40, 128, "Groq key"},
    TokenForm{"r8_", Alphabet::alnum, 37, 40, "Replicate token"},
    TokenForm{"nvapi-", Alphabet::dashed, 40, 128, "NVIDIA key"},
    TokenForm{"pplx-", Alphabet::alnum, 40, 64, "Perplexity key"},
    TokenForm{"ATATT3", Alphabet::dashed, 60, 300, "Atlassian token"},
    TokenForm{"ntn_", Alphabet::alnum, 40, 64, "Notion token"},
    TokenForm{"figd_", Alphabet::dashed, 36, 64, "Figma token"},
    TokenForm{"pul-", Alphabet::hex, 40, 40, "Pulumi token"},
    TokenForm{"dp.pt.", Alphabet::alnum, 40, 48, "Doppler token"},
    TokenForm{"glsa_", Alphabet::word, 36, 64, "Grafana token"},
    TokenForm{"sbp_", Alphabet::hex, 40, 40, "Supabase token"},
    TokenForm{"CCIPAT_", Alphabet::word, 40, 96, "CircleCI token"},
    TokenForm{"AGE-SECRET-KEY-1", Alphabet::upper, 40, 64, "age key"},
    TokenForm{"AccountKey=", Alphabet::base64, 40, 128, "Azure key"},
    TokenForm{"SharedAccessKey=", Alphabet::base64, 40, 128, "Azure key"},
};

/// How private keys begin.
struct Opening {
  std::string_view text, ends;  ///< `ends` must follow on the same line
  std::string_view kind;
};
constexpr std::array kOpenings{
    Opening{"-----BEGIN ", "PRIVATE KEY", "private key"},
    Opening{"-----BEGIN ", "OpenVPN Static key", "private key"},
    Opening{"---- BEGIN SSH2 ", "PRIVATE KEY", "private key"},
    Opening{"PuTTY-User-Key-File-", ":", "private key"},
    Opening{"SSH PRIVATE KEY FILE FORMAT 1.1", "", "private key"},
};

/// "-----BEGIN" in base64, the form in which Kubernetes stores keys.
constexpr std::string_view kEncodedPem = "LS0tLS1CRUdJTi";
constexpr std::string_view kJwt = "eyJ";
constexpr std::string_view kTelegram = ":AA";

std::size_t length_of(std::string_view text, std::size_t at, Alphabet bytes, std::size_t most) {
  std::size_t size = 0;
  while (size < most && at + size < text.size() && belongs(bytes, text[at + size])) ++size;
  return size;
}

bool is_alnum_at(std::string_view text, std::size_t at) {
  return at < text.size() && belongs(Alphabet::alnum, text[at]);
}

/// True unless it looks like an example, which repeats a byte or has words that say so.
bool looks_real(std::string_view body) {
  std::bitset<256> seen;
  std::size_t equal = 0;
  for (std::size_t i = 0; i < body.size(); ++i) {
    seen.set(static_cast<unsigned char>(body[i]));
    equal = i > 0 && body[i] == body[i - 1] ? equal + 1 : 0;
    if (equal >= 4) return false;
  }
  std::string lower(body);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  for (const std::string_view word : {"example", "dummy", "placeholder", "your", "xxxx"}) {
    if (lower.find(word) != lower.npos) return false;
  }
  return seen.count() >= std::min<std::size_t>(10, body.size() / 2);
}

std::optional<FoundSecret> token_at(std::string_view text, std::size_t at, bool plausible) {
  if (at > 0 && (is_alnum_at(text, at - 1) || text[at - 1] == '_')) return std::nullopt;
  for (const TokenForm& form : kForms) {
    if (text.substr(at, form.prefix.size()) != form.prefix) continue;
    const std::size_t begin = at + form.prefix.size();
    const std::size_t size = length_of(text, begin, form.bytes, form.most);
    if (size < form.least || (size == form.most && is_alnum_at(text, begin + size))) continue;
    if (plausible && !looks_real(text.substr(begin, size))) continue;
    return FoundSecret{at, form.prefix.size() + size, form.kind};
  }
  return std::nullopt;
}

/// Finds a JSON web token at `at`: three parts in base64, of which the first two are JSON objects.
std::optional<FoundSecret> jwt_at(std::string_view text, std::size_t at) {
  if (!text.substr(at).starts_with(kJwt) || (at > 0 && is_alnum_at(text, at - 1))) {
    return std::nullopt;
  }
  std::size_t end = at;
  for (int part = 0; part < 3; ++part) {
    if (part == 1 && !text.substr(end).starts_with(kJwt)) return std::nullopt;
    const std::size_t size = length_of(text, end, Alphabet::dashed, part == 0 ? 512 : 8192);
    if (size < 10) return std::nullopt;
    end += size;
    if (part == 2) break;
    if (end >= text.size() || text[end] != '.') return std::nullopt;
    ++end;
  }
  return FoundSecret{at, end - at, "JSON web token"};
}

/// Finds a Telegram token: a number, a colon and 35 bytes.
std::optional<FoundSecret> telegram_at(std::string_view text, std::size_t colon) {
  if (!text.substr(colon).starts_with(kTelegram)) return std::nullopt;
  std::size_t at = colon;
  while (at > 0 && colon - at < 11 && std::isdigit(static_cast<unsigned char>(text[at - 1]))) --at;
  if (colon - at < 8 || colon - at > 10 || (at > 0 && is_alnum_at(text, at - 1))) {
    return std::nullopt;
  }
  if (length_of(text, colon + 1, Alphabet::dashed, 36) != 35) return std::nullopt;
  return FoundSecret{at, colon + 36 - at, "Telegram token"};
}

/// True if the lines after the opening have key material: 40 bytes of base64 or hex digits in a
/// row.
bool has_material(std::string_view text) {
  std::size_t row = 0;
  for (const char c : text.substr(0, 2048)) {
    row = belongs(Alphabet::base64, c) ? row + 1 : 0;
    if (row == 40) return true;
  }
  return false;
}

std::size_t end_of_key(std::string_view text, std::size_t at) {
  const std::size_t end = text.find("END ", at);
  if (end == text.npos) return text.size();
  const std::size_t line = text.find_first_of("\n\"'", end);
  return line == text.npos ? text.size() : line;
}

std::optional<FoundSecret> key_at(std::string_view text, std::size_t at, bool plausible) {
  for (const Opening& opening : kOpenings) {
    if (!text.substr(at).starts_with(opening.text)) continue;
    const std::size_t after = at + opening.text.size();
    const std::string_view line = text.substr(after, std::min<std::size_t>(
        text.substr(after, 80).find_first_of("\n\"'"), 80));
    const std::size_t end = line.find(opening.ends);
    if (end == line.npos) continue;
    if (plausible && !has_material(text.substr(after + end + opening.ends.size()))) continue;
    return FoundSecret{at, end_of_key(text, after) - at, opening.kind};
  }
  return std::nullopt;
}

int sextet(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  return c == '+' ? 62 : c == '/' ? 63 : -1;
}

std::optional<FoundSecret> encoded_key_at(std::string_view text, std::size_t at) {
  if (!text.substr(at).starts_with(kEncodedPem)) return std::nullopt;
  std::string plain;
  unsigned bits = 0, have = 0;
  for (const char c : text.substr(at, 64)) {
    const int value = sextet(c);
    if (value < 0) break;
    bits = (bits << 6 | static_cast<unsigned>(value)) & 0xffff;
    have += 6;
    if (have < 8) continue;
    have -= 8;
    plain += static_cast<char>(bits >> have & 0xff);
  }
  if (plain.find("PRIVATE KEY") == plain.npos) return std::nullopt;
  return FoundSecret{at, length_of(text, at, Alphabet::base64, text.size()), "private key"};
}

unsigned two_bytes_at(std::string_view text, std::size_t at) {
  return static_cast<unsigned>(static_cast<unsigned char>(text[at])) << 8 |
         static_cast<unsigned char>(text[at + 1]);
}

/// Returns the set of the first two bytes of all forms that are searched for.
const std::bitset<65536>& beginnings() {
  static const std::bitset<65536> all = [] {
    std::bitset<65536> set;
    for (const TokenForm& form : kForms) set.set(two_bytes_at(form.prefix, 0));
    for (const Opening& opening : kOpenings) set.set(two_bytes_at(opening.text, 0));
    for (const std::string_view text : {kEncodedPem, kJwt, kTelegram}) {
      set.set(two_bytes_at(text, 0));
    }
    return set;
  }();
  return all;
}

}  // namespace

std::optional<FoundSecret> find_secret(std::string_view text, bool plausible) {
  const std::bitset<65536>& begins = beginnings();
  for (std::size_t at = 0; at + 1 < text.size(); ++at) {
    if (!begins[two_bytes_at(text, at)]) continue;
    if (auto found = token_at(text, at, plausible)) return found;
    if (auto found = key_at(text, at, plausible)) return found;
    if (auto found = jwt_at(text, at)) return found;
    if (auto found = telegram_at(text, at)) return found;
    if (auto found = encoded_key_at(text, at)) return found;
  }
  return std::nullopt;
}

}  // namespace flor::store
