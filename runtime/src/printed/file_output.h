// The text that a recorded program prints to regular files: read from these files.
#pragma once

#include "printed/file_sharing.h"
#include "printed/printed_output.h"
#include "protocol/printed_tape.h"

#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string_view>
#include <thread>
#include <vector>

namespace flor::detail {

/// Notes how far the files have come at each place, and reads them later. The program prints as if
/// this object did not exist. A file of the home has the facts that are needed to find the text if
/// the program dies.
class FileOutput final : public PrintedOutput {
 public:
  /// Opens the files; `begin` begins to keep what comes to them.
  explicit FileOutput(const Options& options);
  ~FileOutput() override;
  bool reads(int descriptor) const;  ///< whether what is printed there goes to one of the files
  bool is_shared() const;            ///< whether others print to one of the files
  bool begin();                      ///< returns false if there is no file

  void move_to(std::int64_t epoch, std::string_view path, bool kept) noexcept override;
  void stop() noexcept override;
  std::vector<store::Printed> take(bool all) override;
  void written() noexcept override;
  void drop() noexcept override;

 private:
  /// Values whose change makes the facts other ones.
  struct Noted {
    std::uint64_t position = 0, written = 0, marks = UINT64_MAX;
    std::int64_t offset = 0;
    std::uint32_t failed = 0;
    bool operator==(const Noted&) const = default;
  };
  struct Stream {
    std::unique_ptr<PrintedLog> log;
    FileId id;
    int file = -1;  ///< to read
    /// The program's own description of the file, for its position; -1 if it appends.
    int own = -1;
    std::uint64_t taken = 0, marks = 0;  ///< positions of `collect`
    std::uint64_t given = 0;             ///< returned by `take`
    Noted noted;
  };
  struct Range {
    std::size_t begin = 0, size = 0;
  };

  void open_stream(int descriptor, store::Printed::Stream kind, const Options& options);
  void look(Stream& stream) noexcept;
  void collect(bool all);
  void stop_if_shared(const std::vector<bool>& shared);
  void note() noexcept;
  std::vector<Range> copy_facts(std::int64_t now);
  void watch_files(const std::stop_token& stop) noexcept;
  void forget_facts() noexcept;

  std::filesystem::path rest_;
  int facts_ = -1;  // descriptor of `rest_`
  std::vector<Stream> streams_;
  std::mutex mutex_;
  bool ended_ = false;  // no more is read than was printed until then
  std::vector<store::Printed> pieces_;
  std::vector<std::byte> copy_;  // for the thread that notes
  std::int64_t next_number_ = 0, next_take_us_ = 0;
  std::condition_variable_any changed_;
  std::jthread watcher_;  // last, since it uses the members above
};

}  // namespace flor::detail
