// unseen.h -- what clang's thread sanitizer leaves out of calls: structs that are passed by value
// from where they stand, and inline assembly. The first are reported as reads. Where the second may
// touch memory is written down in the section .syncopate.unseen of the object (file:line, a string
// each): what it does no machine sees; the explored one says so (names/unseen.h).
#pragma once

#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

#include <cstddef>
#include <set>
#include <string>

namespace unseen {

// An operand, a clobber or a bracket of the template says that it may.
inline bool may_touch_memory(const llvm::InlineAsm& assembly) {
  const std::string& text = assembly.getAsmString();
  if (text.find_first_not_of(" \t\n;") == std::string::npos) return false;  // only for the compiler
  const std::string& operands = assembly.getConstraintString();
  return operands.find('*') != std::string::npos ||
         operands.find("~{memory}") != std::string::npos ||
         text.find_first_of("([") != std::string::npos;
}

inline std::string place_of(const llvm::Instruction& each) {
  const llvm::DILocation* const at = each.getDebugLoc().get();
  return at == nullptr ? "" : at->getFilename().str() + ':' + std::to_string(at->getLine());
}

inline std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char each : text) {
    if (each == '"' || each == '\\') result += '\\';
    result += each;
  }
  return result + '"';
}

// Returns whether there was any.
inline bool write_places(llvm::Module& module) {
  std::set<std::string> places;
  for (const llvm::Function& function : module) {
    for (const llvm::Instruction& each : llvm::instructions(function)) {
      const auto* const call = llvm::dyn_cast<llvm::CallBase>(&each);
      if (call == nullptr || !call->isInlineAsm()) continue;
      if (may_touch_memory(*llvm::cast<llvm::InlineAsm>(call->getCalledOperand())))
        places.insert(place_of(each));
    }
  }
  places.erase("");
  if (places.empty()) return false;
  std::string text = ".pushsection .syncopate.unseen,\"MS\",@progbits,1\n";
  for (const std::string& each : places) text += ".asciz " + quoted(each) + "\n";
  module.appendModuleInlineAsm(text + ".popsection\n");
  return true;
}

}  // namespace unseen
