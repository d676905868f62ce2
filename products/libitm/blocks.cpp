// blocks.cpp -- memcpy, memmove and memset in every variant.
//
// The name says how each side is to be accessed: Rn / Rt the source plainly or by the transaction,
// Wn / Wt the destination; taR / taW say that the transaction has read or written it before.
#include "abi.h"

#include <cstring>

using namespace syncopate::tm;

namespace {

constexpr std::size_t chunk = 512;

void copy_piece(void* to, bool to_shared, const void* from, bool from_shared, std::size_t size,
                transaction* tx) noexcept {
  if (!from_shared) return tx->ops->store_block(to, from, size, tx);
  if (!to_shared) return tx->ops->load_block(to, from, size, tx);
  unsigned char between[chunk];
  tx->ops->load_block(between, from, size, tx);
  tx->ops->store_block(to, between, size, tx);
}

// Copies in chunks, in the direction in which overlapping areas do not spoil each other.
void copy(void* to, bool to_shared, const void* from, bool from_shared, std::size_t size) noexcept {
  transaction* const tx = current;
  auto* const t = static_cast<char*>(to);
  const auto* const f = static_cast<const char*>(from);
  const bool backwards = static_cast<std::size_t>(t - f) < size;
  for (std::size_t done = 0; done < size;) {
    const std::size_t now = size - done < chunk ? size - done : chunk;
    const std::size_t at = backwards ? size - done - now : done;
    unsigned char between[chunk];
    if (to_shared != from_shared) {
      // One side is plain memory; where the two overlap, the plain one must be read first.
      if (!from_shared)
        std::memcpy(between, f + at, now), copy_piece(t + at, true, between, false, now, tx);
      else copy_piece(between, false, f + at, true, now, tx), std::memcpy(t + at, between, now);
    } else {
      copy_piece(t + at, true, f + at, true, now, tx);
    }
    done += now;
  }
}

void set(void* to, int value, std::size_t size) noexcept {
  transaction* const tx = current;
  unsigned char between[chunk];
  std::memset(between, value, size < chunk ? size : chunk);
  for (std::size_t done = 0; done < size;) {
    const std::size_t now = size - done < chunk ? size - done : chunk;
    tx->ops->store_block(static_cast<char*>(to) + done, between, now, tx);
    done += now;
  }
}

}  // namespace

// All return the destination. The ABI says that they return nothing, but GCC (11 and 12 at least)
// believes that they return what memcpy, memmove and memset do, and may use it afterwards.
#define SYNCOPATE_COPY(READ, WRITE, FROM, TO)                                                   \
  SYNCOPATE_ITM void* _ITM_memcpy##READ##WRITE(void* to, const void* from, std::size_t size) {  \
    copy(to, TO, from, FROM, size);                                                             \
    return to;                                                                                  \
  }                                                                                             \
  SYNCOPATE_ITM void* _ITM_memmove##READ##WRITE(void* to, const void* from, std::size_t size) { \
    copy(to, TO, from, FROM, size);                                                             \
    return to;                                                                                  \
  }

SYNCOPATE_ITM void* _ITM_memcpyRnWt(void* to, const void* from, std::size_t size) {
  transaction* const tx = current;
  if (tx->eh.any && copy_to_exception(tx, to, from, size)) return to;
  copy(to, true, from, false, size);
  return to;
}
SYNCOPATE_ITM void* _ITM_memmoveRnWt(void* to, const void* from, std::size_t size) {
  copy(to, true, from, false, size);
  return to;
}
SYNCOPATE_COPY(Rn, WtaR, false, true)
SYNCOPATE_COPY(Rn, WtaW, false, true)
SYNCOPATE_COPY(Rt, Wn, true, false)
SYNCOPATE_COPY(Rt, Wt, true, true)
SYNCOPATE_COPY(Rt, WtaR, true, true)
SYNCOPATE_COPY(Rt, WtaW, true, true)
SYNCOPATE_COPY(RtaR, Wn, true, false)
SYNCOPATE_COPY(RtaR, Wt, true, true)
SYNCOPATE_COPY(RtaR, WtaR, true, true)
SYNCOPATE_COPY(RtaR, WtaW, true, true)
SYNCOPATE_COPY(RtaW, Wn, true, false)
SYNCOPATE_COPY(RtaW, Wt, true, true)
SYNCOPATE_COPY(RtaW, WtaR, true, true)
SYNCOPATE_COPY(RtaW, WtaW, true, true)

#define SYNCOPATE_SET(WRITE)                                                      \
  SYNCOPATE_ITM void* _ITM_memset##WRITE(void* to, int value, std::size_t size) { \
    set(to, value, size);                                                         \
    return to;                                                                    \
  }

SYNCOPATE_SET(W)
SYNCOPATE_SET(WaR)
SYNCOPATE_SET(WaW)
