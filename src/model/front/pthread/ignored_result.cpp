// ignored_result.cpp -- see ignored_result.h. Follows the instructions behind the call, straight on
// and both ways at a condition, until each way writes the whole of eax, or calls another function
// (which may change eax, and takes nothing from it but the number of vector registers, which the
// caller has to write there). A return, a look at eax, and all that is not known here end it: the
// result may matter.
#include "model/front/pthread/ignored_result.h"

#include <cstdint>
#include <cstring>

namespace syncopate::instrument {

namespace {

constexpr int most_instructions = 40, most_conditions = 4;

enum class effect { none, lost, used };

// One instruction with its operands, as far as they matter: registers 0 to 15, 0 being rax.
class instruction {
 public:
  explicit instruction(const std::uint8_t* at) : at_(at) {
    for (; *at_ == 0x66 || *at_ == 0xf2 || *at_ == 0xf3; ++at_) narrow_ |= *at_ == 0x66;
    if ((*at_ & 0xf0) == 0x40) rex_ = *at_++;
    code_ = *at_++;
    if (code_ == 0x0f) code_ = 0x0f00 | *at_++;
  }

  [[nodiscard]] int code() const { return code_; }
  [[nodiscard]] const std::uint8_t* end() const { return at_; }
  [[nodiscard]] bool is_narrow() const { return narrow_; }
  [[nodiscard]] int low() const { return (code_ & 7) | (rex_ & 1) << 3; }  // push, pop, mov
  [[nodiscard]] bool is_wide() const { return (rex_ & 8) != 0; }

  // Reads the byte of operands and what belongs to it.
  void read_operands(int immediate_bytes) {
    const int modes = *at_++;
    mode_ = modes >> 6;
    reg_ = (modes >> 3 & 7) | (rex_ & 4) << 1;
    rm_ = modes & 7;
    if (mode_ != 3 && rm_ == 4) {
      const int scale = *at_++;
      const int index = (scale >> 3 & 7) | (rex_ & 2) << 2;
      const int base = (scale & 7) | (rex_ & 1) << 3;
      const bool has_base = mode_ != 0 || (scale & 7) != 5;
      addresses_with_rax_ = index == 0 || (has_base && base == 0);
      if (!has_base) at_ += 4;
    } else {
      if (mode_ == 0 && rm_ == 5) at_ += 4;  // relative to the next instruction
      rm_ |= (rex_ & 1) << 3;
      addresses_with_rax_ = mode_ != 3 && rm_ == 0;
    }
    at_ += (mode_ == 1 ? 1 : mode_ == 2 ? 4 : 0) + immediate_bytes;
  }
  void skip(int bytes) { at_ += bytes; }
  [[nodiscard]] bool addresses_with_rax() const { return addresses_with_rax_; }
  [[nodiscard]] int reg() const { return reg_; }
  [[nodiscard]] int digit() const { return reg_ & 7; }
  [[nodiscard]] bool rm_is_rax() const { return mode_ == 3 && rm_ == 0; }

