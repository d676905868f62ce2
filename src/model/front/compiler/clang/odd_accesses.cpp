// odd_accesses.cpp -- a plugin for clang: reports to the machine what clang's thread sanitizer
// leaves out, plain loads and stores of other than 1, 2, 4, 8 and 16 bytes: AVX's vectors, long
// double, vectors of three. Before each it calls __tsan_read_range or __tsan_write_range. Which
// compare-exchanges are weak it leaves out, too (weak_exchanges.h).
//
// Before LLVM 21 the sanitizer also leaves out what is read or written through the address of an
// element or a member of a variable on the stack, if only the variable's own address is passed on.
//
// And of calls what unseen.h names.
//
// It runs before the sanitizer does, at the same point of the pipeline: after all optimizations, so
// that what these remove is not reported. As there, locals that nobody else can see are left out.
// Masked and gathering intrinsics are not plain loads; they stay unseen.
//
//   clang++ -fsanitize=thread -fpass-plugin=libsyncopate-clang14.so ...
#include "unseen.h"
#include "weak_exchanges.h"

#include <llvm/Analysis/CaptureTracking.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Passes/PassPlugin.h>

#include <cstdint>
#include <vector>

namespace {

struct access {
  llvm::Instruction* at;
  llvm::Value* pointer;
  std::uint64_t bytes;
  bool is_write;
};

bool is_reported_by_sanitizer(std::uint64_t bytes) {
  return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16;
}

bool is_private(const llvm::Value* pointer) {
  const llvm::Value* const variable = llvm::getUnderlyingObject(pointer);
  return llvm::isa<llvm::AllocaInst>(variable) && !llvm::PointerMayBeCaptured(variable, true, true);
}

bool is_taken_for_private(const llvm::Value* pointer) {
  return LLVM_VERSION_MAJOR < 21 &&
         llvm::isa<llvm::AllocaInst>(llvm::getUnderlyingObject(pointer)) &&
         !llvm::PointerMayBeCaptured(pointer, true, true);
}

// Structs that a call takes by value from where they stand.
void add_passed_structs(llvm::CallBase& call, const llvm::DataLayout& layout,
                        std::vector<access>& found) {
  for (unsigned i = 0; i < call.arg_size(); ++i) {
    llvm::Value* const pointer = call.getArgOperand(i);
    if (!call.isByValArgument(i) || pointer->getType()->getPointerAddressSpace() != 0) continue;
    const llvm::TypeSize size = layout.getTypeStoreSize(call.getParamByValType(i));
    if (!size.isScalable() && size != 0 && !is_private(pointer))
      found.push_back({&call, pointer, size, false});
  }
}

// Returns: the odd accesses of the function, in any order.
std::vector<access> odd_accesses(llvm::Function& function) {
  const llvm::DataLayout& layout = function.getParent()->getDataLayout();
  std::vector<access> found;
  for (llvm::Instruction& each : llvm::instructions(function)) {
    if (auto* const call = llvm::dyn_cast<llvm::CallBase>(&each))
      add_passed_structs(*call, layout, found);
    if (each.isAtomic()) continue;
    llvm::Value* const pointer = llvm::getLoadStorePointerOperand(&each);
    if (pointer == nullptr || pointer->getType()->getPointerAddressSpace() != 0) continue;
    const llvm::TypeSize size = layout.getTypeStoreSize(llvm::getLoadStoreType(&each));
    if (size.isScalable() || is_private(pointer)) continue;
    if (is_reported_by_sanitizer(size) && !is_taken_for_private(pointer)) continue;
    found.push_back({&each, pointer, size, llvm::isa<llvm::StoreInst>(each)});
  }
  return found;
}

struct report_odd_accesses : llvm::PassInfoMixin<report_odd_accesses> {
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
    if (!function.hasFnAttribute(llvm::Attribute::SanitizeThread))
      return llvm::PreservedAnalyses::all();
    const std::vector<access> found = odd_accesses(function);
    bool changed = weak_exchanges::call_all(function);
    changed |= unseen::show_fences(function);
    for (const access& each : found) {
      llvm::IRBuilder<> code(each.at);
      const llvm::FunctionCallee hook = function.getParent()->getOrInsertFunction(
          each.is_write ? "__tsan_write_range" : "__tsan_read_range", code.getVoidTy(),
          code.getInt8PtrTy(), code.getInt64Ty());
      code.CreateCall(hook, {code.CreatePointerCast(each.pointer, code.getInt8PtrTy()),
                             code.getInt64(each.bytes)});
    }
    return found.empty() && !changed ? llvm::PreservedAnalyses::all()
                                     : llvm::PreservedAnalyses::none();
  }
  static bool isRequired() { return true; }  // also without optimization
};

struct note_assembly : llvm::PassInfoMixin<note_assembly> {
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager&) {
    return unseen::write_places(module) ? llvm::PreservedAnalyses::none()
                                        : llvm::PreservedAnalyses::all();
  }
  static bool isRequired() { return true; }
};

void add_pass(llvm::PassBuilder& builder) {
  builder.registerOptimizerLastEPCallback(
      [](llvm::ModulePassManager& passes, llvm::OptimizationLevel) {
        passes.addPass(llvm::createModuleToFunctionPassAdaptor(report_odd_accesses()));
        passes.addPass(note_assembly());
      });
}

}  // namespace

extern "C" [[gnu::visibility("default")]] llvm::PassPluginLibraryInfo llvmGetPassPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "syncopate", LLVM_VERSION_STRING, add_pass};
}
