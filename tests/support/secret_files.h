// Names and contents of files that a shadow commit must leave out, and of files that it must not.
// Shared by the tests of git and of recording. Keys are concatenated, so that no scanner takes this
// file for a leak.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace flor::testing {

/// Names of files that must be left out whatever their content.
inline const std::vector<std::string>& secret_file_names() {
  static const std::vector<std::string> names = {
      ".env", ".env.local", ".env.production", ".env~", ".env-prod", "prod.env", "dotenv", ".envrc",
      ".kube/config", ".docker/config.json", ".ssh/deploy_key", ".ssh/config", ".ssh/id_rsa",
      ".aws/config", ".aws/credentials", ".azure/accessTokens.json", ".config/gh/hosts.yml",
      ".config/gcloud/credentials.db", ".config/rclone/rclone.conf", ".huggingface/token",
      ".cache/huggingface/token", ".kaggle/kaggle.json", ".oci/config", ".terraform.d/credentials",
      ".m2/settings.xml", ".cargo/credentials.toml", ".gem/credentials", ".gnupg/secring.gpg",
      "deploy/.aws/credentials", "home/.ssh/known", "hf_token", "token", ".token", "token.txt",
      "github_token", "token.json", ".hf_token", ".vault-token", ".vault_pass", "vault_pass.txt",
      "password.txt", "passwords.txt", "passwd.txt", ".password", "db_password", "passphrase.txt",
      "api_key.txt", "apikey", "API_KEY", "openai_api_key", "api-keys.json", "secret_key",
      "access_key.txt", "kaggle.json", ".s3cfg", ".boto", "rclone.conf", "pip.conf", ".pypirc",
      ".npmrc", ".netrc", "_netrc", ".pgpass", ".my.cnf", ".git-credentials", ".htpasswd",
      ".dockercfg", ".passwd-s3fs", "accessKeys.csv", "prod_accessKeys.csv", "rootkey.csv",
      "credentials.csv", "credentials.json", "aws_credentials", "terraform.tfstate",
      "terraform.tfstate.backup", "terraform.tfvars", "prod.auto.tfvars", "gcp-key.json",
      "my-firebase-adminsdk-x1.json", "sa.json", "service-account.json",
      "client_secret_12.apps.json", "application_default_credentials.json", "my_id_rsa",
      "github_rsa", "deploy_rsa", "id_rsa", "id_ed25519", "id_ecdsa_old", "server.pem", "tls.key",
      "app.p12", "login.pfx", "apple.p8", "release.jks", "upload.keystore", "vault.kdbx",
      "host.keytab", "office.ovpn", "putty.ppk", "secrets.yaml", "secrets.toml", "prod.secrets",
      "db-secret.yaml", ".bash_history", ".zsh_history", ".psql_history", ".mysql_history",
      ".python_history", ".rediscli_history", "kubeconfig", "kubeconfig.yaml", "oauth_token.json",
      "jupyter_cookie_secret", "cookies.txt", "wallet.dat", "master.key", "creds.json"};
  return names;
}

struct NamedContent {
  std::string name, content;
};