 private:
  const std::uint8_t* at_;
  int code_ = 0, rex_ = 0, mode_ = 0, reg_ = 0, rm_ = 0;
  bool narrow_ = false, addresses_with_rax_ = false;
};

// reg = something of rm.
effect loads(instruction& i) {
  i.read_operands(0);
  if (i.addresses_with_rax() || i.rm_is_rax()) return effect::used;
  return i.reg() != 0 ? effect::none : i.is_narrow() ? effect::used : effect::lost;
}

// rm = something of reg, or a constant.
effect stores(instruction& i, int immediate_bytes) {
  i.read_operands(immediate_bytes);
  if (i.addresses_with_rax() || (immediate_bytes == 0 && i.reg() == 0)) return effect::used;
  return !i.rm_is_rax() ? effect::none : i.is_narrow() ? effect::used : effect::lost;
}

// Looks at both, and may write one of them. `clears`: equal ones give 0, whatever they are.
effect combines(instruction& i, bool clears) {
  i.read_operands(0);
  if (i.addresses_with_rax()) return effect::used;
  if (clears && i.rm_is_rax() && i.reg() == 0 && !i.is_narrow()) return effect::lost;
  return i.reg() == 0 || i.rm_is_rax() ? effect::used : effect::none;
}

// Looks at rm, and may write it.
effect changes(instruction& i, int immediate_bytes) {
  i.read_operands(immediate_bytes);
  return i.addresses_with_rax() || i.rm_is_rax() ? effect::used : effect::none;
}

effect of(instruction& i) {
  const int code = i.code(), word_bytes = i.is_narrow() ? 2 : 4;
  if (code >= 0x50 && code <= 0x57) return i.low() == 0 ? effect::used : effect::none;
  if (code >= 0x58 && code <= 0x5f) return i.low() == 0 ? effect::lost : effect::none;
  if (code >= 0xb8 && code <= 0xbf && !i.is_narrow()) {
    i.skip(i.is_wide() ? 8 : 4);
    return i.low() == 0 ? effect::lost : effect::none;
  }
  switch (code) {
    case 0x90: return effect::none;  // nop
    case 0x8b:
    case 0x8d:
    case 0x63:
    case 0x0fb6:
    case 0x0fb7:
    case 0x0fbe:
    case 0x0fbf: return loads(i);
    case 0x89: return stores(i, 0);
    case 0xc7: return stores(i, word_bytes);
    case 0x01:
    case 0x03:
    case 0x09:
    case 0x0b:
    case 0x21:
    case 0x23:
    case 0x39:
    case 0x3b:
    case 0x84:
    case 0x85: return combines(i, false);
    case 0x29:
    case 0x2b:
    case 0x31:
    case 0x33: return combines(i, true);
    case 0x80:
    case 0x83:
    case 0xc6: return changes(i, 1);
    case 0x81: return changes(i, word_bytes);
    case 0x0f10:
    case 0x0f11:
    case 0x0f1e:
    case 0x0f1f:
    case 0x0f28:
    case 0x0f29:
    case 0x0f57:
    case 0x0f6f:
    case 0x0f7f:
    case 0x0fef: return changes(i, 0);  // vector registers, or nothing
    default: return effect::used;
  }
}

template <class Offset>
const std::uint8_t* jumped_from(const std::uint8_t* at) {
  Offset offset;
  std::memcpy(&offset, at, sizeof offset);
  return at + sizeof offset + offset;
}

bool loses_it(const std::uint8_t* at, int& instructions, int conditions) {
  while (instructions-- > 0) {
    instruction i(at);
    const int code = i.code();
    if (code == 0xe8) return true;  // call
    if (code == 0xeb) {
      at = jumped_from<std::int8_t>(i.end());
    } else if (code == 0xe9) {
      at = jumped_from<std::int32_t>(i.end());
    } else if ((code & 0xf0) == 0x70 || (code & 0xfff0) == 0x0f80) {
      const bool is_short = code < 0x100;
      const auto* const there =
          is_short ? jumped_from<std::int8_t>(i.end()) : jumped_from<std::int32_t>(i.end());
      if (conditions == 0 || !loses_it(there, instructions, conditions - 1)) return false;
      at = i.end() + (is_short ? 1 : 4);
    } else if (code == 0xff) {
      i.read_operands(0);
      return i.digit() == 2 && !i.addresses_with_rax() && !i.rm_is_rax();
    } else {
      const effect e = of(i);
      if (e != effect::none) return e == effect::lost;
      at = i.end();
    }
  }
  return false;
}

}  // namespace

bool ignores_result(const void* where) {
  int instructions = most_instructions;
  return where != nullptr &&
         loses_it(static_cast<const std::uint8_t*>(where), instructions, most_conditions);
}

}  // namespace syncopate::instrument
