#include "model/front/threads/thread_locals.h"

#include <cerrno>
#include <cstring>

#include <link.h>

#include "model/front/threads/arch.h"

namespace syncopate::instrument {

namespace {

// Blocks of modules loaded later are allocated elsewhere, far from the thread pointer.
constexpr std::uintptr_t farthest_static_block = std::uintptr_t{64} << 20;

bool belongs_to_libc(const dl_phdr_info& module, std::uintptr_t data, std::size_t bytes) {
  const auto error_number = reinterpret_cast<std::uintptr_t>(&errno);
  if (error_number - data < bytes) return true;
  return module.dlpi_name != nullptr && std::strstr(module.dlpi_name, "/ld-linux") != nullptr;
}

int add_module(dl_phdr_info* module, std::size_t, void* blocks) {
  const auto data = reinterpret_cast<std::uintptr_t>(module->dlpi_tls_data);
  const std::uintptr_t top = thread_pointer();
  if (data == 0 || data >= top || top - data > farthest_static_block) return 0;
  for (int i = 0; i < module->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = module->dlpi_phdr[i];
    if (header.p_type != PT_TLS || belongs_to_libc(*module, data, header.p_memsz)) continue;
    static_cast<std::vector<local_block>*>(blocks)->push_back(
        {static_cast<std::ptrdiff_t>(data - top), header.p_memsz,
         reinterpret_cast<const unsigned char*>(module->dlpi_addr + header.p_vaddr),
         header.p_filesz});
  }
  return 0;
}

// (The loader tells of the calling thread's block; null: it has none yet.)
int reset_late_module(dl_phdr_info* module, std::size_t, void*) {
  const auto data = reinterpret_cast<std::uintptr_t>(module->dlpi_tls_data);
  if (data == 0) return 0;
  const auto offset = static_cast<std::ptrdiff_t>(data - thread_pointer());
  for (const local_block& block : local_blocks())
    if (block.offset == offset) return 0;
  for (int i = 0; i < module->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = module->dlpi_phdr[i];
    if (header.p_type != PT_TLS || belongs_to_libc(*module, data, header.p_memsz)) continue;
    auto* const at = static_cast<unsigned char*>(module->dlpi_tls_data);
    std::memcpy(at, reinterpret_cast<const void*>(module->dlpi_addr + header.p_vaddr),
                header.p_filesz);
    std::memset(at + header.p_filesz, 0, header.p_memsz - header.p_filesz);
  }
  return 0;
}

void* place(std::uintptr_t thread_pointer, const local_block& block) {
  return reinterpret_cast<void*>(thread_pointer + static_cast<std::uintptr_t>(block.offset));
}

}  // namespace

const std::vector<local_block>& local_blocks() {
  // Never destroyed: fibers are made until the process ends.
  static const auto& blocks = *[] {
    auto* found = new std::vector<local_block>;
    dl_iterate_phdr(add_module, found);
    return found;
  }();
  return blocks;
}

std::size_t locals_reach() {
  std::ptrdiff_t lowest = 0;
  for (const local_block& block : local_blocks()) {
    if (block.offset < lowest) lowest = block.offset;
  }
  return static_cast<std::size_t>(-lowest);
}

void reset_locals(std::uintptr_t thread_pointer) {
  for (const local_block& block : local_blocks()) {
    auto* at = static_cast<unsigned char*>(place(thread_pointer, block));
    std::memcpy(at, block.image, block.image_bytes);
    std::memset(at + block.image_bytes, 0, block.bytes - block.image_bytes);
  }
}

void reset_late_locals() { dl_iterate_phdr(reset_late_module, nullptr); }

void copy_locals(std::uintptr_t to, std::uintptr_t from) {
  for (const local_block& block : local_blocks()) {
    std::memcpy(place(to, block), place(from, block), block.bytes);
  }
}

std::vector<unsigned char> save_locals(std::uintptr_t thread_pointer) {
  std::vector<unsigned char> bytes;
  for (const local_block& block : local_blocks()) {
    const auto* at = static_cast<const unsigned char*>(place(thread_pointer, block));
    bytes.insert(bytes.end(), at, at + block.bytes);
  }
  return bytes;
}

void put_back_locals(std::uintptr_t thread_pointer, const std::vector<unsigned char>& bytes) {
  const unsigned char* from = bytes.data();
  for (const local_block& block : local_blocks()) {
    std::memcpy(place(thread_pointer, block), from, block.bytes);
    from += block.bytes;
  }
}

}  // namespace syncopate::instrument
