// printing.cpp -- snprintf and vsnprintf in transactions: the format and the strings are copied to
// private memory, the C library prints to private memory from there, and the result is copied.
//
// The list of arguments with the copies in it is made by hand, as the x86-64 calling convention has
// it where all registers are used up: eight bytes each, one after the other, long doubles aligned.
#include "tm/libc/format.h"
#include "tm/libc/reader.h"

#include <syncopate/tm/libc.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <cwchar>
#include <utility>

using namespace syncopate::tm;

int tm_snprintf(char* to, std::size_t size, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int printed = std::vsnprintf(to, size, format, arguments);
  va_end(arguments);
  return printed;
}

SYNCOPATE_TM_CLONE(tm_snprintf, 11);
SYNCOPATE_TM_CLONE(tm_vsnprintf, 12);

// A transaction_pure function that runs in a transaction calls this one, not the clone.
int tm_vsnprintf(char* to, std::size_t size, const char* format, va_list arguments) {
  constexpr std::uint32_t may_roll_back = 1;
  if (_ITM_inTransaction() == may_roll_back)
    return clone_of_tm_vsnprintf(to, size, format, arguments);
  return std::vsnprintf(to, size, format, arguments);
}

namespace {

// What a va_list is on x86-64.
struct argument_list {
  unsigned general_offset, floating_offset;
  void* in_memory;
  void* registers;
};
constexpr unsigned no_general_register = 48, no_floating_register = 176;

// Private memory for copies, given back at the end.
class copies {
 public:
  copies() = default;
  copies(const copies&) = delete;
  copies& operator=(const copies&) = delete;
  ~copies() {
    for (int i = 0; i < blocks_; ++i) _ITM_free(block_[i]);
  }
  // Returns null when there is no memory. Requires: at most format_arguments::most + 2 calls.
  char* room(std::size_t size) noexcept {
    size = (size + 7) & ~std::size_t{7};
    if (size <= sizeof short_ - used_) return short_ + std::exchange(used_, used_ + size);
    auto* const block = static_cast<char*>(_ITM_malloc(size));
    if (block != nullptr) block_[blocks_++] = block;
    return block;
  }
  char* string(const char* text, std::size_t limit) noexcept {
    const std::size_t size = length(text, limit);
    char* const copy = room(size + 1);
    if (copy == nullptr) return nullptr;
    _ITM_memcpyRtWn(copy, text, size);
    copy[size] = '\0';
    return copy;
  }
  char* wide_string(const wchar_t* text, std::size_t limit) noexcept {
    std::size_t size = 0;
    for (wchar_t c = L'x'; size < limit; ++size) {
      _ITM_memcpyRtWn(&c, text + size, sizeof c);
      if (c == L'\0') break;
    }
    char* const copy = room((size + 1) * sizeof(wchar_t));
    if (copy == nullptr) return nullptr;
    _ITM_memcpyRtWn(copy, text, size * sizeof(wchar_t));
    std::memset(copy + size * sizeof(wchar_t), 0, sizeof(wchar_t));
    return copy;
  }

 private:
  alignas(16) char short_[512];
  std::size_t used_ = 0;
  void* block_[format_arguments::most + 2];
  int blocks_ = 0;
};

// The arguments, with copies in place of what they point to.
class private_arguments {
 public:
  // Returns false when there is no memory.
  bool collect(const format_arguments& format, argument_list* from, copies& memory) noexcept {
    bool complete = true;
    for (int i = 0; i < format.count(); ++i) {
      where_[i] = used_;
      if (format[i].kind == argument_kind::long_floating) add_long_double(i, from);
      else add_word(fetch(format[i].kind, from));
    }
    for (int i = 0; i < format.count(); ++i) complete = complete && copy_target(format, i, memory);
    return complete;
  }
  // Stores what %n has counted.
  void store_counts(const format_arguments& format) const noexcept {
    for (int i = 0; i < format.count(); ++i)
      if (format[i].kind == argument_kind::count)
        _ITM_memcpyRnWt(reinterpret_cast<void*>(target_[i]), &counted_[i], format[i].width);
  }
  argument_list list() noexcept {
    return {no_general_register, no_floating_register, slots_, nullptr};
  }

