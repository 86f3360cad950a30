#include "git/secret_files.h"

#include "git/tree/glob.h"

#include <flor/store/secrets.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <vector>

namespace flor::git {
namespace {

/// Patterns for names of files that hold secrets, in lower case and without directories.
constexpr std::array kSecretNames = std::to_array<std::string_view>({
    // Environments and settings of a shell.
    ".env", ".env.*", ".env-*", ".env_*", ".env~", "*.env", "*.env.local", ".envrc", "dotenv",
    ".dotenv", ".secrets", ".secrets.*", ".flaskenv",
    // Keys, certificates with keys, and stores of them.
    "*.pem", "*.key", "*.p12", "*.pfx", "*.p8", "*.pk8", "*.pkcs12", "*.pkcs8", "*.ppk", "*.jks",
    "*.jceks", "*.bcfks", "*.bks", "*.keystore", "*.truststore", "*.kdb", "*.kdbx", "*.keychain",
    "*.keychain-db", "*.keytab", "*.ovpn", "*.gpg", "*.pgp", "*.age", "*.psafe3",
    "*.agilekeychain", "*.opvault", "*.wallet", "wallet.dat", "secring.*", "*.snk", "*.agekey",
    "age.key", "wg0.conf", "*.jwk", "jwks.private.json", ".sops.key", "id_rsa", "id_rsa[._-]*",
    "id_dsa", "id_dsa[._-]*", "id_ecdsa", "id_ecdsa[._-]*", "id_ecdsa_sk", "id_ed25519",
    "id_ed25519[._-]*", "id_ed25519_sk", "id_xmss", "*[._-]rsa", "*[._-]dsa", "*[._-]ecdsa",
    "*[._-]ed25519", "*[._-]id_rsa", "ssh_host_*_key", "deploy_key", "deploy-key",
    "*[._-]deploy_key", "ssh_key", "private_key", "private_key.*", "privatekey", "privatekey.*",
    "private-key.*", "signing_key*", "encryption_key*", "master.key",
    // Logins of programs.
    ".netrc", "_netrc", ".authinfo", ".authinfo.gpg", ".git-credentials", ".gitcookies", ".pgpass",
    "pgpass.conf", ".pg_service.conf", ".my.cnf", ".mylogin.cnf", ".mycli-history", ".htpasswd",
    "htpasswd", ".htdigest", ".pypirc", ".npmrc", ".yarnrc.yml", "pip.conf", "pip.ini", ".gemrc",
    ".dockercfg", ".dockerconfigjson", "kubeconfig", "kubeconfig.*", "*.kubeconfig", "admin.conf",
    "kube_config*", ".s3cfg", ".s3curl", ".boto", ".mrjob.conf", ".passwd-s3fs", "passwd-s3fs",
    "rclone.conf", ".rclone.conf", ".fetchmailrc", ".msmtprc", ".mbsyncrc", ".muttrc", ".wgetrc",
    ".curlrc", "clearml.conf", "kaggle.json", ".kaggle.json", "accesskeys*.csv", "*_accesskeys.csv",
    "rootkey*.csv", "credentials*.csv", "new_user_credentials.csv", "terraform.tfstate",
    "terraform.tfstate.*", "*.tfstate", "*.tfstate.*", "terraform.tfvars", "terraform.tfvars.json",
    "*.auto.tfvars", "*.auto.tfvars.json", "*.tfvars", ".terraformrc", "terraform.rc",
    "credentials.tfrc.json", ".vault-token", ".vault_pass*", ".vault-pass*", "vault_pass*",
    "vault-pass*", ".vault_password*", "vault_password*", "gcp-key*.json", "gcp_key*.json",
    "gcp-credentials*", "gcloud-*key*.json", "*-keyfile.json", "keyfile.json",
    "firebase-adminsdk*.json", "*firebase-adminsdk*.json", "sa.json", "sa-key*.json",
    "*-sa-key.json", "*service*account*key*.json", "service[-_]account*.json",
    "serviceaccount*.json", "*service[-_]account.json", "application_default_credentials.json",
    "client_secret*", "client-secret*", "oauth*.json", "oauth*.token", "oauth_token*",
    "azureauth.json", "azure_credentials*", "azureprofile.json", "accesstokens.json",
    "publishsettings", "*.publishsettings", "*.azureauth", "msal_token_cache*",
    "jupyter_cookie_secret", "notebook_cookie_secret", "jupyterhub_cookie_secret",
    "jupyter_server_cookie_secret", "cookies.txt", "cookies.sqlite", ".cookies", "cookie.txt",
    // Tokens and passwords that are named so. Not tokens.txt, which is a usual name for a
    // vocabulary.
    "token", ".token", "token.txt", "token.json", "token.pickle", "token.yaml", "token.yml",
    "*[._-]token", "*[._-]token.txt", "access_tokens.json", "auth.json", "auth.token", ".tokens",
    "bearer.txt", "jwt.txt", "password", "passwords", ".password", ".passwords", "password.*",
    "passwords.*", "passwd", ".passwd", "passwd.*", ".passwd.*", "*[._-]password",
    "*[._-]password.txt", "*[._-]passwd", "passphrase", "passphrase.*", ".passphrase", "pwd.txt",
    "pass.txt", "logins.json", "key4.db", "key3.db", "signons.sqlite", "login.keychain*",
    "api_key", "api_key.*", "api_keys", "api_keys.*", "api-key", "api-key.*", "api-keys.*",
    "apikey", "apikey.*", "apikeys", "apikeys.*", ".api_key", ".api_keys", ".api-key", ".apikey",
    "*[._-]api_key", "*[._-]api_key.*", "*[._-]apikey", "*[._-]apikey.*", "*[._-]api-key.*",
    "secret_key", "secret_key.*", "secretkey", "secret-key.*", "access_key", "access_key.*",
    "access-key.*", ".openai", ".anthropic", ".wandb_api_key", "wandb_key*", ".hf_token",
    "openai_key*", "openai.key", "anthropic_key*", "credentials", "credentials.*", ".credentials",
    ".credentials.*", "*credentials.json", "*[._-]credentials", "*[._-]credentials.*", "creds",
    "creds.*", ".creds", "*[._-]creds", "*[._-]creds.*", "credential", "credential.*", "*.creds",
    "*.credentials", "secret", "secrets", "secrets.*", "secret.*", "*.secret", "*.secrets",
    "*.secrets.*", "*-secrets.yaml", "*-secrets.yml", "*-secret.yaml", "*-secret.yml",
    "*_secrets.*", "*_secret.txt", "*_secret", "*_secrets", "*-secret", "*-secrets",
    // Histories, which hold commands with passwords.
    ".bash_history", ".zsh_history", ".zhistory", ".sh_history", ".ksh_history", ".history",
    ".fish_history", "fish_history", ".psql_history", ".mysql_history", ".sqlite_history",
    ".python_history", ".node_repl_history", ".irb_history", ".rediscli_history", ".dbshell",
    ".mongorc.js", ".mongo_history", ".influx_history", ".octave_hist", ".rhistory", ".lesshst",
    ".viminfo", "consolehost_history.txt", ".bash_sessions", ".python-history",
    // Databases of accounts, dumps of memory.
    "ntds.dit", "filezilla.xml", "sitemanager.xml", "recentservers.xml", "winscp.ini",
    "ultravnc.ini", ".remmina", "*.rdp", "*.rdg", "dbeaver-data-sources.xml",
    "datasources.local.xml", "local.settings.json", "appsettings.local.json", "wp-config.php",
    "env.sh", "env.bash", "env.zsh", "export_keys.sh", "set_env.sh",
});

/// Directories whose files are secret, except those that are made to be published (kHarmless).
constexpr std::array kSecretPlaces = std::to_array<std::string_view>({
    ".ssh/**", ".aws/**", ".azure/*.json", ".azure/*.bin", ".azure/config", ".gnupg/**",
    ".kube/**", ".docker/*.json", ".config/gcloud/**", ".config/gh/hosts.yml", ".config/hub",
    ".config/glab-cli/**", ".config/rclone/**", ".config/op/**", ".config/doctl/**",
    ".config/configstore/**", ".config/pip/pip.conf", ".config/git/credentials",
    ".config/containers/auth.json", ".config/helm/registry/**", ".config/wandb/**",
    ".config/databricks/**", ".config/vercel/**", ".config/netlify/**", ".config/fly/**",
    ".huggingface/**", ".cache/huggingface/token", ".cache/huggingface/stored_tokens",
    ".kaggle/**", ".oci/**", ".bluemix/**", ".aliyun/**", ".tccli/**",
    ".gcloud/**", ".gsutil/**", ".terraform.d/**", ".pulumi/credentials.json", ".vault/**",
    ".password-store/**", ".local/share/keyrings/**", ".cargo/credentials*", ".gem/credentials",
    ".m2/settings*.xml", ".gradle/gradle.properties", ".composer/auth.json", ".nuget/nuget.config",
    ".sbt/.credentials", ".ivy2/.credentials", ".circleci/cli.yml", ".travis/config.yml",
    ".jupyter/*.json", ".jupyter/migrated", ".databrickscfg", ".snowflake/**", ".dbt/profiles.yml",
    ".streamlit/secrets.toml", ".neptune/**", ".comet.config", ".clearml.conf", "clearml.conf",
    ".mlflow/credentials", ".modal.toml", ".replicate/**", ".runpod/**", ".lambda_cloud/**",
    ".vast_api_key", ".paperspace/**", ".ngrok2/**", ".cloudflared/**", ".tailscale/**",
    ".minikube/**", ".openshift/**", ".argocd/**", ".flux/**",
    ".helm/repository/repositories.yaml",
});

/// Files that only show the form of a secret, or are made to be published.
constexpr std::array kHarmless = std::to_array<std::string_view>(
    {"*.example", "*.sample", "*.template", "*.dist", "*.tmpl", "*.pub", "*.example.*",
     "*.sample.*", "*.template.*", "known_hosts*", "*.pyc", "*.crt", "*.csr", "*.cer"});

/// Code from which programs are built, and texts about it.
constexpr std::array kSources = std::to_array<std::string_view>(
    {".c",    ".cc",   ".cpp", ".cxx",  ".h",     ".hh",  ".hpp", ".hxx",   ".inl", ".ipp",
     ".cu",   ".cuh",  ".m",   ".mm",   ".py",    ".pyi", ".pyx", ".ipynb", ".js",  ".mjs",
     ".cjs",  ".ts",   ".jsx", ".tsx",  ".vue",   ".go",  ".rs",  ".java",  ".kt",  ".kts",
     ".swift", ".rb",  ".pl",  ".pm",   ".php",   ".lua", ".sh",  ".bash",  ".zsh", ".fish",
     ".ps1",  ".bat",  ".r",   ".jl",   ".scala", ".cs",  ".fs",  ".hs",    ".ml",  ".ex",
     ".exs",  ".erl",  ".clj", ".dart", ".zig",   ".nim", ".sql", ".proto", ".thrift", ".cmake",
     ".mk",   ".md",   ".rst", ".adoc", ".tex",   ".html", ".css", ".scss", ".in",  ".patch",
     ".diff", ".d",    ".def", ".asm",  ".s",     ".gradle", ".bzl", ".bazel", ".nix", ".hcl"});
constexpr std::array kSourceNames = std::to_array<std::string_view>(
    {"cmakelists.txt", "makefile", "dockerfile", "readme", "readme.txt", "license", "changelog"});

std::string in_small_letters(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return lower;
}

std::string_view name_of(std::string_view path) { return path.substr(path.rfind('/') + 1); }

/// Matches many patterns at once, fast for the usual ones: plain names and endings.
class GlobSet {
 public:
  explicit GlobSet(std::span<const std::string_view> patterns, std::string_view before = "") {
    const auto plain = [](std::string_view text) { return text.find_first_of("*?[") == text.npos; };
    for (const std::string_view pattern : patterns) {
      if (before.empty() && plain(pattern)) {
        names_.push_back(pattern);
      } else if (before.empty() && pattern.starts_with('*') && plain(pattern.substr(1))) {
        endings_.push_back(pattern.substr(1));
      } else {
        globs_.emplace_back(std::string(before) + std::string(pattern));
      }
    }
    std::ranges::sort(names_);
  }
  bool matches(std::string_view text) const {
    return std::ranges::binary_search(names_, text) ||
           std::ranges::any_of(endings_, [&](auto ending) { return text.ends_with(ending); }) ||
           std::ranges::any_of(globs_, [&](const Glob& glob) { return glob.matches(text); });
  }

