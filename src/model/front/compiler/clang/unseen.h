// unseen.h -- what clang's thread sanitizer leaves out of calls: structs that are passed by value
// from where they stand, and inline assembly. The first are reported as reads. Where the second may
// touch memory is written down in the section .syncopate.unseen of the object (file:line, a string
// each): what it does no machine sees; the explored one says so (names/unseen.h). But where it is a
// fence, one of the language is put before it.
#pragma once

#include "model/front/compiler/fences.h"

#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

#include <cstddef>
#include <set>
#include <string>
#include <vector>

namespace unseen {

namespace fences = syncopate::fences;

// An operand, a clobber or a bracket of the template says that it may.
inline bool may_touch_memory(const llvm::InlineAsm& assembly) {
  const std::string& text = assembly.getAsmString();
  if (fences::meaning_of(text.c_str()) != fences::meaning::other) return false;
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
inline bool show_fences(llvm::Function& function) {
  std::vector<llvm::CallBase*> found;
  for (llvm::Instruction& each : llvm::instructions(function)) {
    auto* const call = llvm::dyn_cast<llvm::CallBase>(&each);
    if (call == nullptr || !call->isInlineAsm()) continue;
    const auto* const assembly = llvm::cast<llvm::InlineAsm>(call->getCalledOperand());
    if (assembly->getConstraintString().find("~{memory}") == std::string::npos) continue;
    if (fences::meaning_of(assembly->getAsmString().c_str()) == fences::meaning::fence)
      found.push_back(call);
  }
  for (llvm::CallBase* const each : found)
    llvm::IRBuilder<>(each).CreateFence(llvm::AtomicOrdering::SequentiallyConsistent);
  return !found.empty();
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
