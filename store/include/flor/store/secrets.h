// Secrets: the forms that keys and tokens have, and texts as they are recorded, without them.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flor::store {

/// Stands in a record where a secret stood.
inline constexpr std::string_view kMasked = "***";

/// A key or token of a form that is known to be one.
struct FoundSecret {
  std::size_t at = 0, size = 0;
  std::string_view kind;  ///< "GitHub token", "private key"
};

/// The first in `text`. `plausible`: only one that looks like a real key, as source code and
/// documents have the forms themselves, and examples.
std::optional<FoundSecret> find_secret(std::string_view text, bool plausible = false);

/// True for a name (of an option, a variable, an argument) and a value that are those of a secret:
/// "password", "--api-key", "AWS_SECRET_ACCESS_KEY"; not "max_tokens", nor "eos-token" with "</s>".
bool is_secret(std::string_view name, std::string_view value);

/// Further names for `is_secret`, separated by commas, from now on in this process.
void add_secret_names(std::string_view names);

/// `text` with `kMasked` for the values of secret names in it ("db.password=x", "{"token": "x"}",
/// "Authorization: Bearer x"), for the passwords of URLs and for what `find_secret` finds. Masking
/// twice is the same as once.
std::string masked(std::string_view text);
/// The same for the value of an option, variable or argument called `name`.
std::string masked_value(std::string_view name, std::string_view value);
bool is_masked(std::string_view value);

/// The variable from which a replay or resume takes a value that the record masks:
/// "FLOR_SECRET_API_KEY" for "--api-key".
std::string secret_variable(std::string_view name);

/// A value of a command line that is masked.
struct MaskedWord {
  std::size_t at = 0;      ///< number of the word
  std::size_t begins = 0;  ///< where the value begins in it
  std::string name;        ///< of the option or variable; of a bare word its number
};

/// A command line as it is recorded: made from any words, it holds them masked. There is no other
/// way to make one, so that no secret of a command line can enter a record.
class RecordedCommand {
 public:
  RecordedCommand() = default;
  RecordedCommand(const std::vector<std::string>& words);  // NOLINT: each command line becomes one
  RecordedCommand(std::initializer_list<std::string> words);

  const std::vector<std::string>& words() const { return words_; }
  bool empty() const { return words_.empty(); }
  std::string text() const;  ///< the words with blanks between them
  std::vector<MaskedWord> masked_words() const;
  bool operator==(const RecordedCommand&) const = default;

 private:
  std::vector<std::string> words_;
};

/// A text of a program, as the message of an exception, as it is recorded: made from any text, it
/// holds that masked.
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