 private:
  std::vector<std::string_view> names_, endings_;
  std::vector<Glob> globs_;
};

bool is_source_of_a_program(std::string_view path) {
  const std::string name = in_small_letters(name_of(path));
  if (std::ranges::find(kSourceNames, name) != kSourceNames.end()) return true;
  const std::size_t dot = name.rfind('.');
  return dot != name.npos && dot > 0 &&
         std::ranges::find(kSources, std::string_view(name).substr(dot)) != kSources.end();
}

bool has(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

/// Whether the program could not be built without the file.
bool is_compiled(std::string_view path) {
  constexpr std::array<std::string_view, 14> kEndings = {".c",   ".cc",  ".cpp", ".cxx", ".h",
                                                         ".hh",  ".hpp", ".hxx", ".inl", ".ipp",
                                                         ".cu",  ".cuh", ".go",  ".rs"};
  return std::ranges::any_of(kEndings, [&](auto ending) { return path.ends_with(ending); });
}

/// Whether the content has code, and not only prose.
bool has_code(std::string_view content) {
  constexpr std::array kWords = std::to_array<std::string_view>(
      {"#include", "#pragma", "#!/", "def ", "class ", "struct ", "namespace", "function",
       "return", "import ", "fn ", "func ", "public ", "module ", "\nif ", "export ", "source "});
  return std::ranges::any_of(kWords, [&](auto word) { return has(content, word); });
}

/// Whether the part of a line that would be masked is a literal text, not the name of a variable or
/// type.
bool is_literal(std::string_view line, bool shell) {
  const std::string masked = store::masked(line);
  if (masked == line) return false;
  const std::size_t at = masked.find(store::kMasked);
  if (at == 0 || at >= line.size()) return at == 0;
  const char before = line[at - 1];
  const bool quoted = before == '"' || before == '\'';
  return (quoted || shell) && std::string_view("$`<{%").find(line[at]) == std::string_view::npos;
}

/// Whether some line assigns a literal text to a name that stands for a secret.
bool says_a_secret(std::string_view path, std::string_view content) {
  const bool shell = path.ends_with("sh");
  while (!content.empty()) {
    const std::size_t end = std::min(content.find('\n'), content.size());
    if (is_literal(content.substr(0, end), shell)) return true;
    content.remove_prefix(std::min(end + 1, content.size()));
  }
  return false;
}

/// The kind of a binary file in which programs keep logins, such as a key store; empty if it is
/// none.
std::string_view secret_store_in(std::string_view content) {
  constexpr std::size_t kSmall = 256 << 10;
  constexpr std::array kMagics = std::to_array<std::string_view>(
      {"\xFE\xED\xFE\xED", "\xCE\xCE\xCE\xCE", "\x03\xD9\xA2\x9A"});
  const auto begins = [&](std::string_view magic) { return content.starts_with(magic); };
  if (std::ranges::any_of(kMagics, begins)) return "key store";
  if (content.size() > kSmall) return {};
  if (has(content, "\"auths\"") && has(content, "\"auth\"")) return "login of a registry";
  if (has(content, "_authToken=") || has(content, "_password=")) return "npm token";
  const bool logins = content.starts_with("machine ") || has(content, "\nmachine ");
  if (logins && has(content, "login ") && has(content, "password ")) return "password";
  const std::size_t key = content.find("secret_access_key");
  if (key != content.npos && store::masked(content.substr(key, 128)) != content.substr(key, 128)) {
    return "AWS secret key";
  }
  const std::string_view line = content.substr(0, content.find('\n'));
  const bool url = line.starts_with("https://") || line.starts_with("http://");
  return url && !has(line, " ") && store::masked(line) != line ? "password" : std::string_view();
}

}  // namespace

SecretName secret_name(std::string_view path) {
  static const GlobSet names(kSecretNames), places(kSecretPlaces, "**/"), harmless(kHarmless);
  const std::string lower = in_small_letters(path);
  const std::string_view name = name_of(lower);
  if (harmless.matches(name)) return SecretName::none;
  // All patterns in kSecretPlaces begin with a dot.
  const bool hidden = lower.starts_with('.') || has(lower, "/.");
  if (!names.matches(name) && !(hidden && places.matches(lower))) return SecretName::none;
  return is_source_of_a_program(lower) ? SecretName::in_sources : SecretName::secret;
}

std::string_view secret_in(std::string_view path, std::string_view content) {
  constexpr std::size_t kData = 256 << 10;  // larger files are training data
  const bool source = is_source_of_a_program(path);
  if (const auto found = store::find_secret(content, source || content.size() > kData)) {
    return found->kind;
  }
  if (!source) return secret_store_in(content);
  if (secret_name(path) != SecretName::in_sources) return {};
  const bool empty_of_code = !is_compiled(path) && !has_code(content);
  return empty_of_code || says_a_secret(path, content) ? "password" : std::string_view();
}

}  // namespace flor::git