 private:
  static std::uint64_t fetch(argument_kind kind, argument_list* from) noexcept {
    auto& list = *reinterpret_cast<va_list*>(from);
    if (kind != argument_kind::floating) return va_arg(list, std::uint64_t);
    const double value = va_arg(list, double);
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
  }
  void add_word(std::uint64_t value) noexcept { slots_[used_++] = value; }
  void add_long_double(int i, argument_list* from) noexcept {
    const long double value = va_arg(*reinterpret_cast<va_list*>(from), long double);
    used_ += used_ % 2;
    where_[i] = used_;
    std::memcpy(&slots_[used_], &value, sizeof value);
    used_ += sizeof value / sizeof slots_[0];
  }

  bool copy_target(const format_arguments& format, int i, copies& memory) noexcept {
    std::uint64_t& slot = slots_[where_[i]];
    const argument& a = format[i];
    if (a.kind == argument_kind::count) {
      target_[i] = slot;
      counted_[i] = 0;
      slot = reinterpret_cast<std::uint64_t>(&counted_[i]);
      return true;
    }
    const bool wide = a.kind == argument_kind::wide_string;
    if ((!wide && a.kind != argument_kind::string) || slot == 0) return true;
    const int other = a.limit_from >= 0 ? static_cast<int>(slots_[where_[a.limit_from]]) : 0;
    const std::size_t most =
        a.unlimited || other < 0 ? SIZE_MAX : static_cast<std::size_t>(std::max(a.limit, other));
    const char* const copy = wide ? memory.wide_string(reinterpret_cast<wchar_t*>(slot), most)
                                  : memory.string(reinterpret_cast<char*>(slot), most);
    slot = reinterpret_cast<std::uint64_t>(copy);
    return copy != nullptr;
  }

  alignas(16) std::uint64_t slots_[3 * format_arguments::most];
  unsigned used_ = 0;
  unsigned where_[format_arguments::most];
  std::uint64_t target_[format_arguments::most];
  std::uint64_t counted_[format_arguments::most];
};

int print(char* to, std::size_t size, const char* format, const argument_list& arguments) noexcept {
  va_list list;
  std::memcpy(&list, &arguments, sizeof arguments);
  const int printed = with_errno([&] { return std::vsnprintf(to, size, format, list); });
  va_end(list);
  return printed;
}

// Prints to private memory, and copies what fits.
int print_and_copy(char* to, std::size_t size, const char* format, const argument_list& arguments,
                   copies& memory) noexcept {
  char brief[256];
  char* text = brief;
  const int printed = print(brief, sizeof brief, format, arguments);
  if (printed < 0 || size == 0) return printed;
  const std::size_t wanted = std::min(size, static_cast<std::size_t>(printed) + 1);
  if (wanted > sizeof brief) {
    text = memory.room(wanted);
    if (text == nullptr) return -1;
    print(text, wanted, format, arguments);
  }
  text[wanted - 1] = '\0';
  _ITM_memcpyRnWt(to, text, wanted);
  return printed;
}

}  // namespace

int clone_of_tm_vsnprintf(char* to, std::size_t size, const char* format, va_list arguments) {
  argument_list original;  // a copy: the transaction may begin again
  static_assert(sizeof original == sizeof(va_list));
  std::memcpy(&original, arguments, sizeof original);
  copies memory;
  const char* const text = memory.string(format, SIZE_MAX);
  if (text == nullptr) return -1;
  format_arguments parsed;
  if (!parsed.parse(text)) {
    // Nobody else may change what the arguments point to.
    _ITM_changeTransactionMode(serial_irrevocable);
    return print_and_copy(to, size, text, original, memory);
  }
  private_arguments copied;
  argument_list walk = original;
  if (!copied.collect(parsed, &walk, memory)) return -1;
  const int printed = print_and_copy(to, size, text, copied.list(), memory);
  copied.store_counts(parsed);
  return printed;
}

int clone_of_tm_snprintf(char* to, std::size_t size, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int printed = clone_of_tm_vsnprintf(to, size, format, arguments);
  va_end(arguments);
  return printed;
}
