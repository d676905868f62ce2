// weak_exchanges.h -- clang's thread sanitizer makes of each compare-exchange a call that returns
// the value found. A weak one that has failed for no reason would look like one that has succeeded;
// so these become calls of the machine's own (tsan_atomic.cpp).
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Support/AtomicOrdering.h>

#include <cstdint>
#include <string>
#include <vector>

namespace weak_exchanges {

inline bool is_called_for(const llvm::AtomicCmpXchgInst& each) {
  const llvm::Type* const value = each.getCompareOperand()->getType();
  return each.isWeak() && each.getSyncScopeID() == llvm::SyncScope::System &&
         each.getPointerAddressSpace() == 0 && value->isIntegerTy() &&
         value->getIntegerBitWidth() <= 128;
}

// Before: {found, exchanged} = cmpxchg weak at, expected, desired.
// After:  found = syncopate_atomicN_compare_exchange_weak(at, expected, desired, order, failed);
//         exchanged = syncopate_atomic_has_exchanged() != 0.
inline void call(llvm::AtomicCmpXchgInst& each) {
  llvm::Module& module = *each.getModule();
  llvm::Type* const value = each.getCompareOperand()->getType();
  llvm::IRBuilder<> code(&each);
  const auto order = [&](llvm::AtomicOrdering of) {
    return code.getInt32(static_cast<std::uint32_t>(llvm::toCABI(of)));
  };
  const llvm::FunctionCallee exchange = module.getOrInsertFunction(
      "syncopate_atomic" + std::to_string(value->getIntegerBitWidth()) + "_compare_exchange_weak",
      value, code.getInt8PtrTy(), value, value, code.getInt32Ty(), code.getInt32Ty());
  const llvm::FunctionCallee has_exchanged =
      module.getOrInsertFunction("syncopate_atomic_has_exchanged", code.getInt32Ty());
  llvm::Value* const found = code.CreateCall(
      exchange, {code.CreatePointerCast(each.getPointerOperand(), code.getInt8PtrTy()),
                 each.getCompareOperand(), each.getNewValOperand(),
                 order(each.getSuccessOrdering()), order(each.getFailureOrdering())});
  llvm::Value* const exchanged = code.CreateIsNotNull(code.CreateCall(has_exchanged));
  llvm::Value* const both = llvm::UndefValue::get(each.getType());
  each.replaceAllUsesWith(
      code.CreateInsertValue(code.CreateInsertValue(both, found, 0), exchanged, 1));
  each.eraseFromParent();
}

// Returns whether there was one.
inline bool call_all(llvm::Function& function) {
  std::vector<llvm::AtomicCmpXchgInst*> found;
  for (llvm::Instruction& each : llvm::instructions(function))
    if (auto* const exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&each);
        exchange != nullptr && is_called_for(*exchange))
      found.push_back(exchange);
  for (llvm::AtomicCmpXchgInst* const each : found) call(*each);
  return !found.empty();
}

}  // namespace weak_exchanges
