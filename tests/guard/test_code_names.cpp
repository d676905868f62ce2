// Names of functions, out of the symbol tables in files; readable ones of simple C++ names.
#include "preload/log/code_names.h"

#include <gtest/gtest.h>

#include <string>

namespace syncopate::shim {
namespace {

std::string readable(const char* symbol, std::size_t room = 64) {
  std::string name(room, '?');
  copy_readable(symbol, name.data(), room);
  return name.c_str();
}

TEST(CodeNames, SimpleOnesAreReadable) {
  EXPECT_EQ(readable("main"), "main");
  EXPECT_EQ(readable("_Z4workPv"), "work");
  EXPECT_EQ(readable("_ZN3Map3getEv"), "Map::get");
  EXPECT_EQ(readable("_ZNK3one3two5threeEi"), "one::two::three");
  EXPECT_EQ(readable("_ZN12_GLOBAL__N_14workEv"), "(anonymous)::work");
}

TEST(CodeNames, OthersAreCopied) {
  for (const char* symbol : {"_ZN3MapC1Ev", "_ZN3MapIiE3getEv", "_ZSt4moveIiE", "_Z3getIiEvT_",
                             "_Z9", "_Z99short", "_ZN3Map", "_Z", ""})
    EXPECT_EQ(readable(symbol), symbol);
}

TEST(CodeNames, WhatIsTooLongEndsEarly) {
  EXPECT_EQ(readable("a_long_name", 7), "a_long");
  EXPECT_EQ(readable("_ZN6abcdef6ghijklEv", 10), "abcdef::g");
}

TEST(CodeNames, FilesThatTellNothing) {
  char name[16];
  EXPECT_FALSE(find_code_name("/nonexistent", 1, name, sizeof name));
  EXPECT_FALSE(find_code_name("/etc/passwd", 1, name, sizeof name)) << "no ELF file";
  EXPECT_FALSE(find_code_name("/proc/self/exe", 0, name, sizeof name)) << "no function there";
}

}  // namespace
}  // namespace syncopate::shim