/// Files that must be left out because of their content, under harmless names.
inline std::vector<NamedContent> secret_contents() {
  const std::string digits = "8f3kQ2mX9vLp7RtZ4wYb6NcJ1hGd5sKaUeT0oVi";
  const std::string hex = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
  const std::string line = "MIIEpAIBAAKCAQEA7bq2k9Xv3mR8tYw5Zc1LdNf4Gh6Js0KpQeUaTiOyBxVrWn\n";
  const auto pem = [&](const std::string& kind) {
    return "-----" + ("BEGIN " + kind) + "-----\n" + line + line + "-----" + ("END " + kind) +
           "-----\n";
  };
  const std::string jwt = std::string("eyJ") + "hbGciOiJIUzI1NiJ9.ey" + "JzdWIiOiIxMjM0NTY3OCJ9.";
  std::vector<NamedContent> files = {
      {"a.txt", pem("RSA PRIVATE KEY")},
      {"b.txt", pem("EC PRIVATE KEY")},
      {"c.conf", pem("OPENSSH PRIVATE KEY")},
      {"d.txt", pem("PRIVATE KEY")},
      {"e.txt", pem("ENCRYPTED PRIVATE KEY")},
      {"f.txt", pem("PGP PRIVATE KEY BLOCK")},
      {"g.txt", pem("DSA PRIVATE KEY")},
      {"h.txt", std::string("PuTTY-User-Key") + "-File-3: ssh-ed25519\nPrivate-Lines: 1\n" + line},
      {"i.json", R"({"type": "service_account", "key": ")" + pem("PRIVATE KEY") + "\"}"},
      {"j.yaml", "client-key-data: LS0tLS1CRU" + std::string("dJTiBSU0EgUFJJVkFURSBLRVktLS0tLQ==")},
      {"k.py", "key = 'AKI" + std::string("A4QF7ZK2MXW9LTRPB'\n")},
      {"l.py", "token = 'gh" + ("p_" + digits.substr(0, 36)) + "'\n"},
      {"m.txt", "github_" + ("pat_" + digits + digits)},
      {"n.txt", "glp" + ("at-" + digits.substr(0, 20)) + "\n"},
      {"o.cpp", "const char* k = \"h" + ("f_" + digits.substr(0, 34)) + "\";\n"},
      {"p.txt", "xox" + ("b-123456789012-1234567890123-" + digits.substr(0, 24))},
      {"q.txt", "https://hooks.slack.com/" + ("services/T0ABC/B0ABC/" + digits.substr(0, 24))},
      {"r.js", "AIz" + ("a" + digits.substr(0, 35))},
      {"s.txt", "ya2" + ("9." + digits)},
      {"t.sh", "export K=s" + ("k-proj-" + digits)},
      {"u.txt", "s" + ("k-ant-api03-" + digits)},
      {"v.txt", "s" + ("k-" + digits.substr(0, 20) + "T3BlbkFJ" + digits.substr(0, 20))},
      {"w.txt", "sk_" + ("live_" + digits.substr(0, 24))},
      {"x.txt", "np" + ("m_" + digits.substr(0, 36))},
      {"y.txt", "py" + ("pi-AgEIcHlwaS5vcmc" + digits)},
      {"z.txt", jwt + digits},
      {"aa.txt", "SG" + ("." + digits.substr(0, 22) + "." + digits + digits.substr(0, 4))},
      {"ab.txt", "dop_" + ("v1_" + hex)},
      {"ac.txt", "hv" + ("s." + digits)},
      {"ad.txt", "AGE-SECRET" + ("-KEY-1QYQSZQGPQYQSZQGPQYQSZQGP" + std::string("QYQSZQGPQYQSZQGPQ"))},
      {"ae.txt", "1234567890:AA" + digits.substr(0, 33)},
      {"af.txt", "machine api.wandb.ai\n  login user\n  password " + hex.substr(0, 40)},
      {"ag.ini", "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYz0Q9T2m4k8\n"},
      {"ah.txt", "AccountKey=" + line.substr(0, 60) + "=="},
      {"ai.json", R"({"auths": {"ghcr.io": {"auth": "dXNlcjpwYXNz"}}})"},
      {"aj.txt", "https://ada:hunter2@example.org\n"},
      {"secrets.py", "PASSWORD = 'hunter2'\n"},
      {"env.sh", "export API_TOKEN=hunter2\n"},
  };
  return files;
}

/// Ordinary files that a program may need, which must not be left out.
inline std::vector<NamedContent> innocent_files() {
  std::vector<NamedContent> files;
  for (const char* name :
       {"token.cpp", "tokenizer.json", "tokenizer.cpp", "tokens.txt", "vocab.txt",
        "special_tokens_map.json", "added_tokens.json", "secrets_test.cpp", "password_strength.py",
        "secret_history.cpp", "keys.hpp", "keyboard.cpp", "sort_key.json", "answer_key.json",
        "monkey.json", "environment.yml", "env.py", "history.json", "training_history.csv",
        "config.json", "config.yaml", "docker-compose.yml", "Dockerfile", "settings.json",
        "requirements.txt", "pyproject.toml", "Makefile", "CMakeLists.txt", "README.md",
        ".clang-format", ".env.example", "id_rsa.pub", "known_hosts", "auth.cpp", "oauth.py",
        "login.html", "passport.csv", "compass.txt", "bypass.cpp", "keynote.md", "secretary.csv",
        "public.crt", "cookies.py", "history.txt", "data/tokens.csv", "model.bin"}) {
    files.push_back({name, std::string("of ") + name + "\n"});
  }
  // Code that is named like a secret or shows what one looks like.
  files.push_back({"secrets.h", "#pragma once\nstd::string password_of(const User& user);\n"});
  files.push_back({"credentials.cpp", "#include \"credentials.h\"\nint main() { return 0; }\n"});
  files.push_back({"load.py", "token = os.environ['HF_TOKEN']\npassword = getpass()\n"});
  files.push_back(
      {"pem.cpp", "constexpr auto k = \"-----BEGIN " + std::string("PRIVATE KEY-----\";\n")});
  files.push_back(
      {"aws.md", "As AKIA" + std::string("IOSFODNN7EXAMPLE or ghp_") + std::string(36, 'x')});
  files.push_back({"style.css", ".sk-fading-circle-wrapper-of-the-spinner { top: 0 }\n"});
  files.push_back({"run.sh", "#!/bin/sh\nexport TOKEN=$1\n./train --token \"$TOKEN\"\n"});
  return files;
}

}  // namespace flor::testing
