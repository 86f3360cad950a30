// The .pt format of torch: a ZIP file with a pickle that describes a dictionary of tensors, and an
// entry with the content of each tensor.
#include "base/little_endian.h"
#include "checkpoint/transfer.h"
#include "checkpoint/zip_writer.h"
#include "database/store_impl.h"

#include <flor/store/error.h>
#include <flor/store/store.h>

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <set>
#include <span>

namespace flor::store {
namespace {

std::string_view storage_of(ElementType type) {
  switch (type) {
    case ElementType::boolean:
      return "BoolStorage";
    case ElementType::i8:
      return "CharStorage";
    case ElementType::i16:
      return "ShortStorage";
    case ElementType::i32:
      return "IntStorage";
    case ElementType::i64:
      return "LongStorage";
    case ElementType::f16:
      return "HalfStorage";
    case ElementType::bf16:
      return "BFloat16Storage";
    case ElementType::f32:
      return "FloatStorage";
    case ElementType::f64:
      return "DoubleStorage";
    case ElementType::c64:
      return "ComplexFloatStorage";
    case ElementType::c128:
      return "ComplexDoubleStorage";
    case ElementType::bytes:
    case ElementType::u8:
      break;
  }
  return "ByteStorage";
}

/// Writes Python's pickle protocol 2, as far as a dictionary of tensors needs it.
class Pickle {
 public:
  Pickle() { put("\x80\x02}("); }

  void add(std::string_view name, const Item& item, std::size_t record) {
    text(name);
    put("ctorch._utils\n_rebuild_tensor_v2\n(");
    storage(item, record);
    integer(0);  // offset of the first element in the storage
    shape(item);
    put("\x89");  // requires_grad=False
    put("ccollections\nOrderedDict\n)R");
    put("tR");
  }

  std::string finish() {
    put("u.");
    return std::move(bytes_);
  }

 private:
  static std::vector<std::int64_t> sizes_of(const Item& item) {
    if (item.type != ElementType::bytes) return item.sizes;
    return {static_cast<std::int64_t>(item.bytes)};
  }

  void storage(const Item& item, std::size_t record) {
    put("(");
    text("storage");
    put(fmt::format("ctorch\n{}\n", storage_of(item.type)));
    text(std::to_string(record));
    text("cpu");
    integer(static_cast<std::int64_t>(item.bytes / element_size(item.type)));
    put("tQ");
  }

  void shape(const Item& item) {
    const std::vector<std::int64_t> sizes = sizes_of(item);
    put("(");
    for (const std::int64_t size : sizes) integer(size);
    put("t(");
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      std::int64_t stride = 1;
      for (const std::int64_t size : std::span(sizes).subspan(i + 1)) {
        stride *= std::max<std::int64_t>(size, 1);
      }
      integer(stride);
    }
    put("t");
  }

  void put(std::string_view bytes) { bytes_ += bytes; }

  template <typename T>
  void number(T value) {
    for (std::size_t i = 0; i < sizeof(T); ++i)
      bytes_ += static_cast<char>(value >> (8 * i) & 0xFF);
  }

  void text(std::string_view text) {
    put("X");
    number(static_cast<std::uint32_t>(text.size()));
    put(text);
  }

  void integer(std::int64_t value) {
    if (value <= std::numeric_limits<std::int32_t>::max()) {
      put("J");
      number(static_cast<std::uint32_t>(value));
    } else {
      put("\x8a\x08");
      number(static_cast<std::uint64_t>(value));
    }
  }

  std::string bytes_;
};

}  // namespace

ExportReport write_torch_archive(const Store& store, const CheckpointReader& checkpoint,
                                 std::span<const ArchivedTensor> tensors,
                                 const std::filesystem::path& file, const std::stop_token& stop) {
  ExportReport report;
  Pickle pickle;
  std::set<std::size_t> records;
  for (const ArchivedTensor& tensor : tensors) {
    const Item& item = checkpoint.items().at(tensor.item);
    pickle.add(tensor.name, item, tensor.item);
    records.insert(tensor.item);
    ++(item.type == ElementType::bytes ? report.others : report.tensors);
  }
  NewFile out(store.impl().database->files, file);
  ZipWriter zip(out);
  const auto add_text = [&](std::string_view name, std::string_view text) {
    zip.add(name, std::as_bytes(std::span(text)));
  };
  add_text("archive/data.pkl", pickle.finish());
  add_text("archive/byteorder", "little");
  for (const std::size_t item : records) {
    throw_if_stopped(stop);
    zip.add(fmt::format("archive/data/{}", item), checkpoint.read(item));
  }
  throw_if_stopped(stop);
  add_text("archive/version", "3\n");
  zip.finish();
  out.finish();
  report.bytes = out.bytes();
  return report;
}

}  // namespace flor::store
