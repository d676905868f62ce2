// struct_copies.cpp -- a plugin for gcc: shows the machine what gcc's thread sanitizer leaves out
// of calls, structs that stand in memory. `shared = make()` becomes `copy = make(); shared = copy`,
// and `take(shared)` becomes `copy = shared; take(copy)`: as the language has it, and the
// sanitizer, which runs behind, reports the assignments.
//
// Where C++ constructs a result in its place, the call stays, since the object must not move, and a
// write is reported behind it. Classes that are not trivial to copy need none of this: theirs is
// done by constructors, through references.
//
// Also written down, in the section .syncopate.unseen of the object: where inline assembly stands
// that may touch memory (file:line, a string each). What it does no machine sees; the explored one
// says so (names/unseen.h). But where it is a fence, one of the language is put before it.
//
//   g++ -fsanitize=thread -fplugin=libsyncopate-gcc12.so ...

// Each needs those before it.
// clang-format off
#include <gcc-plugin.h>
#include <plugin-version.h>
#include <basic-block.h>
#include <context.h>
#include <tree.h>
#include <gimple.h>
#include <stringpool.h>
#include <attribs.h>
#include <asan.h>
#include <fold-const.h>
#include <gimple-expr.h>
#include <gimple-iterator.h>
#include <gimplify.h>
#include <memmodel.h>
#include <output.h>
#include <ssa.h>
#include <tree-cfg.h>
#include <tree-into-ssa.h>
#include <tree-pass.h>
#include <tree-ssa-alias.h>
// clang-format on

#include "model/front/compiler/fences.h"

#include <cstdio>
#include <cstring>
#include <set>
#include <string>

#pragma GCC visibility push(default)
extern "C" int plugin_is_GPL_compatible;
int plugin_is_GPL_compatible;
#pragma GCC visibility pop

