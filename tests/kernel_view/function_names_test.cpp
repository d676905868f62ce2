// function_names_test.cpp -- the names of functions are those that libdwfl gives, for the modules
// of this very process: the C and C++ libraries, and the program itself.
#include "record/kernel/function_names.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdint>
#include <string>
#include <vector>

namespace syncopate::record::kernel {
namespace {

int no_debug_information(Dwfl_Module*, void**, const char*, Dwarf_Addr, const char*, const char*,
                         GElf_Word, char**) {
  return -1;
}

class FunctionNames : public ::testing::Test {
 protected:
  FunctionNames() : dwfl_(dwfl_begin(&files_)) {
    dwfl_report_begin(dwfl_);
    dwfl_linux_proc_report(dwfl_, ::getpid());
    dwfl_report_end(dwfl_, nullptr, nullptr);
  }
  ~FunctionNames() override { dwfl_end(dwfl_); }

  // The module of a function of this process.
  template <class Function>
  Dwfl_Module* module_of(Function* function) const {
    return dwfl_addrmodule(dwfl_, reinterpret_cast<std::uintptr_t>(function));
  }

  // Begin, middle and end of each third function of a module, and what lies before and behind it.
  static std::vector<std::uint64_t> places(Dwfl_Module* module) {
    std::vector<std::uint64_t> found;
    const int count = dwfl_module_getsymtab(module);
    for (int i = 1; i < count; i += 3) {  // libdwfl takes seconds for all
      GElf_Sym symbol;
      GElf_Addr at = 0;
      if (dwfl_module_getsym_info(module, i, &symbol, &at, nullptr, nullptr, nullptr) == nullptr ||
          GELF_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF)
        continue;
      const std::uint64_t end = at + symbol.st_size;
      found.insert(found.end(), {at, (at + end) / 2, end - 1, at - 1, end});
    }
    return found;
  }

  static void expect_as_the_library(Dwfl_Module* module) {
    const function_names names(module);
    const std::vector<std::uint64_t> all = places(module);
    EXPECT_GT(all.size(), 500U);
    for (const std::uint64_t at : all) {
      GElf_Off inside = 0;
      GElf_Sym symbol{};
      const char* expected =
          dwfl_module_addrinfo(module, at, &inside, &symbol, nullptr, nullptr, nullptr);
      const bool covers = expected != nullptr && (symbol.st_size == 0 || inside < symbol.st_size);
      const function_names::found found = names.at(at);
      EXPECT_STREQ(found.name, covers ? expected : nullptr) << std::hex << at;
      EXPECT_EQ(found.is_sized, covers && symbol.st_size != 0) << std::hex << at;
    }
  }

  Dwfl* dwfl_;

 private:
  static inline char* debug_path_ = nullptr;
  static constexpr Dwfl_Callbacks files_ = {.find_elf = dwfl_linux_proc_find_elf,
                                            .find_debuginfo = no_debug_information,
                                            .section_address = nullptr,
                                            .debuginfo_path = &debug_path_};
};

TEST_F(FunctionNames, AreThoseOfLibdwfl) {
  {
    SCOPED_TRACE("the C library");
    expect_as_the_library(module_of(&::getpid));
  }
  {
    SCOPED_TRACE("the C++ library");
    expect_as_the_library(module_of(&std::terminate));
  }
  SCOPED_TRACE("the program");
  expect_as_the_library(module_of(&no_debug_information));
}

TEST_F(FunctionNames, AreNoneOutsideOfTheModule) {
  const function_names names(module_of(&no_debug_information));
  EXPECT_EQ(names.at(0).name, nullptr);
  EXPECT_EQ(names.at(~std::uint64_t{0}).name, nullptr);
}

}  // namespace
}  // namespace syncopate::record::kernel
