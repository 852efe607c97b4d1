// SPDX-License-Identifier: Apache-2.0
//
// PTX that no compiler would write: what a loader says of it, and that it says it at once.
// Codes as an H200 gave them (driver 580.159.04, 2026-11-19).
#pragma once

#include "hostile_driver.h"

namespace call_codes {

#define ENTRY(body) ".visible .entry a()\n{\n" body "\nret;\n}\n"

inline const WrongCall kHostileModules[] = {
    {"ptx_of_open_braces", 218,
     [](int*) -> int { return load_long(".visible .entry a()\n" + many("{", 20000)); }},
    {"ptx_of_nested_blocks", 218,
     [](int*) -> int {
       return load_long(".visible .entry a()\n{\n" + many("{", 500) + many("}", 500) + "ret;\n}\n");
     },
     0},
    {"ptx_of_many_nested_blocks", 218,
     [](int*) -> int {
       return load_long(".visible .entry a()\n{\n" + many("{", 50000) + many("}", 50000) + "ret;\n}\n");
     }},
    {"ptx_of_nested_parentheses", 218,
     [](int*) -> int {
       return load_long(".visible .global .u32 a = " + many("(", 300) + "1" + many(")", 300) + ";\n");
     },
     0},
    {"ptx_of_many_nested_parentheses", 218,
     [](int*) -> int {
       return load_long(".visible .global .u32 a = " + many("(", 200000) + "1" + many(")", 200000) + ";\n");
     }},
    {"ptx_of_many_minus_signs", 218,
     [](int*) -> int { return load_long(".visible .global .u32 a = " + many("-", 200000) + "1;\n"); }},
    {"ptx_of_a_long_sum", 218,
     [](int*) -> int { return load_long(".visible .global .u32 a = 1" + many("+1", 2000) + ";\n"); }, 0},
    {"ptx_of_a_long_name", 0,
     [](int*) -> int { return load_long(".visible .global .u32 " + many("a", 10000) + ";\n"); }},
    {"ptx_of_nested_initial_values", 218,
     [](int*) -> int {
       return load_long(".visible .global .u32 a[2] = " + many("{", 20000) + "1" + many("}", 20000) + ";\n");
     }},
    {"ptx_of_many_dimensions", 218,
     [](int*) -> int { return load_long(".visible .global .u8 a" + many("[2]", 70) + ";\n"); }, 0},
    {"ptx_of_dimensions_that_wrap", 218,
     [](int*) -> int { return load_long(".visible .global .u8 a[4294967296][4294967296];\n"); }, 0},
    {"ptx_of_four_billion_registers", 218,
     [](int*) -> int { return load_text(ENTRY(".reg .b32 %r<4294967295>;")); }, kCrash},
    {"ptx_of_no_registers", 0, [](int*) -> int { return load_text(ENTRY(".reg .b32 %r<0>;")); }},
    {"ptx_of_negative_registers", 218, [](int*) -> int { return load_text(ENTRY(".reg .b32 %r<-1>;")); }},
    {"ptx_register_twice", 0, [](int*) -> int { return load_text(ENTRY(".reg .b32 %r;\n.reg .b32 %r;")); }, 218},
    {"ptx_register_of_no_type", 218, [](int*) -> int { return load_text(ENTRY(".reg %r;")); }},
    {"ptx_register_of_another_size", 0,
     [](int*) -> int { return load_text(ENTRY(".reg .b64 %r;\nmov.u32 %r, 1;")); }, 218},
    {"ptx_comment_without_end", 218, [](int*) -> int { return load_text(ENTRY("") "/* and so on"); }},
    {"ptx_text_without_end", 218, [](int*) -> int { return load_text(".file 1 \"and so on\n" ENTRY("")); }},
    {"ptx_float_too_short", 218,
     [](int*) -> int { return load_text(ENTRY(".reg .f32 %f;\nmov.f32 %f, 0f123;")); }},
    {"ptx_float_too_long", 218,
     [](int*) -> int { return load_text(ENTRY(".reg .f32 %f;\nmov.f32 %f, 0f123456789;")); }},
    {"ptx_number_without_digits", 218,
     [](int*) -> int { return load_text(ENTRY(".reg .u32 %r;\nmov.u32 %r, 0x;")); }},
    {"ptx_number_too_large", 218,
     [](int*) -> int { return load_text(ENTRY(".reg .u32 %r;\nmov.u32 %r, 99999999999999999999999;")); }},
    {"ptx_number_of_33_bits", 0,
     [](int*) -> int { return load_text(ENTRY(".reg .u32 %r;\nmov.u32 %r, 0x1ffffffff;")); }},
    {"ptx_division_by_zero", 218, [](int*) -> int { return load_text(".visible .global .u32 a = 1 / 0;\n"); }},
    {"ptx_remainder_of_the_least", 218,
     [](int*) -> int { return load_text(".visible .global .s64 a = (-9223372036854775807 - 1) % -1;\n"); }, 0},
    {"ptx_shift_of_a_thousand", 218,
     [](int*) -> int { return load_text(".visible .global .u32 a = 1 << 1000;\n"); }, 0},
    {"ptx_without_version", 200,
     [](int*) -> int {
       return load_module(".target sm_90\n.address_size 64\n.visible .entry a()\n{\nret;\n}\n");
     }},
    {"ptx_of_version_zero", 218,
     [](int*) -> int { return load_module(".version 0.0\n.target sm_90\n.address_size 64\n"); }, 222},
    {"ptx_of_an_old_version", 0,
     [](int*) -> int { return load_module(".version 6.0\n.target sm_90\n.address_size 64\n"); }},
    {"ptx_without_target", 0, [](int*) -> int { return load_module(".version 8.0\n.address_size 64\n"); }, 218},
    {"ptx_of_no_target", 218,
     [](int*) -> int { return load_module(".version 8.0\n.target\n.address_size 64\n"); }},
    {"ptx_of_an_unknown_target", 0,
     [](int*) -> int { return load_module(".version 8.0\n.target sm_77x\n.address_size 64\n"); }, 218},
    {"ptx_of_an_older_target", 0,
     [](int*) -> int { return load_module(".version 8.0\n.target sm_70\n.address_size 64\n" ENTRY("")); }},
    {"ptx_of_32_bits", 218,
     [](int*) -> int { return load_module(".version 8.0\n.target sm_90\n.address_size 32\n" ENTRY("")); }},
    {"ptx_of_two_versions", 0,
     [](int*) -> int { return load_module(".version 8.0\n.version 8.0\n.target sm_90\n.address_size 64\n"); },
     218},
    {"ptx_with_a_byte_order_mark", 218,
     [](int*) -> int { return load_module("\xef\xbb\xbf.version 8.0\n.target sm_90\n.address_size 64\n"); }, 200},
    {"ptx_with_lines_of_windows", 0,
     [](int*) -> int { return load_module(".version 8.0\r\n.target sm_90\r\n.address_size 64\r\n"); }},
    {"ptx_after_empty_lines", 0, [](int*) -> int { return load_long(many("\n", 10000) + ENTRY("")); }},
    {"ptx_of_large_parameters", 0,
     [](int*) -> int { return load_text(".visible .entry a(.param .b8 p[4096])\n{\nret;\n}\n"); }},
    {"ptx_of_too_large_parameters", 218,
     [](int*) -> int { return load_text(".visible .entry a(.param .b8 p[40000])\n{\nret;\n}\n"); }},
    {"ptx_parameter_twice", 0,
     [](int*) -> int { return load_text(".visible .entry a(.param .b32 p, .param .b32 p)\n{\nret;\n}\n"); }, 218},
    {"ptx_entry_in_an_entry", 218,
     [](int*) -> int { return load_text(".visible .entry a()\n{\n.entry b()\n{\nret;\n}\nret;\n}\n"); }},
    {"ptx_call_of_an_entry", 0,
     [](int*) -> int { return load_text(ENTRY("") ".visible .entry b()\n{\ncall a;\nret;\n}\n"); }, 218},
    {"ptx_call_with_too_many", 218,
     [](int*) -> int {
       return load_text(".func f(.reg .b32 x)\n{\nret;\n}\n" ENTRY(".reg .b32 %r;\ncall f, (%r, %r);"));
     }},
    {"ptx_call_of_no_function", 218, [](int*) -> int { return load_text(ENTRY("call nothing;")); }},
    {"ptx_branch_into_a_function", 218,
     [](int*) -> int { return load_text(".func f()\n{\nin_f:\nret;\n}\n" ENTRY("bra in_f;")); }},
    {"ptx_label_twice", 218, [](int*) -> int { return load_text(ENTRY("one:\none:")); }},
    {"ptx_label_of_a_register", 218, [](int*) -> int { return load_text(ENTRY(".reg .b32 %r;\nbra %r;")); }},
    {"ptx_threads_of_none", 0,
     [](int*) -> int { return load_text(".visible .entry a() .maxntid 0, 1, 1\n{\nret;\n}\n"); }, 218},
    {"ptx_threads_of_2048", 0,
     [](int*) -> int { return load_text(".visible .entry a() .maxntid 2048, 1, 1\n{\nret;\n}\n"); }},
    {"ptx_threads_negative", 218,
     [](int*) -> int { return load_text(".visible .entry a() .maxntid -1, 1, 1\n{\nret;\n}\n"); }},
    {"ptx_cluster_of_nine", 0,
     [](int*) -> int { return load_text(".visible .entry a() .reqnctapercluster 9, 1, 1\n{\nret;\n}\n"); }},
    {"ptx_cluster_of_none", 0,
     [](int*) -> int { return load_text(".visible .entry a() .reqnctapercluster 0, 1, 1\n{\nret;\n}\n"); }},
    {"ptx_both_kinds_of_threads", 0,
     [](int*) -> int { return load_text(".visible .entry a() .maxntid 64 .reqntid 64\n{\nret;\n}\n"); }, 218},
    {"ptx_directive_of_no_name", 218,
     [](int*) -> int { return load_text(".visible .entry a() .bogus 4\n{\nret;\n}\n"); }},
    {"ptx_pragma_of_no_name", 0, [](int*) -> int { return load_text(ENTRY(".pragma \"bogus\";")); }},
    {"ptx_place_of_no_file", 0, [](int*) -> int { return load_text(ENTRY(".loc 99 1 1")); }},
    {"ptx_vector_of_three", 0,
     [](int*) -> int {
       return load_text(ENTRY(".reg .b32 %r<4>;\n.reg .b64 %d;\nld.global.v3.u32 {%r0, %r1, %r2}, [%d];"));
     },
     218},
    {"ptx_vector_of_too_few", 218,
     [](int*) -> int {
       return load_text(ENTRY(".reg .b32 %r<4>;\n.reg .b64 %d;\nld.global.v4.u32 {%r0, %r1}, [%d];"));
     }},
    {"ptx_vector_of_32_bytes", 0,
     [](int*) -> int {
       return load_text(ENTRY(".reg .b64 %r<5>;\nld.global.v4.u64 {%r0, %r1, %r2, %r3}, [%r4];"));
     },
     218},
    {"ptx_modifier_of_no_name", 0,
     [](int*) -> int { return load_text(ENTRY(".reg .b32 %r;\nadd.bogus.u32 %r, %r, %r;")); }, 218},
    {"ptx_instruction_of_no_name", 0, [](int*) -> int { return load_text(ENTRY("frobnicate;")); }, 218},
    {"ptx_operands_too_few", 218, [](int*) -> int { return load_text(ENTRY(".reg .b32 %r;\nadd.u32 %r, %r;")); }},
    {"ptx_operands_too_many", 218,
     [](int*) -> int { return load_text(ENTRY(".reg .b32 %r;\nadd.u32 %r, %r, %r, %r;")); }},
    {"ptx_result_that_is_a_number", 218,
     [](int*) -> int { return load_text(ENTRY(".reg .b32 %r;\nadd.u32 1, %r, %r;")); }},
    {"ptx_result_that_is_special", 218, [](int*) -> int { return load_text(ENTRY("mov.u32 %tid.x, 1;")); }},
    {"ptx_special_of_no_name", 218,
     [](int*) -> int { return load_text(ENTRY(".reg .b32 %r;\nmov.u32 %r, %bogus;")); }},
    {"ptx_predicate_of_a_word", 218,
     [](int*) -> int { return load_text(ENTRY(".reg .b32 %r;\n@%r bra out;\nout:")); }},
    {"ptx_types_of_another_kind", 0,
     [](int*) -> int { return load_text(ENTRY(".reg .f32 %f;\n.reg .b32 %r;\nadd.f32 %f, %f, %r;")); }},
    {"ptx_double_store_of_shared", 218,
     [](int*) -> int { return load_text(ENTRY("st.shared.u32 [nowhere], 1;")); }},
    {"ptx_address_of_a_float", 0,
     [](int*) -> int { return load_text(ENTRY(".reg .f64 %f;\n.reg .b32 %r;\nld.global.u32 %r, [%f];")); }, 218},
    {"ptx_address_offset_huge", 0,
     [](int*) -> int {
       return load_text(ENTRY(".reg .b64 %d;\n.reg .b32 %r;\nld.global.u32 %r, [%d+99999999999];"));
     }},
    {"ptx_semicolon_missing", 218, [](int*) -> int { return load_text(ENTRY(".reg .b32 %r;\nmov.u32 %r, 1")); }},
    {"ptx_shared_with_initial_value", 0, [](int*) -> int { return load_text(".shared .u32 a = 1;\n"); }, 218},
    {"ptx_constant_of_65_kilobytes", 0, [](int*) -> int { return load_text(".visible .const .b8 a[66000];\n"); },
     218},
    {"ptx_alias_of_nothing", 0, [](int*) -> int { return load_text(".alias a, b;\n"); }, 218},
    {"ptx_section_of_words", 0, [](int*) -> int { return load_text(".section .debug_str\n{\n.b8 1\n}\n"); }},
    {"ptx_branch_table_of_words", 218,
     [](int*) -> int { return load_text(ENTRY(".reg .u32 %r;\nt: .branchtargets nowhere;\nbrx.idx %r, t;")); }},
    {"ptx_a_feature_of_another_card", 0,
     [](int*) -> int { return load_text(ENTRY(".reg .b32 %r;\ntcgen05.wait::ld.sync.aligned;")); }, 218},
    {"ptx_wgmma_without_the_a", 0, [](int*) -> int { return load_text(ENTRY("wgmma.fence.sync.aligned;")); },
     218},
    {"ptx_of_a_hundred_thousand_entries", 0,
     [](int*) -> int {
       std::string text;
       for (int i = 0; i < 20000; ++i) text += ".visible .entry e" + std::to_string(i) + "()\n{\nret;\n}\n";
       return load_long(text);
     },
     kCrash},
};

#undef ENTRY

}  // namespace call_codes