namespace {

namespace fences = syncopate::fences;

// ---- structs ------------------------------------------------------------------------------------

// Whether others may see it: not what the sanitizer leaves out, either.
bool is_visible(tree operand) {
  const tree base = get_base_address(operand);
  return base != NULL_TREE &&
         (!DECL_P(base) || (!TREE_READONLY(base) && (is_global_var(base) || may_be_aliased(base))));
}
bool is_struct_in_memory(tree operand) {
  const tree type = TREE_TYPE(operand);
  return AGGREGATE_TYPE_P(type) && !TREE_ADDRESSABLE(type) && COMPLETE_TYPE_P(type) &&
         tree_fits_uhwi_p(TYPE_SIZE_UNIT(type)) && !integer_zerop(TYPE_SIZE_UNIT(type)) &&
         (DECL_P(operand) || handled_component_p(operand) || TREE_CODE(operand) == MEM_REF) &&
         is_visible(operand);
}

tree new_copy(tree of) { return create_tmp_var(TYPE_MAIN_VARIANT(TREE_TYPE(of)), "copy"); }

void insert_behind(gimple_stmt_iterator& at, gimple* statement) {
  gimple* const call = gsi_stmt(at);
  gimple_set_location(statement, gimple_location(call));
  if (!stmt_ends_bb_p(call)) {
    gsi_insert_after(&at, statement, GSI_SAME_STMT);
    return;
  }
  // It may throw: only where it has returned. (The block stays as it is: `at` is in it.)
  if (const edge returned = find_fallthru_edge(gimple_bb(call)->succs))
    gsi_insert_on_edge(returned, statement);
}

gimple* call_of_hook(tree written) {
  const tree type =
      build_function_type_list(void_type_node, ptr_type_node, size_type_node, NULL_TREE);
  const tree hook = build_fn_decl("__tsan_write_range", type);
  return gimple_build_call(hook, 2, build_fold_addr_expr(unshare_expr(written)),
                           TYPE_SIZE_UNIT(TREE_TYPE(written)));
}

bool take_result_apart(gimple_stmt_iterator& at, gcall* call) {
  const tree result = gimple_call_lhs(call);
  if (result == NULL_TREE || !is_struct_in_memory(result)) return false;
  if (gimple_call_return_slot_opt_p(call)) {
    TREE_ADDRESSABLE(get_base_address(result)) |= DECL_P(get_base_address(result));
    insert_behind(at, call_of_hook(result));
    return true;
  }
  const tree copy = new_copy(result);
  gimple_call_set_lhs(call, copy);
  insert_behind(at, gimple_build_assign(result, copy));
  return true;
}

bool take_arguments_apart(gimple_stmt_iterator& at, gcall* call) {
  bool some = false;
  for (unsigned i = 0; i < gimple_call_num_args(call); ++i) {
    const tree argument = gimple_call_arg(call, i);
    if (!is_struct_in_memory(argument)) continue;
    const tree copy = new_copy(argument);
    gassign* const before = gimple_build_assign(copy, unshare_expr(argument));
    gimple_set_location(before, gimple_location(call));
    gsi_insert_before(&at, before, GSI_SAME_STMT);
    gimple_call_set_arg(call, i, copy);
    some = true;
  }
  return some;
}

// ---- what is not seen ---------------------------------------------------------------------------

std::set<std::string> places;

bool clobbers_memory(const gasm* each) {
  for (unsigned i = 0; i < gimple_asm_nclobbers(each); ++i) {
    const tree clobber = TREE_VALUE(gimple_asm_clobber_op(each, i));
    if (std::strcmp(TREE_STRING_POINTER(clobber), "memory") == 0) return true;
  }
  return false;
}

// An operand, a clobber or a bracket of the template says that it may.
bool may_touch_memory(const gasm* each) {
  const char* const text = gimple_asm_string(each);
  if (fences::meaning_of(text) != fences::meaning::other) return false;
  if (clobbers_memory(each)) return true;
  const auto is_in_memory = [](tree operand) {
    const tree constraint = TREE_VALUE(TREE_PURPOSE(operand));
    return std::strpbrk(TREE_STRING_POINTER(constraint), "mogVQ<>") != nullptr;
  };
  for (unsigned i = 0; i < gimple_asm_noutputs(each); ++i)
    if (is_in_memory(gimple_asm_output_op(each, i))) return true;
  for (unsigned i = 0; i < gimple_asm_ninputs(each); ++i)
    if (is_in_memory(gimple_asm_input_op(each, i))) return true;
  return std::strpbrk(text, "([") != nullptr;
}

void note(const gasm* each) {
  const expanded_location place = expand_location(gimple_location(each));
  if (place.file != nullptr && may_touch_memory(each))
    places.insert(std::string(place.file) + ':' + std::to_string(place.line));
}

bool show_fence(gimple_stmt_iterator& at, const gasm* each) {
  if (fences::meaning_of(gimple_asm_string(each)) != fences::meaning::fence) return false;
  if (!clobbers_memory(each)) return false;  // none for the compiler
  gimple* const fence = gimple_build_call(builtin_decl_explicit(BUILT_IN_ATOMIC_THREAD_FENCE), 1,
                                          build_int_cst(integer_type_node, MEMMODEL_SEQ_CST));
  gimple_set_location(fence, gimple_location(each));
  gsi_insert_before(&at, fence, GSI_SAME_STMT);
  return true;
}

void write_places(void*, void*) {
  if (places.empty() || asm_out_file == nullptr) return;
  std::fputs("\t.pushsection .syncopate.unseen,\"MS\",@progbits,1\n", asm_out_file);
  for (const std::string& each : places) {
    std::fputs("\t.asciz ", asm_out_file);
    output_quoted_string(asm_out_file, each.c_str());
    std::fputc('\n', asm_out_file);
  }
  std::fputs("\t.popsection\n", asm_out_file);
}

// ---- the pass -----------------------------------------------------------------------------------

constexpr pass_data what{GIMPLE_PASS, "syncopate", OPTGROUP_NONE,  TV_NONE, PROP_ssa | PROP_cfg, 0,
                         0,           0,           TODO_update_ssa};

struct pass final : gimple_opt_pass {
  explicit pass(gcc::context* in) : gimple_opt_pass(what, in) {}
  opt_pass* clone() override { return new pass(m_ctxt); }
  bool gate(function*) override { return sanitize_flags_p(SANITIZE_THREAD); }

  unsigned execute(function* of) override {
    bool changed = false;
    basic_block block;
    FOR_EACH_BB_FN(block, of) {
      for (gimple_stmt_iterator at = gsi_start_bb(block); !gsi_end_p(at); gsi_next(&at)) {
        gimple* const each = gsi_stmt(at);
        if (const auto* const assembly = dyn_cast<gasm*>(each)) {
          note(assembly);
          changed |= show_fence(at, assembly);
        }
        auto* const call = dyn_cast<gcall*>(each);
        if (call == nullptr || gimple_call_internal_p(call) ||
            gimple_call_builtin_p(call, BUILT_IN_NORMAL))
          continue;
        if (take_arguments_apart(at, call) | take_result_apart(at, call)) {
          update_stmt(call);
          changed = true;
        }
      }
    }
    if (changed) {
      gsi_commit_edge_inserts();
      mark_virtual_operands_for_renaming(of);
    }
    return 0;
  }
};

void put_before(const char* sanitizer) {
  register_pass_info info{new pass(g), sanitizer, 1, PASS_POS_INSERT_BEFORE};
  register_callback("syncopate", PLUGIN_PASS_MANAGER_SETUP, nullptr, &info);
}

}  // namespace

[[gnu::visibility("default")]] int plugin_init(plugin_name_args*, plugin_gcc_version* version) {
  register_callback("syncopate", PLUGIN_FINISH_UNIT, write_places, nullptr);
  if (!plugin_default_version_check(version, &gcc_version)) {
    places.insert("*");  // as builtins.h does for a compiler without a plugin
    return 0;
  }
  put_before("tsan");   // optimized
  put_before("tsan0");  // not
  return 0;
}
