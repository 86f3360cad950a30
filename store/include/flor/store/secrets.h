// Secrets: how keys and tokens are recognised, and how texts are recorded without them.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flor::store {

/// Replaces a secret in a record.
inline constexpr std::string_view kMasked = "***";

/// A key or token that was recognised by its form.
struct FoundSecret {
  std::size_t at = 0, size = 0;
  std::string_view kind;  ///< "GitHub token", "private key"
};

/// Returns the first secret in `text`. `plausible`: only one that looks like a real key, for source
/// code and documents, which contain such forms and examples.
std::optional<FoundSecret> find_secret(std::string_view text, bool plausible = false);

/// True if a name (of an option, variable or argument) and its value look like a secret: names such
/// as "password", "--api-key", "AWS_SECRET_ACCESS_KEY"; not "max_tokens", nor "eos-token" with the
/// value "</s>".
bool is_secret(std::string_view name, std::string_view value);

/// Adds names, separated by commas, that `is_secret` recognises in this process.
void add_secret_names(std::string_view names);

/// Returns `text` with `kMasked` in place of the values of secret names ("db.password=x",
/// "{"token": "x"}", "Authorization: Bearer x"), passwords in URLs, and whatever `find_secret`
/// finds. Masking a masked text changes nothing.
std::string masked(std::string_view text);
/// Returns `value` masked, as the value of an option, variable or argument called `name`.
std::string masked_value(std::string_view name, std::string_view value);
bool is_masked(std::string_view value);

/// Returns the environment variable from which a replay or resume reads a value that is masked in
/// the record: "FLOR_SECRET_API_KEY" for "--api-key".
std::string secret_variable(std::string_view name);

/// A word of a command line whose value is masked.
struct MaskedWord {
  std::size_t at = 0;      ///< index of the word
  std::size_t begins = 0;  ///< offset of the value in the word
  std::string name;        ///< name of the option or variable; without a name, the index of the
                           ///< word
};

/// A command line as it is recorded. Every constructor masks secrets, so that none can enter a
/// record.
class RecordedCommand {
 public:
  RecordedCommand() = default;
  RecordedCommand(const std::vector<std::string>& words);  // NOLINT: each command line becomes one
  RecordedCommand(std::initializer_list<std::string> words);

  const std::vector<std::string>& words() const { return words_; }
  bool empty() const { return words_.empty(); }
  std::string text() const;  ///< the words, separated by spaces
  std::vector<MaskedWord> masked_words() const;
  bool operator==(const RecordedCommand&) const = default;

 private:
  std::vector<std::string> words_;
};

/// A text from a program, such as an exception's message, as it is recorded. Every constructor
/// masks secrets.
class RecordedText {
 public:
  RecordedText() = default;
  RecordedText(std::string_view text) : text_(masked(text)) {}           // NOLINT: see above
  RecordedText(const std::string& text) : text_(masked(text)) {}         // NOLINT
  RecordedText(const char* text) : text_(masked(text)) {}                // NOLINT

  const std::string& text() const { return text_; }
  bool operator==(const RecordedText&) const = default;

 private:
  std::string text_;
};

}  // namespace flor::store
