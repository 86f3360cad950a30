// What the frames of a journal hold, where it is not what a writer of events has written.
#include "database/store_impl.h"
#include "index/copies/run_image.h"
#include "index/placing.h"
#include "journal/events.h"
#include "journal/fields.h"
#include "store_fixture.h"
#include "support/sanitized.h"

#include <flor/store/error.h>

#include <sys/resource.h>
#include <zstd.h>

#include <functional>
#include <vector>

namespace flor::store {
namespace {

using Buffer = std::vector<std::byte>;

/// The header of a frame of zstd that claims a GiB and has a byte.
Buffer claim() {
  Buffer frame;
  append(frame, std::uint32_t{0xFD2FB528});
  append(frame, std::uint8_t{0x80});  // four bytes of length follow the window
  append(frame, std::uint8_t{0x38});
  append(frame, std::uint32_t{1u << 30});
  for (const int byte : {0x09, 0x00, 0x00, 0x78}) frame.push_back(static_cast<std::byte>(byte));
  return frame;
}

/// A GiB of zeros, in some tens of KiB.
Buffer bomb() {
  const Buffer zeros(std::size_t{1} << 20);
  Buffer frame(ZSTD_compressBound(std::size_t{1} << 20));
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_outBuffer out{frame.data(), frame.size(), 0};
  for (int i = 0; i < 1024; ++i) {
    ZSTD_inBuffer in{zeros.data(), zeros.size(), 0};
    ZSTD_compressStream2(context, &out, &in, i < 1023 ? ZSTD_e_continue : ZSTD_e_end);
  }
  ZSTD_freeCCtx(context);
  frame.resize(out.pos);
  return frame;
}

class EventsTest : public StoreTest {
 protected:
  /// KiB that a process takes for it, which ends with Damaged.
  static long peak_of_refusing(const std::function<void()>& body) {
    int ends[2];
    if (::pipe(ends) != 0) return -1;
    const pid_t child = start_process([&] {
      const auto peak = [] {
        rusage usage{};
        ::getrusage(RUSAGE_SELF, &usage);
        return usage.ru_maxrss;
      };
      const long before = peak();
      try {
        body();
        return 1;
      } catch (const Damaged&) {
      }
      const long more = peak() - before;
      return ::write(ends[1], &more, sizeof(more)) == sizeof(more) ? 0 : 2;
    });
    long more = -1;
    EXPECT_EQ(wait_for(child), 0);
    EXPECT_EQ(::read(ends[0], &more, sizeof(more)), static_cast<ssize_t>(sizeof(more)));
    for (const int end : ends) ::close(end);
    return more;
  }

  /// An event of a kind that packs its checkpoints.
  static Buffer discard_with(const Buffer& packed) {
    Buffer payload;
    FieldWriter writer(payload);
    writer(1, std::int64_t{5});
    writer(3, packed);
    return payload;
  }
};

TEST_F(EventsTest, MemoryIsInProportionToWhatAnEventHasNotToWhatItClaims) {
  open();
  const auto decode = [](const Buffer& packed) {
    decode_event<DiscardEvent>(discard_with(packed));
  };
  const auto allowed = [](long mib) { return flor::testing::kMemoryFactor * (mib << 10); };
  const auto copy = [&](const Buffer& image) {
    const auto store = open();
    Database& database = *store->impl().database;
    Placing placing(database);
    CopyEvent event;
    event.database = image;
    apply_copy(database, placing, "0123456789abcdef", event);
  };
  const Buffer lie = claim(), much = bomb();
  EXPECT_LT(lie.size(), 60u);
  EXPECT_LT(much.size(), 100u << 10);
  EXPECT_LT(peak_of_refusing([&] { decode(lie); }), allowed(16));
  EXPECT_LT(peak_of_refusing([&] { copy(lie); }), allowed(16));
  EXPECT_LT(peak_of_refusing([&] { decode(much); }), allowed(128));
  EXPECT_LT(peak_of_refusing([&] { copy(much); }), allowed(128));
}

}  // namespace
}  // namespace flor::store
